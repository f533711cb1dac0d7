"""Publishes a new version of the guidelines and records who has read it."""

from __future__ import annotations

from django.db import transaction

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.recorder import Action
from annotator.core.models import Annotation, Benchmark, Guidelines, User
from annotator.core.queries.guidelines import READ, newest_of
from annotator.core.record_keys import key_of
from annotator.core.vocabulary import AnnotationKind, AnnotationState


class StaleGuidelinesError(Exception):
    """Someone else published a version in the meantime. Nothing was saved; ``newest`` is that version."""

    def __init__(self, newest: Guidelines) -> None:
        super().__init__(
            f"Version {newest.number} was published in the meantime. Compare both texts and publish again."
        )
        self.newest = newest


def publish_guidelines(
    *, benchmark: Benchmark, text: str, by: User, based_on: int | None = None, note: str = ""
) -> Guidelines:
    """Publish a new version of the guidelines, by an owner or admin. If the text is unchanged, returns the current
    version.

    ``based_on`` is the number of the version that was edited (0: there was none, None: not known); ``note`` tells
    annotators what changed. Raises NotAllowedError by the rules, BadValueError for a blank text, StaleGuidelinesError
    if another version was published in between.
    """
    text = text.replace("\r\n", "\n").replace("\x00", "").strip() + "\n"
    note = " ".join(note.replace("\x00", "").split())
    if not text.strip():
        raise BadValueError("The guidelines are empty. At a minimum, define what a claim is.")
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        Benchmark.objects.select_for_update().get(pk=benchmark.pk)  # one version at a time
        newest = newest_of(benchmark)
        if newest is not None and newest.text.strip() == text.strip():
            return newest
        if newest is not None and based_on is not None and based_on != newest.number:
            raise StaleGuidelinesError(newest)
        number = newest.number + 1 if newest else 1
        version = Guidelines.objects.create(benchmark=benchmark, number=number, text=text, created_by=by)
        reason = f"version {number}: {note}" if note else f"version {number}"
        Action(name="publish-guidelines", by=by, benchmark=benchmark, reason=reason).write()
        mark_read(benchmark=benchmark, number=number, by=by)  # its author has read it
    return version


def mark_read(*, benchmark: Benchmark, number: int, by: User) -> None:
    """Record that the person has read what is new in a version. The note about it disappears on all their devices.

    Work in progress keeps the version it was started with; the activity lists the work that continues under this one.
    Raises NotAllowedError for people who aren't members, BadValueError for a version that doesn't exist.
    """
    with transaction.atomic():
        rules.check_see_benchmark(by, benchmark)
        if not Guidelines.objects.filter(benchmark=benchmark, number=number).exists():
            raise BadValueError(f"These guidelines have no version {number}.")
        person = User.objects.select_for_update().get(pk=by.pk)
        read: dict[str, int] = person.preferences.get(READ, {})
        if read.get(benchmark.public_id, 0) >= number:
            return
        person.preferences[READ] = read | {benchmark.public_id: number}
        person.save(update_fields=["preferences"])
        begun = Annotation.objects.filter(
            person=by,
            kind=AnnotationKind.INDIVIDUAL,
            state=AnnotationState.OPEN,
            guidelines__benchmark=benchmark,
            guidelines__number__lt=number,
        ).select_related("guidelines")
        action = Action(name="read-guidelines", by=by, benchmark=benchmark, reason=f"version {number}")
        for annotation in begun:
            before = annotation.guidelines.number if annotation.guidelines else None
            action.changes.append(
                {"record": key_of(annotation), "field": "guidelines_read", "before": before, "after": number}
            )
        action.write()
