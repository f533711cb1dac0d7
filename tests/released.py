"""A document in the released format of Factcheck-Bench, made up for tests, with the oddities that the release has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from annotator.core.models import Benchmark
from annotator.exchange.formats import factcheck_bench
from annotator.exchange.queries.export import gold_documents

RESPONSE = "Ada Lovelace wrote notes on an engine in 1842. She built it herself. I hope this helps."


def released_claim(text: str, **fields: Any) -> dict[str, Any]:
    """The items of one claim; by default true, judged on two passages."""
    return {
        "claims": text,
        "claim_checkworthiness": "factual",
        "if_automatic_evidence_enough_to_verify": "yes",
        "human_evidence": "NA",
        "auto_evidence": ["Lovelace published notes on the engine.", "Babbage designed an engine."],
        "auto_evidence_url": ["https://example.org/lovelace", "https://example.org/babbage"],
        "stance_claim_autoEvid": ["completely-support", "irrelevant"],
        "if_claim_needs_edit": "no",
        "claims_factuality_label": True,
        "revised_claims": text,
        "usedEvidence_index_in_revision": "-1",
        "if_most_important_claim": "yes",
    } | fields


def released_sentence(
    text: str, claims: Iterable[dict[str, Any]] = (), *, truth: bool | str, **fields: Any
) -> dict[str, Any]:
    """A sentence of the release, its fields in the published order."""
    rows = list(claims)
    return (
        {
            "text": text,
            "decontext": text,
            "sentence_factuality_label": truth,
            "revised_decontext": text,
            "sentence_checkworthiness": "yes" if rows else "other",
            "most_importance_sentence": "intermediate",
        }
        | {name: [row[name] for row in rows] for name in released_claim("")}
        | fields
    )


def released_document(**fields: Any) -> dict[str, Any]:
    """Three sentences: claims that are true, false, undecided and an opinion; no claims; odd spellings all over."""
    first = released_sentence(
        "Ada Lovelace wrote notes on an engine in 1842.",
        [
            released_claim("Ada Lovelace wrote notes on an engine.", if_most_important_claim="no"),
            released_claim(
                "The notes are from 1842.",
                if_automatic_evidence_enough_to_verify="no",
                human_evidence="The notes came out in 1843.\nURL: https://example.org/notes",
                stance_claim_autoEvid=["refute", "irrelevant"],
                if_claim_needs_edit="yes",
                claims_factuality_label=False,
                revised_claims="The notes are from 1843. ",
                usedEvidence_index_in_revision="1, self-retrieved",
            ),
        ],
        truth=False,
        decontext="  Ada Lovelace wrote notes on an engine in 1842.",
        revised_decontext="Ada Lovelace wrote notes on an engine in 1843. ",
        most_importance_sentence="yes",
    )
    second = released_sentence(
        "She built it herself.",
        [
            released_claim(
                "Ada Lovelace built an engine herself.",
                auto_evidence=["The engine\x00 was never built.", "The engine\x00 was never built."],
                if_claim_needs_edit="yes",
                claims_factuality_label=False,
                revised_claims=" ",
                usedEvidence_index_in_revision="6",
            ),
            released_claim(
                "She was glad of it.",
                claim_checkworthiness="opinion",
                if_automatic_evidence_enough_to_verify="NA",
                stance_claim_autoEvid=[],
                if_claim_needs_edit="NA",
                claims_factuality_label="unknown",
                usedEvidence_index_in_revision="NA",
            ),
            released_claim(
                "Ada Lovelace liked cogs.",
                if_automatic_evidence_enough_to_verify="no",
                human_evidence=" ",
                if_claim_needs_edit="not_enough_evidence",
                claims_factuality_label="unknown",
                revised_claims="Ada Lovelace may have liked cogs.",
                usedEvidence_index_in_revision="not_enough_evidence",
            ),
        ],
        truth=False,
        revised_decontext=" ",
    )
    third = released_sentence(
        "I hope that this helps.",
        truth="NA",
        decontext="",
        revised_decontext=[],
        sentence_checkworthiness="not_a_claim",
        most_importance_sentence="no",
        revised_claims=["I hope that this helps."],
    )
    return {
        "prompt": "What did Ada Lovelace do?",
        "response": RESPONSE,
        "revised_response": "Ada Lovelace wrote notes on an engine in 1843.\n",
        "response_factuality": False,
        "sentences": {"sentence1": first, "sentence2": second, "sentence3": third},
    } | fields


def numbered(number: int) -> dict[str, Any]:
    """The same document under another prompt."""
    return released_document(prompt=f"What did Ada Lovelace do? ({number})")


def write_jsonl(path: Path, rows: Iterable[Any]) -> Path:
    """One row a line; texts are written as they are."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write((row if isinstance(row, str) else json.dumps(row)) + "\n")
    return path


def export_lines(benchmark: Benchmark, *, include: str = "gold") -> Iterator[str]:
    """The benchmark in the released format, line by line with the line breaks."""
    return factcheck_bench.lines(gold_documents(benchmark, include=include))
