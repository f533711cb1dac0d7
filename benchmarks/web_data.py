"""A benchmark of the size that benchmarks/web.py measures: 100,000 documents in the batches of 20 groups.

What is listed and counted is made in bulk, in the states below; what a screen opens is made through the actions
(benchmarks/typical.py). In bulk, agreed decompositions and verdicts have all their rows; what the partners had of their
own is left out, since nothing counts over it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import connection, models
from django.utils import timezone

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.models import (
    Activity,
    Annotation,
    Batch,
    Benchmark,
    Claim,
    ClaimSuggestion,
    Document,
    Evidence,
    Group,
    Guidelines,
    Membership,
    PipelineRun,
    RunItem,
    Sentence,
    SentenceSuggestion,
    SignOff,
    Tally,
    User,
    Verdict,
)
from annotator.core.vocabulary import (
    STAGES,
    AnnotationKind,
    AnnotationState,
    Factuality,
    Origin,
    Phase,
    Role,
    RunState,
    Seat,
    Stage,
)
from annotator.team.actions import groups as group_actions
from benchmarks import typical
from benchmarks.typical import MODELS, SOURCES, Pair, Texts

SLUG = "measured"
OWNER = "owner"
TYPICAL = 5  # documents for each scene, so that no scene measures one lucky document
SUGGESTED_AHEAD = 0.04  # share of a batch: free documents at its front that have suggestions
DAYS = 60  # over which the work is spread
ROWS = 2000  # a query


@dataclass(frozen=True)
class State:
    """Where a document stands, and which partners have submitted (or, where ``signed``, also signed) its stage."""

    share: float
    stage: Stage
    phase: Phase
    submitted: str = ""  # "", "a", "ab"
    signed: bool = False


# 20 % gold, about 10 % in later stages or awaiting adjudication; the rest, which is free or begun, is decompose.
STATES = (
    State(0.20, Stage.REVISE, Phase.AGREED, "ab"),
    State(0.02, Stage.REVISE, Phase.INDEPENDENT, "a"),
    State(0.01, Stage.REVISE, Phase.CONSOLIDATING, "ab", signed=True),
    State(0.03, Stage.VERIFY, Phase.INDEPENDENT, "a"),
    State(0.02, Stage.VERIFY, Phase.CONSOLIDATING, "ab", signed=True),
    State(0.02, Stage.DECOMPOSE, Phase.CONSOLIDATING, "ab", signed=True),
    State(0.01, Stage.DECOMPOSE, Phase.DISCARDED),
    State(0.02, Stage.DECOMPOSE, Phase.INDEPENDENT, "a"),
)
FREE = State(0.0, Stage.DECOMPOSE, Phase.INDEPENDENT)
# In one group nobody has begun verify: its people follow their documents there.
TO_FOLLOW = State(0.03, Stage.VERIFY, Phase.INDEPENDENT)
# In the last group the first annotator has done everything: nothing is left for them.
ALL_DONE = State(0.0, Stage.DECOMPOSE, Phase.INDEPENDENT, "a")
FOLLOWING, AT_SCREENS = 1, 2  # which groups (from 0) follow, and have the typical documents


@dataclass
class Crew:
    """One group with its people and its batch."""

    number: int
    group: Group
    batch: Batch
    a: User
    b: User
    third: User


@dataclass
class Rows:
    """Rows of one batch, gathered to be inserted table by table, in an order that satisfies the foreign keys."""

    tables: dict[type[models.Model], list[models.Model]] = field(default_factory=dict)

    def add(self, row: models.Model) -> None:
        self.tables.setdefault(type(row), []).append(row)

    def insert(self) -> None:
        order: tuple[type[models.Model], ...] = (
            Document, RunItem, Annotation, SentenceSuggestion, ClaimSuggestion, Sentence, Claim, Evidence, Verdict,
            SignOff, Tally, Activity,
        )  # fmt: skip
        for model in order:
            model._default_manager.bulk_create(self.tables.pop(model, []), batch_size=ROWS)
        assert not self.tables


def username(group: int, seat: str) -> str:
    """The user name of a group's person; seats: "a", "b", "third"."""
    return f"group-{group + 1:02}-{seat}"


def load(documents: int, groups: int) -> None:
    """Fill an empty database."""
    texts = typical.read_texts()
    owner = User.objects.create_user(OWNER, display_name="Olga Owner", is_staff=True)
    benchmark = create_benchmark(slug=SLUG, name="Measured", by=owner, strategy="", overlap=2)
    crews = [_crew(benchmark, owner, number) for number in range(groups)]
    _typical_documents(crews[AT_SCREENS % groups], texts)
    filler = _Filler(benchmark, texts)
    for crew, count in zip(crews, _parts(documents, groups), strict=True):
        filler.fill(crew, count, is_last=crew.number == groups - 1)
    with connection.cursor() as cursor:  # as autovacuum would have done by itself after a while
        cursor.execute("VACUUM ANALYZE")


