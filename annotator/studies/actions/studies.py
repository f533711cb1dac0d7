"""Creating a study: importing items, choosing raters, starting it, and opening the rounds that follow the rating."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from django.db import transaction
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.protocols import freeze, store_protocol
from annotator.core.actions.recorder import Action
from annotator.core.file_problems import BadRow, Problem
from annotator.core.models import Benchmark, Membership, ProtocolVersion, User
from annotator.core.models.base import new_public_ids
from annotator.core.protocol import Protocol, Work
from annotator.core.rules import LABEL_ROLES
from annotator.studies.dealing import arranged, deal
from annotator.studies.item_file import CANDIDATE, ItemRow, PartRow, is_identical, read_items
from annotator.studies.models import Study, StudyAssignment, StudyItem, StudyPart, StudyRater
from annotator.studies.models.study import Dropped
from annotator.studies.queries.answers import items_of_round
from annotator.studies.rules import check_not_started

ROWS = 2000  # per INSERT statement


@dataclass(slots=True)
class ImportReport:
    """The result of an import. If there are ``problems`` (bad lines), nothing was written."""

    items: int = 0
    identical: int = 0
    problems: list[Problem] = field(default_factory=list)


def create_study(
    benchmark: Benchmark, given: Protocol | ProtocolVersion, *, name: str, by: User | None, seed: int = 0
) -> Study:
    """An empty study with this protocol, or with a version that the benchmark has. Raises BadValueError for a name that
    is taken or a protocol of the stages."""
    protocol = given.protocol if isinstance(given, ProtocolVersion) else given
    if by is not None:
        rules.check_manage(by, benchmark)
    name = " ".join(name.split())[:120]
    if not name:
        raise BadValueError("Give the study a name.")
    if protocol.work == Work.STAGES:
        raise BadValueError("This protocol is for the three stages. Choose one of comparisons or judgments.")
    with transaction.atomic():
        version = given if isinstance(given, ProtocolVersion) else store_protocol(benchmark, protocol, by=by)
        if Study.objects.filter(benchmark=benchmark, name=name).exists():
            raise BadValueError(f"There is already a study named “{name}”.")
        study = Study.objects.create(benchmark=benchmark, name=name, version=version, seed=seed, created_by=by)
        Action(name="create-study", by=by, benchmark=benchmark, reason=f"{name} ({study.public_id})").write()
    return study


def import_items(study: Study, stream: BinaryIO, *, by: User | None) -> ImportReport:
    """Add the items of a file: all of them, or none if a line is bad. Raises FileError, NotAllowedError."""
    protocol = study.version.protocol
    read = list(read_items(stream, protocol))
    problems = [problem for row in read if isinstance(row, BadRow) for problem in row.problems]
    if problems:
        return ImportReport(problems=problems)
    return add_items(study, [row for row in read if isinstance(row, ItemRow)], by=by)


def add_items(study: Study, rows: Sequence[ItemRow], *, by: User | None, keep_ids: bool = False) -> ImportReport:
    """Add items to a study that hasn't started. An item whose id the study has already is reported as a problem.
    ``keep_ids``: the rows' public ids, where they have some, are kept. Raises NotAllowedError."""
    if by is not None:
        rules.check_manage(by, study.benchmark)
    protocol = study.version.protocol
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)
        check_not_started(study)
        there = set(study.items.values_list("external_id", flat=True))
        taken = [row for row in rows if row.external_id in there]
        if taken:
            reason = "An item with this id is in the study already."
            return ImportReport(problems=[Problem(row.line, "id", reason) for row in taken])
        drops = protocol.items.drop_identical
        ids = new_public_ids(len(rows))
        items = [
            StudyItem(
                public_id=(keep_ids and row.public_id) or ids[number],
                study=study,
                order=len(there) + number + 1,
                external_id=row.external_id,
                stratum=row.stratum,
                prompt=row.prompt,
                text=row.text,
                data=row.data,
                dropped=Dropped.IDENTICAL if drops and is_identical(_candidates(row)) else "",
            )
            for number, row in enumerate(rows)
        ]
        StudyItem.objects.bulk_create(items, batch_size=ROWS)
        _add_parts([(item, None, row.parts) for item, row in zip(items, rows, strict=True)], keep_ids=keep_ids)
        report = ImportReport(items=len(items), identical=sum(item.dropped != "" for item in items))
        reason = f"{study.name}: {report.items} items, {report.identical} with identical candidates"
        Action(name="import-study", by=by, benchmark=study.benchmark, reason=reason).write()
    return report


def _candidates(row: ItemRow) -> list[PartRow]:
    return [each for each in row.parts if each.kind == CANDIDATE]


