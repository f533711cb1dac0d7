"""Oddities of adjudicated rows, counted by the database: what trips people who score or train on the gold.

Some exist only in how a released file wrote a field (``annotator.core.released``): an extra item in a list, a NUL in a
passage. They count as long as an export would write them that way.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q
from django.db.models.functions import MD5

from annotator.core.models import Claim, ClaimRevision, EditOperation, RestsOn, SentenceRevision, Verdict
from annotator.core.queries.gold import GoldScope, adjudicated, checked
from annotator.core.released import load
from annotator.core.released_labels import SELF_RETRIEVED
from annotator.core.vocabulary import EditKind, Factuality, Handling, Stage

NUL = "\x00"


def irregularities_of(scope: GoldScope) -> dict[str, int]:
    """How often each irregularity occurs; the names are documented in docs/formats/statistics.md (twelve queries)."""
    return {
        **_of_sentences(scope),
        **_of_evidence(scope),
        **_of_verdicts(scope),
    }


# --- sentences ------------------------------------------------------------------------------------


def _of_sentences(scope: GoldScope) -> dict[str, int]:
    revised = SentenceRevision.objects.filter(adjudicated(Stage.REVISE, "annotation__"), sentence=OuterRef("pk"))
    rewritten = revised.filter(Q(deleted=True) | ~Q(text=OuterRef("text")))
    has_claims = Claim.objects.filter(sentence=OuterRef("pk"), removed="")
    spelled = scope.sentences().filter(Q(released__contains='"revised_')).values_list("released", "text")
    longer = sum(
        _is_list_of_more(load(released).get("revised_claims", {}))
        for released, _ in spelled.filter(~Exists(has_claims)).iterator()
    )
    lists = sum(
        _is_list(load(released).get("revised_decontext", {}), text)
        for released, text in spelled.filter(~Exists(rewritten)).iterator()
    )
    return {
        "revised_claims_longer_than_claims": longer,
        "revised_decontext_is_list": lists,
        "blank_decontext": scope.sentences().exclude(decontext__regex=r"\S").count(),
    }


def _is_list_of_more(spelling: dict[str, Any]) -> bool:
    """A sentence without claims was released with a revised claim."""
    return spelling.get("stands_for") == [] and bool(spelling.get("spelling"))


def _is_list(spelling: dict[str, Any], text: str) -> bool:
    """An unchanged sentence was released with an empty list instead of its text."""
    return spelling.get("stands_for") == text and isinstance(spelling.get("spelling"), list)


# --- passages -------------------------------------------------------------------------------------


def _of_evidence(scope: GoldScope) -> dict[str, int]:
    retrieved = scope.retrieved()
    alike = retrieved.values("claim").annotate(number=Count("pk"), different=Count(MD5("passage"), distinct=True))
    # JSON writes a NUL as this escape, but so does a backslash followed by these letters; hence the second check.
    with_nul = retrieved.filter(released__contains="\\u0000").values_list("passage", "released")
    return {
        "claims_with_repeated_evidence": alike.filter(number__gt=F("different")).count(),
        "evidence_with_NUL": sum(
            _has_nul(load(released).get("auto_evidence", {}), text) for text, released in with_nul.iterator()
        ),
    }


def _has_nul(spelling: dict[str, Any], passage: str) -> bool:
    return spelling.get("stands_for") == passage and NUL in str(spelling.get("spelling"))


# --- verdicts and edits ---------------------------------------------------------------------------


def _of_verdicts(scope: GoldScope) -> dict[str, int]:
    verdicts = scope.checked_verdicts()
    edit = EditOperation.objects.filter(verdict=OuterRef("pk"))
    rests = RestsOn.objects.filter(verdict=OuterRef("pk"))
    false = verdicts.filter(factuality=Factuality.FALSE)
    deleted = ClaimRevision.objects.filter(
        adjudicated(Stage.REVISE, "annotation__"), handling=Handling.DELETE, claim=OuterRef("claim")
    )
    undetermined = verdicts.filter(factuality=Factuality.NOT_ENOUGH_EVIDENCE)
    blank, changed = _of_claims_to_keep(scope)
    unnamed = false.filter(~Exists(rests)).values_list("claim__released", flat=True)
    return {
        "blank_revised_claim": false.filter(Exists(edit.filter(kind=EditKind.DELETE_CLAIM))).count()
        + undetermined.filter(Exists(deleted)).count()
        + blank,
        "edit_yes_text_unchanged": false.filter(~Exists(edit)).count(),
        "not_edit_text_changed": changed,
        "edit_yes_without_evidence_index": sum(not _names_a_passage(load(each)) for each in unnamed.iterator()),
    }


def _of_claims_to_keep(scope: GoldScope) -> tuple[int, int]:
    """Among claims that needed no change: how many were released as blank, how many with another text."""
    judged_false_or_open = Verdict.objects.filter(
        adjudicated(Stage.VERIFY, "annotation__"),
        checked("claim__"),
        claim__in=scope.claims(),
        factuality__in=[Factuality.FALSE, Factuality.NOT_ENOUGH_EVIDENCE],
    )
    mended = set(judged_false_or_open.values_list("claim", flat=True))
    spelled = scope.claims().filter(released__contains='"revised_claims"').values_list("pk", "text", "released")
    blank = changed = 0
    for claim, text, released in spelled.iterator():
        spelling = load(released).get("revised_claims", {})
        if claim not in mended and spelling.get("stands_for") == text and "spelling" in spelling:
            if str(spelling["spelling"] or "").strip():
                changed += 1
            else:
                blank += 1
    return blank, changed


def _names_a_passage(spellings: dict[str, dict[str, Any]]) -> bool:
    """Does the released reference name a passage, even one that doesn't exist? Free text names none."""
    said = str(spellings.get("usedEvidence_index_in_revision", {}).get("spelling", "")).split(",")
    return any(part.strip() == SELF_RETRIEVED or part.strip().isdecimal() for part in said)
