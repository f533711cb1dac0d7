"""Decompositions side by side (design: Alignment): sentences by their offsets, claims one to one by text, and what is
left in the same sentence as a split or merge of its neighbors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from annotator.core.fields import compared_fields
from annotator.core.models import Claim, Sentence
from annotator.core.vocabulary import Origin, Removal, SentenceType
from annotator.stages.comparison.comparison import (
    ABSENT,
    ComparedItem,
    Comparison,
    Decisions,
    FieldRow,
    added_rows,
    declared_row,
    key_for,
    same_text,
    settled_answers,
    settled_values,
    take_row,
    whole_row,
)
from pipeline.metrics.claim_matching import SAME_CLAIM, claim_table, match_claims
from pipeline.metrics.clusters import cluster, split_or_merge
from pipeline.metrics.text import token_f1

# Sentences with more claims are counted as having this many when numbers of claims are compared.
MAX_COUNT = 9

# Sentences that aren't substrings of the response are matched by their text.
SAME_SENTENCE = 0.5


@dataclass(slots=True)
class AdjudicatedClaim:
    """The sources of an adjudicated claim. ``base``: the row whose order and suggestion it gets."""

    base: Claim
    sources: list[Claim]
    values: dict[str, Any]


@dataclass(slots=True)
class AdjudicatedSentence:
    base: Sentence
    sources: list[Sentence]
    values: dict[str, Any]
    claims: list[AdjudicatedClaim] = field(default_factory=list)


@dataclass(slots=True)
class Decompositions(Comparison):
    """The comparison, and what to write once nothing is open.

    ``claim_counts``: each person's number of claims. ``similarities``: of the matched claims of each pair of people
    (token F1). ``units``: how often people cut a sentence at the same place, and found the same number of claims in a
    sentence, by name and by what each of them did there.
    """

    adjudicated: list[AdjudicatedSentence] = field(default_factory=list)
    claim_counts: list[int] = field(default_factory=list)
    similarities: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    units: dict[str, Counter[tuple[str | None, ...]]] = field(default_factory=dict)

    @property
    def without_claims(self) -> list[AdjudicatedSentence]:
        """Sentences that are adjudicated as check-worthy, but with every claim excluded."""
        return [
            each
            for each in self.adjudicated
            if each.values.get("type", each.base.type) == SentenceType.CHECKWORTHY
            and all(claim.values.get("removed", claim.base.removed) for claim in each.claims)
        ]

    @property
    def matched_f1(self) -> float:
        """F1 of matched claims between the first two people."""
        total = sum(self.claim_counts[:2])
        return 2 * len(self.similarities.get((0, 1), ())) / total if total else 1.0


def compare(versions: Sequence[Sequence[Sentence]], decisions: Decisions) -> Decompositions:
    """The decompositions of several people (present sentences in order, claims prefetched) with the decisions."""
    result = Decompositions(people=len(versions), claim_counts=[0] * len(versions))
    result.similarities = {pair: [] for pair in combinations(range(len(versions)), 2)}
    result.units = {"sentence.cut": cuts_of(versions), "claim.count": Counter()}
    for number, members in enumerate(aligned_sentences(versions), start=1):
        if all(len(rows) == 1 for rows in members):
            _compare_sentence(result, str(number), [rows[0] for rows in members], decisions)
        else:
            _compare_cuts(result, str(number), members, decisions)
    return result


# --- units ----------------------------------------------------------------------------------------


def cuts_of(versions: Sequence[Sequence[Sentence]]) -> Counter[tuple[str | None, ...]]:
    """For each place between two words of the response, whether each person ends a sentence there ("yes" or "no"), with
    the number of such places. Sentences that aren't substrings of the response have no place."""
    ends = [{row.start + len(row.text.rstrip()) for row in rows if row.start is not None} for rows in versions]
    places = {
        row.start + word.end()
        for rows in versions
        for row in rows
        if row.start is not None
        for word in re.finditer(r"\S+", row.text)
    }
    last = max(places, default=0)  # where every version ends
    return Counter(tuple("yes" if place in each else "no" for each in ends) for place in places if place != last)


# --- sentences ------------------------------------------------------------------------------------


def aligned_sentences(versions: Sequence[Sequence[Sentence]]) -> list[list[list[Sentence]]]:
    """Groups of sentences for the same stretch of the response, with a list for each person: one sentence each if all
    segmented it the same way."""
    groups: list[list[list[Sentence]]] = []
    reach: list[int] = []
    with_offsets = sorted(
        ((row.start, row.end, who, row) for who, rows in enumerate(versions) for row in rows if row.start is not None),
        key=lambda each: (each[0], each[2]),
    )
    for start, end, who, row in with_offsets:
        assert end is not None  # a constraint keeps the two together
        if groups and start is not None and start < reach[-1]:
            groups[-1][who].append(row)
            reach[-1] = max(reach[-1], end)
        else:
            groups.append([[row] if each == who else [] for each in range(len(versions))])
            reach.append(end)
    loose = [[row for row in rows if row.start is None] for rows in versions]
    for found in cluster([[row.text for row in rows] for rows in loose], threshold=SAME_SENTENCE):
        group = [[] if at is None else [loose[who][at]] for who, at in enumerate(found.members)]
        groups.insert(_place_of(group, groups, versions), group)
    return groups


