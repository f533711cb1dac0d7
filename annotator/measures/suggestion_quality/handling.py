"""What people did with suggestions, in the terms of FastFact's Table 1: removed, added, revised, unchanged.

A field is unchanged if its value equals the suggestion (then its origin is "suggestion, accepted"), else revised.
People who labeled blind first saw no suggestion. There, the same terms describe how their unaided work differs from it,
and the counts are kept separate.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from annotator.core.vocabulary import Factuality, Labelled, SentenceType, Stage, StanceLabel
from annotator.measures.suggestion_quality.accuracy import claims_alone
from annotator.measures.suggestion_quality.rows import (
    ComparedClaim,
    ComparedDocument,
    ComparedSentence,
    Maker,
    PersonsWork,
    SuggestedLabels,
)
from pipeline.metrics.alignment import align
from pipeline.metrics.decomposition import SAME, pair_sentences


class HandledSuggestions(Labelled):
    """FastFact's terms for what happened to a suggestion."""

    REMOVED = "removed", "Removed"
    ADDED = "added", "Added"
    REVISED = "revised", "Revised"
    UNCHANGED = "unchanged", "Unchanged"


# What is counted, with its words, in the order of the steps.
THINGS: dict[str, str] = {
    "sentences": "Sentences",
    "decontext": "Decontextualized sentences",
    "sentence_type": "Sentence types",
    "sentence_importance": "Sentence importance",
    "claims": "Claims",
    "claim_type": "Claim types",
    "claim_importance": "Claim importance",
    "evidence": "Passages",
    "stance": "Stances",
    "correction": "Corrections",
    "revision": "Revised responses",
}


@dataclass(slots=True)
class Handled:
    """Counts by thing. ``works``: documents (of one person, or adjudicated versions) with at least one such thing, for
    means."""

    counts: dict[str, Counter[HandledSuggestions]] = field(default_factory=lambda: defaultdict(Counter))
    works: Counter[str] = field(default_factory=Counter)

    def rows(self) -> list[tuple[str, Counter[HandledSuggestions], int]]:
        """Thing, counts and works, in the order of the steps."""
        return [(thing, self.counts[thing], self.works[thing]) for thing in THINGS if self.works[thing]]

    def add(self, other: Handled) -> None:
        """Add another's counts."""
        for thing, counts in other.counts.items():
            self.counts[thing].update(counts)
        self.works.update(other.works)

    def unchanged(self, thing: str) -> tuple[int, int]:
        """How many of the suggested things stayed unchanged, out of how many."""
        counts = self.counts[thing]
        return counts[HandledSuggestions.UNCHANGED], counts.total() - counts[HandledSuggestions.ADDED]


@dataclass(slots=True)
class HandledBy:
    """How one maker's suggestions were handled: in the adjudicated versions, in each person's work (primary key), and
    separately in adjudicated versions of blind-first documents."""

    agreed: Handled = field(default_factory=Handled)
    people: dict[int, Handled] = field(default_factory=lambda: defaultdict(Handled))
    blind_first: Handled = field(default_factory=Handled)


def handled(documents: Iterable[ComparedDocument]) -> dict[Maker, HandledBy]:
    """What happened to each maker's suggestions. Except in blind-first documents, only those shown to people count.

    Labels by a learned suggester count for that suggester.
    """
    found: dict[Maker, HandledBy] = defaultdict(HandledBy)
    for document in documents:
        for maker, suggested in document.suggested.items():
            for work in (_with_links(document), *document.people):
                if document.blind_first and work.person is not None:
                    continue
                _Handling(found, document, work, maker, suggested).count()
    return dict(found)


def individuals(document: ComparedDocument) -> dict[Maker, Handled]:
    """What happened to each maker's suggestions in the work of everyone on one document, whether they saw them first
    or, blind first, afterwards."""
    found: dict[Maker, HandledBy] = defaultdict(HandledBy)
    for maker, suggested in document.suggested.items():
        for work in document.people:
            _Handling(found, document, work, maker, suggested).count()
    together: dict[Maker, Handled] = {}
    for maker, by in found.items():
        together[maker] = Handled()
        for each in (by.blind_first, *by.people.values()):
            together[maker].add(each)
    return together


