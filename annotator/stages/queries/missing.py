"""What an annotation still needs before it can be submitted. Completeness is checked here, never by the database."""

from __future__ import annotations

from typing import Any

from annotator.core.fields import Kind, fields_of
from annotator.core.missing import Missing
from annotator.core.models import Annotation, Benchmark, Claim, Sentence
from annotator.core.queries.protocols import unanswered
from annotator.core.vocabulary import Factuality, SentenceType, Stage
from annotator.stages.queries.decomposition import present_claims, sentences_of
from annotator.stages.queries.revision import RevisedResponse, StatementRow, answer_of, statements_of
from annotator.stages.queries.verification import ClaimWork, claims_to_verify


def missing_in(annotation: Annotation) -> list[Missing]:
    """All that is missing, in reading order."""
    if annotation.stage == Stage.DECOMPOSE:
        return [
            each
            for number, sentence in enumerate(sentences_of(annotation), start=1)
            for each in missing_in_sentence(sentence, number)
        ]
    if annotation.stage == Stage.VERIFY:
        return [each for work in claims_to_verify(annotation) for each in missing_in_claim(work)]
    return missing_in_revision(annotation)


def missing_in_sentence(sentence: Sentence, number: int) -> list[Missing]:
    """Decompose: labels of the sentence; for a check-worthy one its decontextualized text and at least one claim."""
    row = f"sentence-{sentence.public_id}"

    def lack(text: str, anchor: str = "") -> Missing:
        return Missing(text, row, anchor or row)

    found = [lack(f"{what} of sentence {number}", f"{row}-{name}") for what, name in _unanswered("sentence", sentence)]
    benchmark = sentence.annotation.document.benchmark
    found += _added(sentence, "sentence", benchmark, f"sentence {number}", row)
    if sentence.type in (SentenceType.OPINION, SentenceType.NOT_A_CLAIM, SentenceType.OTHER):
        return found
    if not sentence.decontext_origin or not sentence.decontext.strip():
        found.append(lack(f"decontextualized sentence {number}", f"{row}-decontext"))
    claims = present_claims(sentence)
    if not claims:
        found.append(lack(f"a claim of sentence {number}"))
    for position, claim in enumerate(claims, start=1):
        found += [
            Missing(f"{what} of {number}.{position}", row, f"claim-{claim.public_id}-{anchor}")
            for what, anchor in _missing_in_decomposed_claim(claim)
        ]
        found += _added(claim, "claim", benchmark, f"{number}.{position}", row)
    return found


def _added(record: Any, kind: str, benchmark: Benchmark, where: str, row: str) -> list[Missing]:
    """What the benchmark's protocol asks beyond the declared fields."""
    return [
        Missing(f"“{each.ask}” of {where}", row, f"q-{kind}-{record.public_id}-{each.key}")
        for each in unanswered(record, kind, benchmark)
    ]


def _missing_in_decomposed_claim(claim: Claim) -> list[tuple[str, str]]:
    lacks: list[tuple[str, str]] = []
    if not claim.text_origin or not claim.text.strip():
        lacks.append(("text", "text"))
    return lacks + _unanswered("claim", claim)


def _unanswered(kind: str, record: Sentence | Claim) -> list[tuple[str, str]]:
    """Required questions that are answered by a choice and are open: in words, and by the name of the field."""
    return [
        (f"“{each.in_text}”" if each.kind == Kind.YES_NO else each.in_text, each.name)
        for each in fields_of(kind)
        if each.is_choice
        and each.is_required
        and each.is_asked(record)
        and getattr(record, each.name) == each.open_value
    ]


def missing_in_claim(work: ClaimWork) -> list[Missing]:
    """Verify: a stance for each passage, the sufficiency of the evidence, the verdict, and the edit of a false
    claim."""
    row = f"claim-{work.claim.public_id}"
    verdict = work.verdict
    found = [
        Missing(f"stance {card.number} of {work.number}", row, f"stance-{card.stance.public_id}")
        for card in work.cards
        if not card.stance.label
    ]
    if verdict.evidence_sufficient is None:
        found.append(
            Missing(f"“is the evidence sufficient” of {work.number}", row, f"verdict-{verdict.public_id}-sufficient")
        )
    if not verdict.factuality:
        found.append(Missing(f"factuality of {work.number}", row, f"verdict-{verdict.public_id}-factuality"))
    if verdict.factuality == Factuality.FALSE and not list(verdict.operations.all()):
        found.append(Missing(f"edit of {work.number}", row, f"verdict-{verdict.public_id}-edit"))
    benchmark = verdict.annotation.document.benchmark
    for card in work.cards:
        found += _added(card.stance, "stance", benchmark, f"evidence {card.number} of {work.number}", row)
    return found + _added(verdict, "verdict", benchmark, work.number, row)


def missing_in_revision(
    annotation: Annotation, statements: list[StatementRow] | None = None, answer: RevisedResponse | None = None
) -> list[Missing]:
    """Revise: sentences whose adjudicated edits couldn't be placed automatically or whose claims were adjudicated
    again, blank sentences, and a response that no longer fits its sentences until someone merges or keeps it. No query
    if the caller has read the ``statements`` and the ``answer``."""
    found: list[Missing] = []
    benchmark = annotation.document.benchmark
    statements = statements_of(annotation) if statements is None else statements
    for number, statement in enumerate(statements, start=1):
        row = f"sentence-revision-{statement.row.public_id}"
        if statement.row.deleted:
            continue
        if statement.is_asked_again:
            found.append(Missing(f"review of sentence {number}", row, f"{row}-text"))
        elif not statement.row.text_origin:
            found.append(Missing(f"edit of sentence {number}", row, f"{row}-text"))
        elif not statement.row.text.strip():
            found.append(Missing(f"text of sentence {number}", row, f"{row}-text"))
        found += _added(statement.row, "sentence-revision", benchmark, f"sentence {number}", row)
        for each in statement.claims:
            if each.is_undecided and each.revision is not None:
                found += _added(each.revision, "claim-revision", benchmark, f"claim {each.number}", row)
    answer = answer or answer_of(annotation, statements)
    if answer.is_behind:
        found.append(Missing("merge the response again, or keep your text", "answer", "answer-state"))
    return found + _added(answer.row, "response-revision", benchmark, "the response", "answer")