def _add_parts(levels: list[tuple[StudyItem, StudyPart | None, list[PartRow]]], *, keep_ids: bool) -> None:
    """Level by level, so that a part has its primary key before those below it."""
    while levels:
        given = [
            (
                StudyPart(
                    item=item, parent=parent, kind=each.kind, order=number, source=each.source, text=each.text,
                    data=each.data,
                ),
                each,
            )
            for item, parent, parts in levels
            for number, each in enumerate(parts, start=1)
        ]  # fmt: skip
        for (part, row), public_id in zip(given, new_public_ids(len(given)), strict=True):
            part.public_id = (keep_ids and row.public_id) or public_id
        StudyPart.objects.bulk_create([part for part, _ in given], batch_size=ROWS)
        levels = [(part.item, part, row.parts) for part, row in given if row.parts]


# --- people ---------------------------------------------------------------------------------------


def raters_by_name(benchmark: Benchmark, names: Iterable[str]) -> list[User]:
    """Members who may label, in the order of the user names. Raises BadValueError for any other name."""
    members = Membership.objects.filter(benchmark=benchmark, active=True, role__in=LABEL_ROLES).select_related("user")
    known = {each.user.username: each.user for each in members}
    wanted = list(dict.fromkeys(names))
    missing = [name for name in wanted if name not in known]
    if missing:
        raise BadValueError(f"“{missing[0]}” isn’t a member of this benchmark who can label.")
    return [known[name] for name in wanted]


def start_study(study: Study, raters: Sequence[User], *, by: User | None) -> None:
    """Assign the items to the raters and freeze the protocol. The study's seed decides who gets which items and the
    order of candidates; both are stored.

    Raises BadValueError if there are too few people or items, NotAllowedError if the study has started.
    """
    if by is not None:
        rules.check_manage(by, study.benchmark)
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).select_related("version", "benchmark").get(pk=study.pk)
        check_not_started(study)
        items = list(study.items.filter(dropped="").order_by("order"))
        if not items:
            raise BadValueError("This study has no items to give out. Import some first.")
        protocol = study.version.protocol
        try:
            hands = deal(len(items), len(raters), protocol.sampling, seed=study.seed)
        except ValueError as refusal:
            raise BadValueError(str(refusal)) from None
        StudyRater.objects.bulk_create(
            StudyRater(study=study, person=person, number=number) for number, person in enumerate(raters, start=1)
        )
        _give(study, [(person, [items[each] for each in hand]) for person, hand in zip(raters, hands, strict=True)])
        freeze(study.version)
        study.started_at = timezone.now()
        study.save(update_fields=["started_at"])
        reason = f"{study.name}: {len(raters)} raters, {len(items)} items"
        Action(name="start-study", by=by, benchmark=study.benchmark, reason=reason).write()


def _give(study: Study, hands: list[tuple[User, list[StudyItem]]], round_: str = "rate") -> None:
    candidates: dict[int, list[int]] = {}
    rows = StudyPart.objects.filter(item__study=study, kind=CANDIDATE).order_by("item", "order", "id")
    for item_pk, pk in rows.values_list("item", "pk"):
        candidates.setdefault(item_pk, []).append(pk)
    found = [
        StudyAssignment(
            study=study,
            item=item,
            person=person,
            round=round_,
            position=position,
            arrangement=arranged(candidates.get(item.pk, []), number, seed=study.seed, item=item.order),
        )
        for number, (person, items) in enumerate(hands)
        for position, item in enumerate(items, start=1)
    ]
    for each, public_id in zip(found, _unordered_ids(len(found)), strict=True):
        each.public_id = public_id
    StudyAssignment.objects.bulk_create(found, batch_size=ROWS)


def _unordered_ids(count: int) -> list[str]:
    """Public ids in random order, so that they don't reveal who got an item first."""
    ids = new_public_ids(count)
    random.shuffle(ids)
    return ids


def open_round(study: Study, key: str, raters: Sequence[User], *, by: User | None) -> int:
    """Open a round after the rating: each item that the round is about, and that everyone has submitted, is assigned
    to one of the raters. Returns the number of items. Raises BadValueError if there are none."""
    if by is not None:
        rules.check_manage(by, study.benchmark)
    protocol = study.version.protocol
    declared = next((each for each in protocol.rounds if each.key == key), None)
    if declared is None:
        raise BadValueError(f"The protocol has no round “{key}”.")
    if not raters:
        raise BadValueError("Choose at least one person.")
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).select_related("version", "benchmark").get(pk=study.pk)
        taken = set(study.assignments.filter(round=key).values_list("item", flat=True))
        items = [item for item in items_of_round(study, declared) if item.pk not in taken]
        if not items:
            raise BadValueError("No item needs this round now.")
        first = study.assignments.filter(round=key).count()
        hands = [(person, items[number :: len(raters)]) for number, person in enumerate(raters)]
        StudyAssignment.objects.bulk_create(
            StudyAssignment(study=study, item=item, person=person, round=key, position=first + position)
            for person, hand in hands
            for position, item in enumerate(hand, start=1)
        )
        Action(
            name="open-round", by=by, benchmark=study.benchmark, reason=f"{study.name}: {key}, {len(items)} items"
        ).write()
    return len(items)
