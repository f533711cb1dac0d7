"""Writing a new version of the guidelines, and noting that a person has read it."""

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
    """Someone published a version after the sender started writing. Nothing was saved; ``newest`` is that version."""

    def __init__(self, newest: Guidelines) -> None:
        super().__init__(
            f"Version {newest.number} was published in the meantime. Compare both texts and publish again."
        )
        self.newest = newest


def publish_guidelines(
    *, benchmark: Benchmark, text: str, by: User, based_on: int | None = None, note: str = ""
) -> Guidelines:
    """A new version of the guidelines, by an owner or admin. The same text again gives the version that is there.

    ``based_on`` is the number of the version that the text started from (0: there was none, None: not known);
    ``note`` says what changed, for those who work by the guidelines. Raises NotAllowedError by the rules,
    BadValueError for a blank text, StaleGuidelinesError when another version came between.
    """
    text = text.replace("\r\n", "\n").replace("\x00", "").strip() + "\n"
    note = " ".join(note.replace("\x00", "").split())
    if not text.strip():
        raise BadValueError("The guidelines are empty. At a minimum, define what a claim is.")
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        Benchmark.objects.select_for_update().get(pk=benchmark.pk)  # one version after another
        newest = newest_of(benchmark)
        if newest is not None and newest.text.strip() == text.strip():
            return newest
        if newest is not None and based_on is not None and based_on != newest.number:
            raise StaleGuidelinesError(newest)
        number = newest.number + 1 if newest else 1
        version = Guidelines.objects.create(benchmark=benchmark, number=number, text=text, created_by=by)
        reason = f"version {number}: {note}" if note else f"version {number}"
        Action(name="publish-guidelines", by=by, benchmark=benchmark, reason=reason).write()
        mark_read(benchmark=benchmark, number=number, by=by)  # who wrote it knows it
    return version


def mark_read(*, benchmark: Benchmark, number: int, by: User) -> None:
    """The person has read what is new in a version: the note about it is gone, on every device.

    Open work keeps the version it was begun with; the activity names the work that goes on with this one in mind.
    Raises NotAllowedError for others than members, BadValueError for a version that does not exist.
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
