"""Moving a study to another version of its protocol. The change is recorded."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Count

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.protocols import freeze, listed
from annotator.core.actions.recorder import Action
from annotator.core.models import ProtocolVersion, User
from annotator.core.protocol import Protocol, chosen
from annotator.core.protocol_file import removed_answers
from annotator.studies.models import Study, StudyAnswer


def migrate_study(study: Study, version: ProtocolVersion, *, by: User) -> None:
    """Move a study to another version of its protocol and record the change. Answers are kept.

    Raises BadValueError if people have given answers that the new version no longer offers.
    """
    rules.check_manage(by, study.benchmark)
    old, new = study.version.protocol, version.protocol
    if version.benchmark_id != study.benchmark_id or old.name != new.name:
        raise BadValueError("Choose a version of the study’s own protocol.")
    if (old.work, old.records, old.sampling) != (new.work, new.records, new.sampling):
        raise BadValueError("The kind of work, the records and the sampling can’t change in a study that exists.")
    for name, values in removed_answers(old, new).items():
        used = answers_in_use(study, old, name, values)
        if used:
            raise BadValueError(f"{name}: {listed(used)} can’t be removed, because people have used it.")
    with transaction.atomic():
        reason = f"{old.name}: version {study.version.number} ({study.version.sha256[:12]}) to {version.number} "
        reason += f"({version.sha256[:12]})"
        study.version = version
        study.save(update_fields=["version"])
        if study.started_at is not None:
            freeze(version)
        Action(name="migrate-study", by=by, benchmark=study.benchmark, reason=f"{study.name}: {reason}").write()


def answers_in_use(study: Study, protocol: Protocol, name: str, values: set[str]) -> dict[str, int]:
    """How often people have given these values to a question; "*" stands for any."""
    on, _, key = name.partition(".")
    question = protocol.question(key, on)
    rows = StudyAnswer.objects.filter(assignment__study=study, question=key).exclude(value=None)
    rows = rows.filter(part__isnull=True) if on == "item" else rows.filter(part__kind=on)
    found: dict[str, int] = {}
    for value, count in rows.values_list("value").annotate(count=Count("id")).order_by():
        given = chosen(value) or set()
        for each in given if question is not None and question.values else {"*"} if given else set():
            if "*" in values or each in values:
                found[each] = found.get(each, 0) + count
    return found
