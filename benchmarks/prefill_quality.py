#!/usr/bin/env python
"""How good are the offline suggestions? Measured on gold documents of Factcheck-Bench.

    python benchmarks/prefill_quality.py [FILE] [--json] [--show N]

FILE is the released JSONL (default: factcheck-bench.dev.jsonl in the folder TOUCHSTONE_DATA). Nothing is fetched. The
paper's figures are ChatGPT's on all 94 documents, and the file has 47 of them: a reference, not a contest.
All 47 documents were seen while the rules were written or chosen, so the figures flatter: there is no unread column.
Intervals are 95%, over resamples of whole documents. If the VeriScore and FastFact samples are in the same folder
(three responses, 42 claims), the rules are also compared with their claims, which models extracted and nobody here
checked. A suggested claim counts as found if its words agree with a gold claim (token F1, one to one within the
document) at the given threshold.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pipeline.claims.decompose import decompose  # noqa: E402
from pipeline.metrics.alignment import PrecisionRecall, align, match_score  # noqa: E402
from pipeline.metrics.classification import classify  # noqa: E402
from pipeline.metrics.decomposition import SAME, apart_in_order, pair_sentences, same_cuts  # noqa: E402
from pipeline.metrics.text import edit_distance  # noqa: E402
from pipeline.retrieval.corpus_ranking import PER_CLAIM, PassageIndex  # noqa: E402
from pipeline.retrieval.queries import query_for  # noqa: E402
from pipeline.suggestions import Page, SuggestedSentence  # noqa: E402

RESAMPLES = 1000
THRESHOLDS = (0.7, 0.8, 0.9)
NOTHING = PrecisionRecall(0, 0, 0)
EXTRACTED = ("veriscore.claims.sample.jsonl", "fastfact.annotation-input.example.jsonl")


@dataclass(frozen=True, slots=True)
class GoldSentence:
    """A sentence of the release with its place in the response, and all the release says of it."""

    text: str
    start: int | None
    end: int | None
    fields: dict[str, Any]


@dataclass
class Tally:
    """Running counts over documents."""

    documents: int = 0
    seconds: float = 0.0
    boundaries: PrecisionRecall = NOTHING
    covered: PrecisionRecall = NOTHING
    claims: dict[float, PrecisionRecall] = field(default_factory=lambda: dict.fromkeys(THRESHOLDS, NOTHING))
    whole_sentences: PrecisionRecall = NOTHING
    checkworthy_sentences: int = 0
    same_number: int = 0
    more: int = 0
    distances: list[float] = field(default_factory=list)
    overlaps: list[float] = field(default_factory=list)
    sentence_gold: list[str] = field(default_factory=list)
    sentence_found: list[str] = field(default_factory=list)
    claim_gold: list[str] = field(default_factory=list)
    claim_found: list[str] = field(default_factory=list)
    importance: list[bool] = field(default_factory=list)
    decontext: list[float] = field(default_factory=list)
    relevant: PrecisionRecall = NOTHING
    decidable: int = 0
    decided: int = 0
    retrieval_seconds: float = 0.0
    retrieved_claims: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("file", nargs="?", type=Path, default=folder / "factcheck-bench.dev.jsonl")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--show", type=int, metavar="N", help="show the claims of document N beside the gold")
    options = parser.parse_args()
    if not options.file.exists():
        parser.error(f"{options.file} is not there: name the file, or set TOUCHSTONE_DATA to its folder")
    documents = [json.loads(line) for line in options.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    if options.show is not None:
        show(documents[options.show])
        return
    index = pooled(documents)
    tallies = []
    for document in documents:
        tallies.append(Tally())
        measure(document, index, tallies[-1])
    everything = together(tallies)
    results = {"all": figures(everything), "trivial": trivial(everything), "passages": len(index)}
    results["intervals"] = intervals(tallies)
    results["labels"] = dict(Counter(everything.claim_gold)) | {
        f"sentence: {label}": number for label, number in Counter(everything.sentence_gold).items()
    }
    results["extracted"] = extracted(options.file.parent)
    print(json.dumps(results, indent=1) if options.json else table(results))


def together(tallies: Iterable[Tally]) -> Tally:
    """The counts of several documents as one."""
    whole = Tally()
    for tally in tallies:
        for each in fields(Tally):
            one, other = getattr(whole, each.name), getattr(tally, each.name)
            both = {key: one[key] + other[key] for key in one} if isinstance(one, dict) else one + other
            setattr(whole, each.name, both)
    return whole


def intervals(tallies: Sequence[Tally]) -> dict[str, tuple[float, float]]:
    """The 95% interval of each figure: the middle of its values over resamples of whole documents."""
    random = Random(1)
    drawn = [figures(together(random.choices(tallies, k=len(tallies)))) for _ in range(RESAMPLES)]
    cut = RESAMPLES // 40
    sorted_values = {name: sorted(each[name] for each in drawn) for name in drawn[0] if not name.startswith("millisec")}
    return {name: (values[cut], values[-1 - cut]) for name, values in sorted_values.items()}


def extracted(folder: Path) -> dict[str, float]:
    """Claim figures against the claims that models extracted from other answers; empty where no sample is there."""
    scores = dict.fromkeys(THRESHOLDS, NOTHING)
    answers = 0
    for path in (folder / name for name in EXTRACTED):
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            row = json.loads(line)
            gold = row.get("all_claim_lst") or [each["claim"] for each in row["claims_lst"]]
            found = decompose(row["question"], row["response"]).sentences
            texts = [claim.text for sentence in found for claim in sentence.claims]
            for threshold in THRESHOLDS:
                scores[threshold] += match_score(texts, gold, threshold=threshold)
            answers += 1
    if not answers:
        return {}
    result: dict[str, float] = {"answers": answers, "suggested claims": scores[0.8].found, "claims": scores[0.8].gold}
    for threshold, score in scores.items():
        result |= {f"claims matched at {threshold}": score.matched, f"claim F1 at {threshold}": score.f1}
    return result


def pooled(documents: list[dict[str, Any]]) -> PassageIndex:
    """All passages of the file as one corpus; the address of each is its text, so that it can be recognized."""
    texts = {
        passage: None
        for document in documents
        for sentence in document["sentences"].values()
        for claim in sentence["auto_evidence"]
        for passage in claim
        if passage.strip()
    }
    return PassageIndex.build(Page(url=text, title="", text=text) for text in texts)


def measure(document: dict[str, Any], index: PassageIndex, tally: Tally) -> None:
    """Adds one document to the tally."""
    began = time.perf_counter()
    found = decompose(document["prompt"], document["response"]).sentences
    tally.seconds += time.perf_counter() - began
    tally.documents += 1

    gold = located(document["response"], document["sentences"].values())
    tally.boundaries += same_cuts(found, gold)
    known = [(each.start, each.end) for each in gold if each.start is not None and each.end is not None]
    within = [
        each for each in found if any((each.start or 0) < end and (each.end or 0) > start for start, end in known)
    ]
    tally.covered += same_cuts(within, gold)

    gold_claims = [claim for sentence in gold for claim in sentence.fields["claims"]]
    found_claims = [claim.text for sentence in found for claim in sentence.claims]
    for threshold in THRESHOLDS:
        tally.claims[threshold] += match_score(found_claims, gold_claims, threshold=threshold)
    whole = [sentence.text for sentence in found if sentence.claims]
    tally.whole_sentences += match_score(whole, gold_claims, threshold=0.8)

    for sentence, matched in zip(gold, pair_sentences(gold, found), strict=True):
        if matched is not None:
            measure_sentence(sentence.fields, found[matched], tally)
        measure_evidence(sentence.fields, document["prompt"], index, tally)


def measure_sentence(gold: dict[str, Any], found: SuggestedSentence, tally: Tally) -> None:
    """Type, number of claims and, where that agrees, their texts; claim types over the aligned claims."""
    tally.sentence_gold.append("yes" if gold["sentence_checkworthiness"] == "yes" else "no")
    tally.sentence_found.append("yes" if found.type == "checkworthy" else "no")
    ranks = {"yes": "most", "intermediate": "intermediate", "no": "less"}
    tally.importance.append(ranks.get(gold["most_importance_sentence"]) == found.importance)
    if gold["decontext"].strip():
        tally.decontext.append(edit_distance(gold["decontext"].strip(), found.decontext))
    texts = [claim.text for claim in found.claims]
    for pair in align(texts, gold["claims"], threshold=SAME):
        tally.claim_gold.append(gold["claim_checkworthiness"][pair.second])
        tally.claim_found.append(str(found.claims[pair.first].type))
    if gold["sentence_checkworthiness"] != "yes":
        return
    tally.checkworthy_sentences += 1
    tally.more += len(texts) > len(gold["claims"])
    apart = apart_in_order(texts, gold["claims"])
    if apart is not None:
        tally.same_number += 1
        tally.distances += [distance for distance, _ in apart]
        tally.overlaps += [overlap for _, overlap in apart]


def measure_evidence(gold: dict[str, Any], prompt: str, index: PassageIndex, tally: Tally) -> None:
    """Whether the gold passages that speak about a gold claim come back among the five."""
    for position, claim in enumerate(gold["claims"]):
        stances = gold["stance_claim_autoEvid"][position] if position < len(gold["stance_claim_autoEvid"]) else []
        labelled = list(zip(gold["auto_evidence"][position], stances, strict=False)) if stances else []
        relevant = {passage for passage, stance in labelled if stance != "irrelevant" and passage.strip()}
        if not labelled:
            continue
        began = time.perf_counter()
        found = {each.url for each in index.search(query_for(claim, prompt))}
        tally.retrieval_seconds += time.perf_counter() - began
        tally.retrieved_claims += 1
        if not relevant:
            continue
        tally.relevant += PrecisionRecall(len(found & relevant), PER_CLAIM, len(relevant))
        decisive = {passage for passage, stance in labelled if stance in ("completely-support", "refute")}
        if decisive:
            tally.decidable += 1
            tally.decided += bool(found & decisive)


def located(response: str, sentences: Iterable[dict[str, Any]]) -> list[GoldSentence]:
    """The gold sentences with where they stand in the response; without a place where one is no substring of it."""
    gold: list[GoldSentence] = []
    position = 0
    for row in sentences:
        text = row["text"].strip()
        start = response.find(text, position)
        start = start if start >= 0 else response.find(text)
        is_there = start >= 0 and bool(text)
        end = start + len(text)
        gold.append(GoldSentence(row["text"], start if is_there else None, end if is_there else None, row))
        position = end if start >= 0 else position
    return gold


def figures(tally: Tally) -> dict[str, float]:
    """All figures of one group of documents, by name."""
    sentences = classify(tally.sentence_gold, tally.sentence_found)
    claims = classify(tally.claim_gold, tally.claim_found)
    result: dict[str, float] = {
        "documents": tally.documents,
        "milliseconds a document": 1000 * tally.seconds / tally.documents,
        "sentence boundary precision": tally.boundaries.precision,
        "sentence boundary recall": tally.boundaries.recall,
        "sentence boundary F1": tally.boundaries.f1,
        "sentence boundary F1, covered text": tally.covered.f1,
        "suggested claims": tally.claims[0.8].found,
        "gold claims": tally.claims[0.8].gold,
    }
    for threshold, score in tally.claims.items():
        result[f"claim precision at {threshold}"] = score.precision
        result[f"claim recall at {threshold}"] = score.recall
        result[f"claim F1 at {threshold}"] = score.f1
    return result | {
        "claim F1 at 0.8, sentences as claims": tally.whole_sentences.f1,
        "same number of claims": tally.same_number / tally.checkworthy_sentences,
        "more claims than gold": tally.more / tally.checkworthy_sentences,
        "claim edit distance": mean(tally.distances),
        "claim word overlap": mean(tally.overlaps),
        "decontext edit distance": mean(tally.decontext),
        "sentence type accuracy": sentences.accuracy,
        "sentence type precision": sentences.precision,
        "sentence type recall": sentences.recall,
        "sentence type macro-F1": sentences.f1,
        "claim type accuracy": claims.accuracy,
        "claim type precision": claims.precision,
        "claim type recall": claims.recall,
        "claim type macro-F1": claims.f1,
        "sentence importance accuracy": mean([float(right) for right in tally.importance]),
        "gold passages found at 5": tally.relevant.recall,
        "decidable claims with a deciding passage": tally.decided / tally.decidable,
        "milliseconds a search": 1000 * tally.retrieval_seconds / tally.retrieved_claims,
    }


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


# Factcheck-Bench, sections 4.1 and 4.2 (Table 3): ChatGPT on all 94 documents.
PAPER = {
    "same number of claims": 211 / 277,
    "more claims than gold": 48 / 277,
    "claim edit distance": 0.11,
    "claim word overlap": 0.88,
    "sentence type accuracy": 0.814,
    "sentence type precision": 0.637,
    "sentence type recall": 0.740,
    "sentence type macro-F1": 0.660,
    "claim type accuracy": 0.932,
    "claim type precision": 0.314,
    "claim type recall": 0.534,
    "claim type macro-F1": 0.319,
}
NOTES = """\
Sentence boundaries: exact start and end; gold sentences that are no substring of the response are left out. Annotators
  dropped whole sentences (references, closing words) and joined lists: "covered text" leaves out what no gold touches.