def _place_of(
    group: list[list[Sentence]], groups: Sequence[list[list[Sentence]]], versions: Sequence[Sequence[Sentence]]
) -> int:
    """The position among the groups for a sentence without offsets: after the nearest one before it, in the order of
    the first person who has it."""
    who = next(number for number, rows in enumerate(group) if rows)
    place_of = {row.pk: place for place, each in enumerate(groups) for row in each[who]}
    at = next(place for place, row in enumerate(versions[who]) if row.pk == group[who][0].pk)
    before = (place_of[row.pk] for row in reversed(versions[who][:at]) if row.pk in place_of)
    return next(before, -1) + 1


def _compare_cuts(result: Decompositions, number: str, members: list[list[Sentence]], decisions: Decisions) -> None:
    """People have segmented the same stretch differently, so one version is chosen as a whole, including claims and
    labels."""
    key = key_for("cut", [row for rows in members for row in rows])
    words = [_counted(len(rows), "sentence") for rows in members]
    row = whole_row(f"{key}-whole", "cut", "Sentence split", words, decisions)
    texts = [[each.text for each in rows] for rows in members]
    note = "Whose sentences to use, with their claims and labels?"
    result.items.append(ComparedItem(key, "cut", number, texts, [row], note=note))
    for who, rows in enumerate(members):
        result.claim_counts[who] += sum(len(_claims(each)) for each in rows)
    if row.settled is not ABSENT:
        result.adjudicated += [_whole_sentence(each) for each in members[row.settled]]


def _compare_sentence(result: Decompositions, number: str, rows: list[Sentence], decisions: Decisions) -> None:
    key = key_for("sentence", rows)
    fields = compared_fields("sentence")
    by_name = {each.name: declared_row(each, key, rows, decisions) for each in fields}
    type_row, text = by_name["type"], by_name["decontext"]
    if all(row.type != SentenceType.CHECKWORTHY for row in rows):
        # Nobody has written its claims, so nobody can agree that it has some.
        type_row.options = [option for option in type_row.options if option.value != SentenceType.CHECKWORTHY]
    is_checked = type_row.settled in (ABSENT, SentenceType.CHECKWORTHY)
    text.is_active = is_checked and any(value is not ABSENT for value in text.values)
    benchmark = rows[0].annotation.document.benchmark
    added = added_rows(benchmark, "sentence", key, rows, decisions)
    details = [*by_name.values(), *added.values()]
    item = ComparedItem(key, "sentence", number, [[row.text] for row in rows], details)
    result.items.append(item)
    base = rows[0]
    adjudicated = AdjudicatedSentence(base, list(rows), settled_answers(benchmark, "sentence", added))
    for declared in fields:
        row = by_name[declared.name]
        if row.is_active:
            adjudicated.values |= settled_values(declared, row, rows)
    if text.is_active and text.settled_by:
        adjudicated.values["decontext"] = rows[text.settled_by[0]].decontext  # including every space
    result.adjudicated.append(adjudicated)
    # Someone who labels the sentence as not check-worthy has no claims in it, and no say about the others' claims.
    who_checks = [who for who, row in enumerate(rows) if row.type == SentenceType.CHECKWORTHY]
    if is_checked and who_checks:
        _compare_claims(result, adjudicated, number, [_claims(rows[who]) for who in who_checks], who_checks, decisions)
    _removed_by_all(adjudicated, rows)


def _removed_by_all(adjudicated: AdjudicatedSentence, rows: Sequence[Sentence]) -> None:
    """A suggestion that everyone removed stays recorded as removed, because the shares of suggestions are counted from
    it."""
    gone = [
        {claim.suggestion_id: claim for claim in row.claims.all() if claim.removed and claim.suggestion_id}
        for row in rows
    ]
    for suggestion, claim in gone[0].items():
        if all(suggestion in each for each in gone[1:]):
            adjudicated.claims.append(AdjudicatedClaim(claim, [each[suggestion] for each in gone], {}))


def _claims(sentence: Sentence) -> list[Claim]:
    """The claims of a sentence that are part of the work."""
    return [claim for claim in sentence.claims.all() if not claim.removed]


def _whole_sentence(sentence: Sentence) -> AdjudicatedSentence:
    """One person's sentence with its claims, unchanged."""
    claims = [AdjudicatedClaim(claim, [claim], _folded(sentence)) for claim in _claims(sentence)]
    return AdjudicatedSentence(sentence, [sentence], {}, claims)


def _folded(sentence: Sentence) -> dict[str, Any]:
    return {} if sentence.type == SentenceType.CHECKWORTHY else {"removed": Removal.FOLDED.value}


# --- claims ---------------------------------------------------------------------------------------