def _with_links(document: ComparedDocument) -> PersonsWork:
    """The adjudicated version, which doesn't record the suggestions behind its edits, with the links of the person
    whose text was chosen."""
    gold = document.gold
    verdicts = {}
    for claim, verdict in gold.verdicts.items():
        theirs = [each.verdicts[claim] for each in document.people if claim in each.verdicts]
        link = next((each.suggestion for each in theirs if each.suggestion and each.revised == verdict.revised), None)
        verdicts[claim] = replace(verdict, suggestion=verdict.suggestion or link)
    answers = [each.response_from for each in document.people if each.response == gold.response]
    return replace(gold, verdicts=verdicts, response_from=gold.response_from or next(filter(None, answers), None))


@dataclass(frozen=True, slots=True)
class _Handling:
    """One maker's suggestions for one document, in one person's work."""

    found: dict[Maker, HandledBy]
    document: ComparedDocument
    work: PersonsWork
    maker: Maker
    suggested: SuggestedLabels

    def into(self, maker: Maker) -> Handled:
        by = self.found[maker]
        if self.document.blind_first:
            return by.blind_first
        return by.agreed if self.work.person is None else by.people[self.work.person]

    def add(
        self, thing: str, done: Mapping[HandledSuggestions, int] | Sequence[HandledSuggestions], *, by: str = ""
    ) -> None:
        counts = Counter(done)
        if counts.total():
            handled = self.into(Maker(by=by) if by else self.maker)
            handled.counts[thing].update(counts)
            handled.works[thing] += 1

    def labels(self, thing: str, pairs: Iterable[tuple[str, str, str]]) -> None:
        """Labels next to suggested labels, each with its learned suggester."""
        done: dict[str, list[HandledSuggestions]] = defaultdict(list)
        for given, shown, by in pairs:
            if given and shown:
                done[by].append(HandledSuggestions.UNCHANGED if given == shown else HandledSuggestions.REVISED)
        for by, each in done.items():
            self.add(thing, each, by=by)

    def count(self) -> None:
        shown = self.shown()
        if shown:
            self.decomposition(shown)
        self.evidence()
        self.stances()
        self.corrections()
        self.revision()

    # --- decompose --------------------------------------------------------------------------------

    def shown(self) -> Sequence[ComparedSentence]:
        """The sentences of the run shown to the person, if this maker made it; blind first, those of the newest run."""
        runs = self.suggested.decompositions
        if self.document.blind_first:
            return runs[max(runs)] if runs and self.work.sentences else ()
        links = {each.suggestion for each in self.work.sentences}
        return next((rows for rows in runs.values() if any(each.key in links for each in rows)), ())

    def decomposition(self, shown: Sequence[ComparedSentence]) -> None:
        present = self.work.sentences
        pairs = self.paired_sentences(shown)
        self.add("sentences", _became([(mine.text, theirs.text) for mine, theirs in pairs], len(present), len(shown)))
        checked = [(mine, theirs) for mine, theirs in pairs if mine.type == SentenceType.CHECKWORTHY and mine.decontext]
        self.add("decontext", _became([(mine.decontext, theirs.decontext) for mine, theirs in checked]))
        self.labels("sentence_type", [(mine.type, theirs.type, theirs.by) for mine, theirs in pairs])
        self.labels("sentence_importance", [(mine.importance, theirs.importance, "") for mine, theirs in pairs])
        # The claims of a sentence that isn't check-worthy are collapsed.
        mine = [claim for each in present if each.type in ("", SentenceType.CHECKWORTHY) for claim in each.claims]
        theirs = [claim for each in shown for claim in each.claims]
        claims = self.paired_claims(mine, theirs)
        self.add("claims", _became([(one.text, other.text) for one, other in claims], len(mine), len(theirs)))
        self.labels("claim_type", [(one.type, other.type, other.by) for one, other in claims])
        self.labels("claim_importance", [(one.importance, other.importance, "") for one, other in claims])

    def paired_sentences(self, shown: Sequence[ComparedSentence]) -> list[tuple[ComparedSentence, ComparedSentence]]:
        present = self.work.sentences
        if self.document.blind_first:
            places = pair_sentences(present, shown)
            return [(mine, shown[at]) for mine, at in zip(present, places, strict=True) if at is not None]
        by_key = {each.key: each for each in shown}
        return [(mine, by_key[mine.suggestion]) for mine in present if mine.suggestion in by_key]

    def paired_claims(
        self, mine: Sequence[ComparedClaim], theirs: Sequence[ComparedClaim]
    ) -> list[tuple[ComparedClaim, ComparedClaim]]:
        if self.document.blind_first:
            matches = align([each.text for each in mine], [each.text for each in theirs], threshold=SAME)
            return [(mine[match.first], theirs[match.second]) for match in matches]
        by_key = {each.key: each for each in theirs}
        return [(each, by_key[each.suggestion]) for each in mine if each.suggestion in by_key]

    # --- verify and revise ------------------------------------------------------------------------

    def evidence(self) -> None:
        """A passage is unchanged unless judged irrelevant. An added one counts if only this maker had searched for the
        claim."""
        given = (self.work.stances.get(passage) for passage in self.suggested.passages)
        judged = [each.label for each in given if each is not None and each.label]
        removed = sum(label == StanceLabel.IRRELEVANT for label in judged)
        alone = claims_alone(self.document, self.maker) if self.work.added else set()
        added = sum(number for claim, number in self.work.added.items() if claim in alone)
        if judged:
            self.add(
                "evidence",
                {
                    HandledSuggestions.REMOVED: removed,
                    HandledSuggestions.ADDED: added,
                    HandledSuggestions.UNCHANGED: len(judged) - removed,
                },
            )

    def stances(self) -> None:
        pairs = []
        for passage, stance in self.suggested.stances.items():
            given = self.work.stances.get(passage)
            if given is not None and (self.document.blind_first or given.suggestion == stance.key):
                pairs.append((given.label, stance.label, stance.by))
        self.labels("stance", pairs)

    def corrections(self) -> None:
        """Corrections offered before the claim was decided, and edits of false claims without an offer."""
        submitted = self.work.submitted.get(Stage.VERIFY)
        done = []
        for claim, offered in self.suggested.verdicts.items():
            verdict = self.work.verdicts.get(claim)
            if verdict is None or not verdict.factuality or submitted is None or offered.at > submitted:
                continue
            is_mended = verdict.factuality == Factuality.FALSE and verdict.revised is not None
            if offered.correction is None or offered.correction == verdict.text:
                done += [HandledSuggestions.ADDED] if is_mended else []
            elif is_mended and verdict.revised == offered.correction:
                done.append(HandledSuggestions.UNCHANGED)
            elif is_mended and verdict.suggestion == offered.key:
                done.append(HandledSuggestions.REVISED)
            else:
                done.append(HandledSuggestions.REMOVED)
        self.add("correction", done)

    def revision(self) -> None:
        submitted, answer = self.work.submitted.get(Stage.REVISE), self.suggested.answer
        if answer is None or self.work.response is None or submitted is None or answer.at > submitted:
            return
        if self.work.response in (answer.with_prompt, answer.without_prompt):
            done = HandledSuggestions.UNCHANGED
        elif self.work.response_from == answer.key:
            done = HandledSuggestions.REVISED
        else:
            done = HandledSuggestions.REMOVED
        self.add("revision", [done])


def _became(
    pairs: Sequence[tuple[str, str]], present: int | None = None, shown: int | None = None
) -> dict[HandledSuggestions, int]:
    """Counts texts by the suggestion they started as. Other shown suggestions were removed; other texts were added."""
    unchanged = sum(mine == theirs for mine, theirs in pairs)
    return {
        HandledSuggestions.REMOVED: 0 if shown is None else shown - len(pairs),
        HandledSuggestions.ADDED: 0 if present is None else present - len(pairs),
        HandledSuggestions.REVISED: len(pairs) - unchanged,
        HandledSuggestions.UNCHANGED: unchanged,
    }