Claims: one-to-one by word agreement within a document; "sentences as claims" is what doing nothing scores.
Edit distance and word overlap: only sentences with the same number of claims, pairwise in order (paper, section 4.1).
Sentence type: checkworthy or not, macro over both. Claim type: over suggested claims that align with a gold claim; the
  paper's claims have three types. Trivial: always the most frequent label; sentences as claims. Rare labels decide the
  macro figures; how often each occurs in this file is said above.
Evidence: gold claims as queries against all passages of the file pooled. Another ranker chose these passages for these
  very claims, so this says whether the right one of many is found, not how good a search of the web would be."""


def trivial(tally: Tally) -> dict[str, float]:
    """What doing nothing scores, under the names of the figures that it is to be compared with."""
    found = {"claim F1 at 0.8": tally.whole_sentences.f1}
    for name, gold in (("sentence type", tally.sentence_gold), ("claim type", tally.claim_gold)):
        report = classify(gold, [Counter(gold).most_common(1)[0][0]] * len(gold))
        found |= {
            f"{name} accuracy": report.accuracy,
            f"{name} precision": report.precision,
            f"{name} recall": report.recall,
            f"{name} macro-F1": report.f1,
        }
    return found


def table(results: dict[str, Any]) -> str:
    lines = [f"{'':44}{'all':>8}{'95% interval':>18}{'trivial':>9}{'paper, ChatGPT':>16}"]
    for name, value in results["all"].items():
        cells = [f"{value:8.3f}" if isinstance(value, float) else f"{value:8}"]
        bounds = results["intervals"].get(name) if isinstance(value, float) else None
        cells.append(f"{bounds[0]:9.3f} to {bounds[1]:.3f}" if bounds else " " * 18)
        cells.append(f"{results['trivial'][name]:9.3f}" if name in results["trivial"] else " " * 9)
        cells.append(f"{PAPER[name]:16.3f}" if name in PAPER else "")
        lines.append(f"{name:44}{''.join(cells)}".rstrip())
    lines += ["", "Other answers, claims extracted by models (VeriScore, FastFact):"]
    lines += [f"  {name:42}{round(value, 3):8}" for name, value in results["extracted"].items()]
    counts = ", ".join(f"{label} {number}" for label, number in results["labels"].items())
    return "\n".join([*lines, "", f"Corpus: {results['passages']} passages. Labels in the gold: {counts}.", NOTES])


def show(document: dict[str, Any]) -> None:
    """One document, suggestions beside the gold."""
    print("PROMPT", document["prompt"])
    for sentence in decompose(document["prompt"], document["response"]).sentences:
        print(f"\n[{sentence.type}, {sentence.importance}] {sentence.text}\n  = {sentence.decontext}")
        for claim in sentence.claims:
            print(f"  - ({claim.type}) {claim.text}")
    print("\nGOLD")
    for gold in document["sentences"].values():
        print(f"\n[{gold['sentence_checkworthiness']}, {gold['most_importance_sentence']}] {gold['text']}")
        print(f"  = {gold['decontext']}")
        for text, kind in zip(gold["claims"], gold["claim_checkworthiness"], strict=True):
            print(f"  - ({kind}) {text}")


if __name__ == "__main__":
    main()