def _compare_claims(
    result: Decompositions,
    adjudicated: AdjudicatedSentence,
    number: str,
    sets: list[list[Claim]],
    who_checks: list[int],
    decisions: Decisions,
) -> None:
    """The claims of one sentence. ``sets`` belong to ``who_checks``, the people who labeled it check-worthy."""
    for who, claims in zip(who_checks, sets, strict=True):
        result.claim_counts[who] += len(claims)
    texts = [[claim.text for claim in claims] for claims in sets]
    numbers = {who: str(min(len(claims), MAX_COUNT)) for who, claims in zip(who_checks, sets, strict=True)}
    result.units["claim.count"][tuple(numbers.get(who) for who in range(result.people))] += 1
    for one, other in combinations(range(len(sets)), 2):
        result.similarities[who_checks[one], who_checks[other]] += [
            token_f1(texts[one][match.first], texts[other][match.second])
            for match in match_claims(texts[one], texts[other])
        ]
    groups: list[list[list[Claim]]]
    clusters = cluster(texts, threshold=SAME_CLAIM, table=claim_table)
    if len(sets) == 2:
        groups = [
            [[sets[0][at] for at in group.first], [sets[1][at] for at in group.second]]
            for group in split_or_merge(texts[0], texts[1], clusters)
        ]
    else:
        groups = [[[] if at is None else [sets[who][at]] for who, at in enumerate(each.members)] for each in clusters]
    for position, group in enumerate(groups, start=1):
        members: list[list[Claim]] = [[] for _ in range(result.people)]
        for who, claims in zip(who_checks, group, strict=True):
            members[who] = claims
        if any(len(claims) > 1 for claims in members):
            _compare_split(result, adjudicated, f"{number}.{position}", members, decisions)
        else:
            one_each = [claims[0] if claims else None for claims in members]
            _compare_claim(result, adjudicated, f"{number}.{position}", one_each, who_checks, decisions)


def _compare_split(
    result: Decompositions,
    adjudicated: AdjudicatedSentence,
    number: str,
    members: list[list[Claim]],
    decisions: Decisions,
) -> None:
    """One person's claim corresponds to several of another's: one side is chosen as a whole, or new texts are typed."""
    key = key_for("split", [claim for claims in members for claim in claims])
    row = whole_row(
        f"{key}-whole", "split", "One claim or several", [_counted(len(each), "claim") for each in members], decisions
    )
    texts = [[claim.text for claim in claims] for claims in members]
    note = "One annotator split this claim."
    result.items.append(ComparedItem(key, "split", number, texts, [row], note=note))
    settled = row.settled
    if isinstance(settled, int):
        adjudicated.claims += [AdjudicatedClaim(claim, [claim], {}) for claim in members[settled]]
    elif isinstance(settled, list):
        first = next(claim for claims in members for claim in claims)
        everyone = [claim for claims in members for claim in claims]
        for at, text in enumerate(settled):
            values: dict[str, Any] = {"text": text, "text_origin": Origin.CONSOLIDATED.value}
            base, sources = (first, everyone) if at == 0 else (everyone[min(at, len(everyone) - 1)], [])
            adjudicated.claims.append(AdjudicatedClaim(base, sources, values))


def _compare_claim(
    result: Decompositions,
    adjudicated: AdjudicatedSentence,
    number: str,
    members: list[Claim | None],
    who_checks: list[int],
    decisions: Decisions,
) -> None:
    present = [claim for claim in members if claim is not None]
    key = key_for("claim", members)
    fields: list[FieldRow] = []
    has_it: list[Any] = [members[who] is not None if who in who_checks else ABSENT for who in range(len(members))]
    take = take_row(f"{key}-take", "This claim", has_it, decisions)
    if not all(value is True for value in has_it if value is not ABSENT):
        fields.append(take)

    by_name = {each.name: declared_row(each, key, members, decisions) for each in compared_fields("claim")}
    benchmark = present[0].sentence.annotation.document.benchmark
    added = added_rows(benchmark, "claim", key, members, decisions)
    details = [*by_name.values(), *added.values()]
    for declared in compared_fields("claim"):
        if declared.asked_when is not None:
            # If it didn't apply to anyone, nobody has answered yet, so it is asked now.
            name, value = declared.asked_when
            by_name[declared.name].is_active = by_name[name].settled == value
    is_in = take.settled is True
    for each in details:
        each.is_active = each.is_active and (is_in or take.settled is ABSENT) and (is_in or not each.differs)
    fields += details
    texts = [[claim.text] if claim else [] for claim in members]
    result.items.append(ComparedItem(key, "claim", number, texts, fields))
    if not is_in:
        return
    text = by_name["text"].settled
    base = next((claim for claim in present if same_text(claim.text) == text), present[0])
    values = settled_answers(benchmark, "claim", added)
    for declared in compared_fields("claim"):
        values |= settled_values(declared, by_name[declared.name], members)
    if same_text(base.text) == text:
        values["text"] = base.text  # as written, including every space
    adjudicated.claims.append(AdjudicatedClaim(base, present, values))


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