def _parts(number: int, parts: int) -> list[int]:
    return [number // parts + (1 if each < number % parts else 0) for each in range(parts)]


def _crew(benchmark: Benchmark, owner: User, number: int) -> Crew:
    roles = {"a": Role.ANNOTATOR, "b": Role.ANNOTATOR, "third": Role.THIRD_RATER}
    people: dict[str, User] = {}
    for seat, role in roles.items():
        name = username(number, seat)
        people[seat] = User.objects.create_user(name, display_name=name.replace("-", " ").capitalize())
        Membership.objects.create(benchmark=benchmark, user=people[seat], role=role)
    group = group_actions.create_group(benchmark, by=owner)
    for seat, person in people.items():
        place = Seat.THIRD_RATER if seat == "third" else Seat.ANNOTATOR
        group_actions.add_member(group, person, by=owner, seat=place)
    batch = Batch.objects.create(benchmark=benchmark, name=f"Batch {number + 1}", group=group, created_by=owner)
    return Crew(number, group, batch, people["a"], people["b"], people["third"])


def _typical_documents(crew: Crew, texts: Texts) -> None:
    """Documents in a state for each screen; their external ids begin with the name of the scene."""
    pair = Pair(crew.a, crew.b, crew.third, random.Random(1))
    for number in range(TYPICAL):

        def document(scene: str, number: int = number) -> Document:
            return typical.typical_document(crew.batch, texts, number + 1, f"{scene}-{number + 1}")

        typical.decompose_open(document("decompose-open"), pair.one)
        typical.decompose_to_agree(document("decompose-agree"), pair)
        opened, to_agree = document("verify-open"), document("verify-agree")
        typical.verify_ready(opened, pair, texts)
        typical.verify_open(opened, pair)
        typical.verify_ready(to_agree, pair, texts)
        typical.verify_to_agree(to_agree, pair)
        if number == 0:
            to_revise = document("revise-agree")
            typical.verify_ready(to_revise, pair, texts)
            typical.verify_to_agree(to_revise, pair)
            typical.revise_to_agree(to_revise, pair)


class _Filler:
    """Makes the documents of a batch with what belongs to them, in bulk."""

    def __init__(self, benchmark: Benchmark, texts: Texts) -> None:
        self.benchmark = benchmark
        self.texts = texts
        self.chance = random.Random(2)
        self.guidelines = Guidelines.objects.filter(benchmark=benchmark).first()
        self.tallies = {stage: typical.tally_variants(stage, 40, self.chance) for stage in STAGES}
        self.number = 100  # of the document; the typical ones come before
        self.now = timezone.now()

    def fill(self, crew: Crew, count: int, *, is_last: bool) -> None:
        """One batch: documents in the order of their states, the free ones last."""
        rows = Rows()
        run = PipelineRun.objects.create(
            benchmark=self.benchmark, stage=Stage.DECOMPOSE, strategy="offline", state=RunState.FINISHED,
            started_at=self.now, finished_at=self.now,
        )  # fmt: skip
        ahead = max(3, round(count * SUGGESTED_AHEAD))
        for state in _states(crew, count, is_last=is_last):
            document = self._document(crew, state)
            rows.add(document)
            rows.add(RunItem(run=run, document=document, state=RunState.FINISHED))
            has_versions = self._annotations(rows, crew, document, state)
            if has_versions or (state == FREE and ahead > 0):
                ahead -= state == FREE
                self._decomposition(rows, run, document, has_versions, with_evidence=state == TO_FOLLOW)
        rows.insert()

    def _document(self, crew: Crew, state: State) -> Document:
        self.number += 1
        prompt, response = self.texts.pairs[self.number % len(self.texts.pairs)]
        if state == FREE or state.stage != Stage.DECOMPOSE:
            response = " ".join(each.text for each in self.texts.sentences_for(self.number))
        return Document(
            benchmark=self.benchmark,
            batch=crew.batch,
            order=self.number,
            identity=f"document-{self.number}",
            external_id=f"document-{self.number}",
            content_hash=hashlib.sha256(response.encode()).hexdigest(),
            prompt=prompt,
            response=response,
            source=SOURCES[self.number % len(SOURCES)],
            model=MODELS[self.number % len(MODELS)],
            stage=state.stage,
            phase=state.phase,
            discard_reason="Not a language that we check." if state.phase == Phase.DISCARDED else "",
        )

    def _annotations(self, rows: Rows, crew: Crew, document: Document, state: State) -> dict[Stage, Annotation]:
        """Everyone's annotations, adjudicated versions, tallies and sign-offs; returns the adjudicated versions."""
        versions: dict[Stage, Annotation] = {}
        reached = STAGES.index(state.stage)
        when = self.now - dt.timedelta(days=self.chance.uniform(1, DAYS))
        for position, stage in enumerate(STAGES[: reached + 1]):
            over = position < reached or state.phase == Phase.AGREED
            submitted = "ab" if over else state.submitted
            for seat, who in enumerate(submitted, start=1):
                person = crew.a if who == "a" else crew.b
                when += dt.timedelta(minutes=self.chance.uniform(10, 60))
                self._individual(rows, document, stage, person, seat, when)
            if len(submitted) < 2:
                continue
            version = Annotation(
                document=document,
                stage=stage,
                kind=AnnotationKind.CONSOLIDATED,
                state=AnnotationState.SUBMITTED if over else AnnotationState.OPEN,
                submitted_at=when if over else None,
            )
            rows.add(version)
            people = [crew.a.pk, crew.b.pk]
            rows.add(Tally(annotation=version, people=people, data=self.chance.choice(self.tallies[stage])))
            if over or state.signed:
                rows.add(SignOff(annotation=version, by=crew.a))
            if over:
                rows.add(SignOff(annotation=version, by=crew.b))
                versions[stage] = version
                if stage == Stage.VERIFY:
                    rows.add(SignOff(annotation=version, by=crew.third, as_third_rater=True))
        return versions

    def _individual(
        self, rows: Rows, document: Document, stage: Stage, person: User, seat: int, when: dt.datetime
    ) -> None:
        seconds = self.chance.randint(180, 900)
        annotation = Annotation(
            document=document,
            stage=stage,
            kind=AnnotationKind.INDIVIDUAL,
            person=person,
            seat=seat,
            state=AnnotationState.SUBMITTED,
            submitted_at=when,
            active_seconds=seconds,
            guidelines=self.guidelines,
        )
        rows.add(annotation)
        for action, active in (("open", 0), ("submit", seconds)):
            rows.add(
                Activity(
                    by=person,
                    action=action,
                    benchmark=self.benchmark,
                    document=document,
                    annotation=annotation,
                    reason=stage,
                    active_seconds=active,
                )
            )

    def _decomposition(
        self,
        rows: Rows,
        run: PipelineRun,
        document: Document,
        versions: dict[Stage, Annotation],
        *,
        with_evidence: bool,
    ) -> None:
        """Suggestions, the agreed sentences and claims, and the verdicts, as far as the document has come."""
        version, verified = versions.get(Stage.DECOMPOSE), versions.get(Stage.VERIFY)
        for order, each in enumerate(self.texts.sentences_for(document.order), start=1):
            suggested = SentenceSuggestion(
                run=run, document=document, order=order, text=each.text, start=each.start, end=each.end,
                decontext=each.decontext, type=each.type, importance=each.importance,
            )  # fmt: skip
            rows.add(suggested)
            sentence = Sentence(
                annotation=version, order=order, text=each.text, start=each.start, end=each.end,
                decontext=each.decontext, decontext_origin=Origin.ACCEPTED, type=each.type,
                type_origin=Origin.ACCEPTED, importance=each.importance, importance_origin=Origin.ACCEPTED,
                suggestion=suggested,
            )  # fmt: skip
            if version:
                rows.add(sentence)
            for place, claim in enumerate(each.claims, start=1):
                labels = {"type": claim.type, "worth_checking": True, "importance": claim.importance}
                proposed = ClaimSuggestion(sentence=suggested, order=place, text=claim.text, **labels)
                rows.add(proposed)
                if not version:
                    continue
                edited = self.chance.random() < 0.2
                adjudicated = Claim(
                    sentence=sentence, order=place, text=claim.text, suggestion=proposed, **labels,
                    text_origin=Origin.EDITED if edited else Origin.ACCEPTED, type_origin=Origin.ACCEPTED,
                    worth_checking_origin=Origin.ACCEPTED, importance_origin=Origin.ACCEPTED,
                )  # fmt: skip
                rows.add(adjudicated)
                if with_evidence:
                    self._evidence(rows, adjudicated, document.order + place)
                if verified:
                    rows.add(
                        Verdict(
                            annotation=verified, claim=adjudicated, evidence_sufficient=True,
                            evidence_sufficient_origin=Origin.HUMAN, factuality=Factuality.TRUE,
                            factuality_origin=Origin.HUMAN,
                        )
                    )  # fmt: skip

    def _evidence(self, rows: Rows, claim: Claim, number: int) -> None:
        for order, each in enumerate(self.texts.passages_for(number), start=1):
            rows.add(
                Evidence(claim=claim, order=order, passage=each.passage, url=each.url, title=each.title, site=each.site)
            )


def _states(crew: Crew, count: int, *, is_last: bool) -> Iterator[State]:
    """The states of a batch's documents, in their order."""
    made = 0
    for state in STATES:
        number = round(state.share * count)
        chosen = (
            TO_FOLLOW if crew.number == FOLLOWING and state.stage == Stage.VERIFY and state.submitted == "a" else state
        )
        yield from [chosen] * number
        made += number
    yield from [ALL_DONE if is_last else FREE] * (count - made)
