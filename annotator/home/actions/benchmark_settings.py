"""The settings of a benchmark, and its end: archive, copy without documents, delete."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.actions.small_steps import in_small_steps
from annotator.core.models import (
    Activity,
    Benchmark,
    Corpus,
    Document,
    Guidelines,
    Membership,
    PipelineRun,
    PromptVersion,
    User,
)
from annotator.core.vocabulary import OPEN_STATES, Role
from annotator.exchange.models import Release

DELETE_BENCHMARK = "annotator.delete_benchmark"
MAX_NAME, MAX_DESCRIPTION = 200, 4000
# What a copy keeps, including people per document and everything else in the protocol.
COPIED = (
    "description", "overlap", "third_rater_at_verify", "practice_documents", "asks_reliable", "asks_sufficient",
    "strategy", "parameters", "budget_tokens", "budget_money", "learns", "corpus",
)  # fmt: skip


def change_settings(
    benchmark: Benchmark,
    *,
    name: str,
    description: str,
    corpus: Corpus | None,
    asks_reliable: bool,
    asks_sufficient: bool,
    learns: bool,
    by: User,
) -> None:
    """Change what an owner or admin can decide about a benchmark. Each change is recorded. The address never changes.

    Raises NotAllowedError by the rules, BadValueError if the name is blank or too long.
    """
    new: dict[str, object] = {
        "name": _clean_name(name),
        "description": description.replace("\x00", "").strip()[:MAX_DESCRIPTION],
        "asks_reliable": asks_reliable,
        "asks_sufficient": asks_sufficient,
        "learns": learns,
        "corpus_id": corpus.pk if corpus else None,
    }
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        benchmark = lock_benchmark(benchmark.pk)
        action = Action(name="change-settings", by=by, benchmark=benchmark)
        for field, value in new.items():
            before = getattr(benchmark, field)
            if before != value:
                record = f"benchmark:{benchmark.public_id}"
                action.changes.append({"record": record, "field": field, "before": before, "after": value})
                setattr(benchmark, field, value)
        benchmark.save(update_fields=list(new))
        action.write()


def _clean_name(name: str) -> str:
    name = " ".join(name.replace("\x00", "").split())
    if not name or len(name) > MAX_NAME:
        raise BadValueError(f"A benchmark needs a name of up to {MAX_NAME} characters.")
    return name


def archive(benchmark: Benchmark, *, by: User) -> None:
    """Archive a benchmark: no new work is assigned. Everything can still be read and exported."""
    _set_archived(benchmark, by=by, archived=True)


def take_out_of_archive(benchmark: Benchmark, *, by: User) -> None:
    """Reopen an archived benchmark; work continues where it stopped."""
    _set_archived(benchmark, by=by, archived=False)


def _set_archived(benchmark: Benchmark, *, by: User, archived: bool) -> None:
    with transaction.atomic():
        rules.check_own(by, benchmark)
        changed = Benchmark.objects.filter(pk=benchmark.pk, archived_at__isnull=archived).update(
            archived_at=timezone.now() if archived else None
        )
        if changed:
            name = "archive-benchmark" if archived else "unarchive-benchmark"
            Action(name=name, by=by, benchmark=benchmark, reason=benchmark.name).write()


def copy_benchmark(benchmark: Benchmark, *, slug: str, name: str, with_team: bool, by: User) -> Benchmark:
    """Create a benchmark with the same settings, the newest guidelines and prompts and, if wanted, the same members.
    Documents, work and services are not copied (the keys of services belong to this benchmark). ``by`` owns the copy.

    Raises NotAllowedError by the rules, IntegrityError if the slug is taken.
    """
    rules.check_manage(by, benchmark)
    rules.check_create_benchmark(by)
    with transaction.atomic():
        settings = {field: getattr(benchmark, field) for field in COPIED}
        practice_from = benchmark.practice_from or benchmark  # the copy has no gold of its own yet
        if rules.can_export(by, practice_from):
            settings["practice_from"] = practice_from
        copy = Benchmark.objects.create(slug=slug, name=_clean_name(name), **settings)
        newest = benchmark.guidelines.order_by("-number").first()
        if newest is not None:
            Guidelines.objects.create(benchmark=copy, number=1, text=newest.text, created_by=by)
        wordings = {row.name: row for row in benchmark.prompts.order_by("name", "number")}
        PromptVersion.objects.bulk_create(
            PromptVersion(benchmark=copy, name=row.name, number=1, text=row.text, created_by=by)
            for row in wordings.values()
            if row.text
        )
        Membership.objects.create(benchmark=copy, user=by, role=Role.OWNER)
        if with_team:
            members = benchmark.memberships.filter(active=True).exclude(user=by)
            Membership.objects.bulk_create(
                Membership(benchmark=copy, user_id=row.user_id, role=row.role) for row in members
            )
        Action(name="create-benchmark", by=by, benchmark=copy, reason=f"a copy of {benchmark.slug}").write()
    return copy


def delete_benchmark(benchmark: Benchmark, *, typed: str, by: User) -> None:
    """Delete a benchmark with all its documents and work, permanently. Its members stop seeing it at once; a worker
    deletes the rows in small steps.

    Raises NotAllowedError for anyone but owners, BadValueError if ``typed`` isn't its name, if it has releases (others
    may cite them), or while it has unfinished runs.
    """
    with transaction.atomic():
        rules.check_own(by, benchmark)
        benchmark = lock_benchmark(benchmark.pk)
        if typed.strip() != benchmark.name:
            raise BadValueError(f"Type the name exactly as it is: {benchmark.name}")
        if Release.objects.filter(benchmark=benchmark).exists():
            raise BadValueError("This benchmark has releases, which others may cite. Archive it instead.")
        if PipelineRun.objects.filter(benchmark=benchmark, state__in=OPEN_STATES).exists():
            raise BadValueError("Runs of this benchmark are under way. Cancel them first.")
        number = benchmark.documents.count()
        # Belongs to no benchmark, so that this row survives.
        Action(
            name="delete-benchmark", by=by, reason=f"{benchmark.name} ({benchmark.slug}), {number:,} documents"
        ).write()
        Membership.objects.filter(benchmark=benchmark).update(active=False)
        Benchmark.objects.filter(pk=benchmark.pk).update(deleting_at=timezone.now())
        after_commit(DELETE_BENCHMARK, benchmark.pk)


def delete_rows(benchmark_id: int) -> None:
    """The worker's part: delete the documents and everything that belongs to them in small steps, then other large
    tables, then the benchmark itself. Does nothing to a benchmark that isn't marked for deletion. Can be called again
    at any time."""
    benchmark = Benchmark.objects.filter(pk=benchmark_id, deleting_at__isnull=False).first()
    if benchmark is None:
        return
    for job in benchmark.imports.exclude(file="", bad_rows=""):
        job.file.delete(save=False)
        job.bad_rows.delete(save=False)
    for copies in (True, False):  # copies of gold first: each points to its gold
        rows = benchmark.documents.filter(twin_of__isnull=not copies).order_by("pk")
        in_small_steps(list(rows.values_list("pk", flat=True)), _delete_documents)
    activities = list(Activity.objects.filter(benchmark=benchmark).order_by("pk").values_list("pk", flat=True))
    in_small_steps(activities, _forget_benchmark)
    with transaction.atomic():
        benchmark.delete()


def _delete_documents(keys: Sequence[int]) -> None:
    with transaction.atomic():
        Document.objects.filter(pk__in=keys).delete()


def _forget_benchmark(keys: Sequence[int]) -> None:
    """The history survives, without a benchmark."""
    with transaction.atomic():
        Activity.objects.filter(pk__in=keys).update(benchmark=None)


def being_deleted() -> list[int]:
    """Benchmarks whose deletion hasn't started or was interrupted."""
    return list(Benchmark.objects.filter(deleting_at__isnull=False).order_by("pk").values_list("pk", flat=True))
