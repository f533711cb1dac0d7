"""Making twins: copies of gold documents for a newcomer's practice, and copies mixed into a batch unannounced.

A copy takes prompt, response and suggestions from its gold, and nothing of what people decided there. It carries the
name of its gold (``external_id``), since it stands in its place for those whom it measures
(``annotator.core.gold_copies``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from annotator.core import rules
from annotator.core.actions.append_only import history_unlocked
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark, lock_document
from annotator.core.actions.recorder import Action
from annotator.core.actions.status import update_status
from annotator.core.fields import suggested_fields
from annotator.core.gold_copies import due_to_practise, practice_gold_for, unfinished_practice
from annotator.core.models import (
    Activity,
    Annotation,
    Batch,
    Benchmark,
    ClaimSuggestion,
    Document,
    SentenceSuggestion,
    User,
)
from annotator.core.models.base import new_public_id
from annotator.core.record_keys import key_of
from annotator.core.vocabulary import AnnotationKind, Phase, Stage
from annotator.stages.actions.blind_first import suggested_sentences
from annotator.suggestions.actions.runs import start_run
from annotator.team.queries.gold_copies import mixable

EXCUSED = "Excused from practice."


def begin_practice(*, by: User) -> None:
    """Make the practice of a newcomer wherever it is due. For everyone else one query, and nothing happens."""
    for benchmark in due_to_practise(by):
        make_practice(benchmark, by, by=by)


def make_practice(benchmark: Benchmark, person: User, *, by: User) -> list[Document]:
    """Copy the benchmark's practice documents for a newcomer. Nothing is made where it is not due: a second time, for
    who has submitted something, without gold, or where the benchmark wants no practice."""
    with transaction.atomic():
        benchmark = lock_benchmark(benchmark.pk)
        if not due_to_practise(person).filter(pk=benchmark.pk).exists():
            return []
        golds = practice_gold_for(benchmark, person)
        copies = [_copy(gold, benchmark=benchmark, order=gold.order, practice_for=person) for gold in golds]
        _suggest(golds, copies, by=by)
        Action(name="make-practice", by=by, benchmark=benchmark, reason=f"{len(copies)} for {person}").write()
        return copies


def excuse_from_practice(benchmark: Benchmark, person: User, *, by: User) -> None:
    """Let someone begin real work without (more) practice. What they practiced is kept.

    Raises NotAllowedError by the rules, BadValueError where no practice is left.
    """
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        make_practice(benchmark, person, by=by)  # so that it is on record what they were excused from
        open_copies = unfinished_practice(person).filter(benchmark=benchmark).order_by("pk")
        keys = list(open_copies.values_list("pk", flat=True))
        if not keys:
            raise BadValueError(f"{person} has no practice left to be excused from.")
        for pk in keys:
            document = lock_document(pk)
            action = Action(name="discard", by=by, document=document, reason=EXCUSED)
            update_status(document, action, discarded=True)
            action.set(document, discard_reason=EXCUSED)
            action.write()
        Action(name="excuse-practice", by=by, benchmark=benchmark, reason=str(person)).write()


def mix_in(batch: Batch, *, number: int, seed: int, by: User) -> list[Document]:
    """Mix copies of gold documents into a batch: drawn by lot among those that the people of the batch do not know, and
    put at places drawn by lot among its documents that nobody has begun. The same seed draws the same.

    Raises NotAllowedError by the rules, BadValueError where so many are not there, or nobody would meet them.
    """
    with transaction.atomic():
        rules.check_manage(by, batch.benchmark)
        lock_benchmark(batch.benchmark_id)
        if number < 1:
            raise BadValueError("Enter how many hidden gold items to add: one or more.")
        golds = {gold.public_id: gold for gold in mixable(batch)}
        if number > len(golds):
            how_many = "No gold document" if not golds else f"No more than {len(golds):,} gold documents"
            raise BadValueError(
                f"{how_many} can be added to {batch}. Only gold that its annotators have not worked on, that is "
                "not for practice, and that is not hidden elsewhere can be added."
            )
        places = _places(batch)
        if not places:
            raise BadValueError(
                f"Every document of {batch} has been started, so nobody would get a gold item. Create a new batch."
            )
        generator = random.Random(seed)
        chosen = [golds[each] for each in generator.sample(sorted(golds), number)]
        copies = [
            # Just behind the document that stands there: of two with the same order the older one comes first.
            _copy(gold, benchmark=batch.benchmark, order=generator.choice(places), batch=batch)
            for gold in chosen
        ]
        _suggest(chosen, copies, by=by)
        reason = f"{number} into {batch}, seed {seed}"
        Action(name="mix-in", by=by, benchmark=batch.benchmark, reason=reason).write()
        return copies


def _places(batch: Batch) -> list[int]:
    """The orders of the documents of the batch that nobody has begun."""
    begun = Annotation.objects.filter(document=OuterRef("pk"), kind=AnnotationKind.INDIVIDUAL)
    waiting = batch.documents.filter(stage=Stage.DECOMPOSE, phase__in=(Phase.PREFILLING, Phase.INDEPENDENT))
    return list(waiting.exclude(Exists(begun)).order_by("order", "pk").values_list("order", flat=True))


# --- the copy -------------------------------------------------------------------------------------


def _copy(
    gold: Document, *, benchmark: Benchmark, order: int, practice_for: User | None = None, batch: Batch | None = None
) -> Document:
    """A copy that looks like any document: with the name and the day of import of its gold."""
    copy = Document.objects.create(
        benchmark=benchmark,
        twin_of=gold,
        practice_for=practice_for,
        batch=batch,
        order=order,
        identity=f"twin:{gold.public_id}:{new_public_id()}",
        external_id=str(gold),
        content_hash=gold.content_hash,
        prompt=gold.prompt,
        response=gold.response,
        source=gold.source,
        model=gold.model,
        metadata=gold.metadata,
        reference_date=gold.reference_date,
    )
    Document.objects.filter(pk=copy.pk).update(created_at=gold.created_at)
    copy.created_at = gold.created_at
    return copy


def _suggest(golds: Sequence[Document], copies: Sequence[Document], *, by: User) -> None:
    """Give the copies the suggestions of their gold; where there are none, a run makes them."""
    without = [copy.pk for gold, copy in zip(golds, copies, strict=True) if not _copy_suggestions(gold=gold, copy=copy)]
    if without:
        start_run(benchmark=copies[0].benchmark, stage=Stage.DECOMPOSE, documents=without, by=by)
        for copy in copies:
            copy.refresh_from_db()


def _copy_suggestions(*, gold: Document, copy: Document) -> bool:
    """Copy the newest suggestions of the gold, with the line in the history that says so.

    False: there are none, or they are from a run of another benchmark, whose runs and costs stay its own.
    """
    if gold.benchmark_id != copy.benchmark_id:
        return False
    suggested = list(suggested_sentences(gold).prefetch_related("claims"))
    sentences = SentenceSuggestion.objects.bulk_create(
        SentenceSuggestion(
            run_id=each.run_id,
            document=copy,
            order=each.order,
            text=each.text,
            start=each.start,
            end=each.end,
            **_suggested("sentence", each),
        )
        for each in suggested
    )
    ClaimSuggestion.objects.bulk_create(
        ClaimSuggestion(
            sentence=sentence,
            order=claim.order,
            **_suggested("claim", claim),
        )
        for sentence, each in zip(sentences, suggested, strict=True)
        for claim in each.claims.all()
    )
    told = gold.activities.filter(action="prefilled", annotation__isnull=True).order_by("pk").first()
    if suggested and told is not None:
        row = Activity.objects.create(
            by=told.by,
            action=told.action,
            benchmark=told.benchmark,
            document=copy,
            changes=[{**change, "record": key_of(copy)} for change in told.changes],
        )
        with history_unlocked():  # when it was done, not when it was copied
            Activity.objects.filter(pk=row.pk).update(at=told.at)
    return bool(suggested)


def _suggested(record: str, suggestion: SentenceSuggestion | ClaimSuggestion) -> dict[str, Any]:
    return {each.name: getattr(suggestion, each.name) for each in suggested_fields(record)}
