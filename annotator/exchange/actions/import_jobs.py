"""Imports uploaded files in the background and then requests suggestions.

The rows are authoritative; the queue only carries ids (ADR 0005). An interrupted import starts over from the beginning
of its file: rows already imported count as unchanged, so nothing is imported twice.
"""

from __future__ import annotations

import datetime as dt
import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.announce import announce
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.recorder import Action
from annotator.core.file_problems import FileError
from annotator.core.models import Benchmark, Corpus, User
from annotator.core.models.base import new_public_id
from annotator.core.vocabulary import OPEN_STATES, RunState, WebhookEvent
from annotator.exchange.actions.corpora import import_corpus
from annotator.exchange.actions.import_native import import_native
from annotator.exchange.actions.imports import ImportReport, import_documents, import_gold
from annotator.exchange.formats.bad_rows import bad_rows
from annotator.exchange.formats.documents import detect
from annotator.exchange.formats.gold_readers import GOLD_READERS
from annotator.exchange.models import ImportJob
from annotator.exchange.native import touchstone
from annotator.suggestions.actions.get_suggestions import prefill_after_import
from annotator.suggestions.queries.runs import documents_to_prefill

logger = logging.getLogger(__name__)

RUN_IMPORT = "annotator.run_import"

# A worker writes a heartbeat after each batch, which takes a second or two. After this long without one, it is lost.
LOST_AFTER = dt.timedelta(seconds=60)
# Uploads that were previewed but never imported are deleted after this time.
FORGOTTEN_AFTER = dt.timedelta(days=1)

# The rows with errors of an import can be downloaded this long.
BAD_ROWS_KEPT = dt.timedelta(days=7)

# The format of pages for a corpus; ``mapping`` then names the corpus.
CORPUS = "corpus"

REMARKS_KEPT = 10
_FOLDER = "imports"


class ImportCancelledError(Exception):
    """Someone canceled the import while it was running."""


# --- files ----------------------------------------------------------------------------------------


def keep_upload(upload: UploadedFile) -> str:
    """Store an uploaded file below MEDIA_ROOT, which is never served. Returns its name in the storage."""
    _forget_uploads()
    suffix = Path(upload.name or "").suffix.lower()[:12]
    return str(default_storage.save(f"{_FOLDER}/{new_public_id()}{suffix}", upload))


def _forget_uploads() -> None:
    """Delete uploads that no import refers to and nobody returned to, and rows with errors after BAD_ROWS_KEPT."""
    if not default_storage.exists(_FOLDER):
        return
    _, names = default_storage.listdir(_FOLDER)
    stored = [f"{_FOLDER}/{name}" for name in names]
    kept_since = timezone.now() - BAD_ROWS_KEPT
    ImportJob.objects.exclude(bad_rows="").filter(finished_at__lt=kept_since).update(bad_rows="")
    pairs = ImportJob.objects.exclude(file="", bad_rows="").values_list("file", "bad_rows")
    wanted = {name for pair in pairs for name in pair}
    for name in stored:
        if name not in wanted and default_storage.get_modified_time(name) < timezone.now() - FORGOTTEN_AFTER:
            default_storage.delete(name)


# --- imports --------------------------------------------------------------------------------------


def start_import(
    *,
    benchmark: Benchmark,
    by: User,
    file: str,
    filename: str,
    format: str,
    mapping: Mapping[str, str] | None = None,
    strict: bool = False,
) -> ImportJob:
    """Record that an upload is to be imported, and enqueue it on commit.

    ``format`` is a format of ``import_documents`` or ``import_gold``, the native one, or CORPUS. Raises NotAllowedError
    by the rules.
    """
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        if format == touchstone.NAME:
            rules.check_change_protocol(by, benchmark)  # the file contains one
        job = ImportJob.objects.create(
            benchmark=benchmark,
            by=by,
            file=file,
            filename=filename[:255],
            format=format,
            mapping=dict(mapping or {}),
            strict=strict,
        )
        Action(name="start-import", by=by, benchmark=benchmark, reason=f"{job.filename} as {format}").write()
        after_commit(RUN_IMPORT, job.pk)
    return job


def cancel_import(job: ImportJob, *, by: User) -> None:
    """Stop an import after the current batch. Imported rows stay."""
    with transaction.atomic():
        rules.check_manage(by, job.benchmark)
        stopped = ImportJob.objects.filter(pk=job.pk, state__in=OPEN_STATES).update(
            state=RunState.CANCELLED, finished_at=timezone.now()
        )
        if stopped:
            Action(name="cancel-import", by=by, benchmark=job.benchmark, reason=job.filename).write()
            _announce(job)


def claim_job(job_id: int) -> ImportJob | None:
    """Claim an import for this worker with one conditional update; None if it is finished or another worker has it."""
    now = timezone.now()
    taken = ImportJob.objects.filter(
        Q(state=RunState.QUEUED) | Q(state=RunState.RUNNING, seen_at__lt=now - LOST_AFTER), pk=job_id
    ).update(state=RunState.RUNNING, started_at=now, seen_at=now, share=0.0)
    if not taken:
        return None
    return ImportJob.objects.select_related("benchmark", "by").get(pk=job_id)


def run_import(job_id: int) -> None:
    """Run an import. Errors are stored with the job, for the person who started it."""
    job = claim_job(job_id)
    if job is None:
        return
    try:
        with Path(job.file.path).open("rb") as stream:
            report = _import(job, _ImportProgress(job, stream), stream)
            _keep_bad_rows(job, report, stream)
    except ImportCancelledError:
        _prefill_new(job)
        job.file.delete(save=False)
        ImportJob.objects.filter(pk=job.pk).update(file="")
    except FileError as error:
        _finish(job, RunState.FAILED, message=str(error))
    except FileNotFoundError:
        _finish(job, RunState.FAILED, message="The uploaded file no longer exists. Upload it again.")
    except Exception:
        logger.exception("Import %s of %s failed", job.public_id, job.filename)
        _finish(
            job,
            RunState.FAILED,
            message="An unexpected error stopped the import; the details are in the server’s log. What was imported is "
            "kept. Import the file again to continue.",
        )
    else:
        _prefill_new(job)
        if report.bad and not report.written:
            _finish(
                job,
                RunState.FAILED,
                message="Nothing was imported because some rows have errors and you chose all or nothing. "
                "Correct them and import "
                "the file again, or import the good rows alone.",
            )
        elif report.bad and report.bad == report.read:
            _finish(
                job, RunState.FAILED, message="Nothing was imported: every row has errors. Is this the right format?"
            )
        else:
            _finish(job, RunState.FINISHED, message=" ".join(report.remarks()[:REMARKS_KEPT]))


def _import(job: ImportJob, progress: _ImportProgress, stream: BinaryIO) -> ImportReport:
    if job.format == CORPUS:
        corpus = Corpus.objects.filter(slug=job.mapping["corpus"]).first()
        if corpus is None:
            raise FileError("The corpus no longer exists.")
        return import_corpus(corpus=corpus, path=stream, filename=job.filename, by=job.by, on_progress=progress)
    if job.format == touchstone.NAME:
        return import_native(
            benchmark=job.benchmark,
            source=stream,
            filename=job.filename,
            by=job.by,
            strict=job.strict,
            on_progress=progress,
        )
    if job.format in GOLD_READERS:
        return import_gold(
            benchmark=job.benchmark,
            source=stream,
            format=job.format,
            filename=job.filename,
            by=job.by,
            strict=job.strict,
            on_progress=progress,
        )
    return import_documents(
        benchmark=job.benchmark,
        source=stream,
        format=job.format,
        filename=job.filename,
        by=job.by,
        strict=job.strict,
        mapping=job.mapping or None,
        on_progress=progress,
    )


class _ImportProgress:
    """Writes an import's progress into its row after each batch. Raises CancelledError if it was canceled.

    The number of rows is unknown before the end, so the progress is the share of bytes read. A strict import reads the
    file twice; the first pass, which only checks, counts as the first half.
    """

    def __init__(self, job: ImportJob, stream: BinaryIO) -> None:
        self.job = job
        self.stream = stream
        self.size = max(job.file.size, 1)
        self.passes = 2 if job.strict else 1
        self.done = 0
        self.position = 0

    def __call__(self, report: ImportReport) -> None:
        position = self.stream.tell()
        if position < self.position:
            self.done += 1
        self.position = position
        here = ImportJob.objects.filter(pk=self.job.pk, state=RunState.RUNNING).update(
            read=report.read,
            imported=report.imported if report.written else 0,
            unchanged=report.unchanged,
            bad=report.bad,
            problems=[problem.as_dict() for problem in report.problems],
            share=min((self.done + position / self.size) / self.passes, 1.0),
            seen_at=timezone.now(),
        )
        if not here:
            raise ImportCancelledError


def _keep_bad_rows(job: ImportJob, report: ImportReport, stream: BinaryIO) -> None:
    """Store the rows with errors in a file of their own: a person corrects and imports these alone."""
    if not report.bad_lines:
        return
    format = detect(stream, job.filename) if job.format == "auto" else job.format
    with tempfile.TemporaryFile() as file:
        for raw in bad_rows(stream, format=format, lines=report.bad_lines):
            file.write(raw)
        if not file.tell():
            return
        file.seek(0)
        job.bad_rows.save(f"{new_public_id()}{Path(job.filename).suffix.lower()[:12]}", File(file), save=False)
    ImportJob.objects.filter(pk=job.pk).update(bad_rows=job.bad_rows.name)


def _finish(job: ImportJob, state: RunState, *, message: str = "") -> None:
    """Record how an import ended. The uploaded copy is no longer needed; the person still has the original."""
    if job.file:
        job.file.delete(save=False)
    with transaction.atomic():
        ImportJob.objects.filter(pk=job.pk).update(
            state=state, message=message, share=1.0, finished_at=timezone.now(), file=""
        )
        _announce(job)


def _announce(job: ImportJob) -> None:
    """Tell webhooks how an import ended."""
    job.refresh_from_db(fields=["state", "read", "imported", "unchanged", "bad"])
    about = {
        "import": job.public_id,
        "filename": job.filename,
        "format": job.format,
        "state": job.state,
        "read": job.read,
        "imported": job.imported,
        "unchanged": job.unchanged,
        "bad": job.bad,
    }
    announce(job.benchmark, WebhookEvent.IMPORT_FINISHED, about)


def resume_imports(*, alone: bool = False) -> tuple[list[int], list[int]]:
    """Unfinished imports: those to start or restart, and those that another worker may still have.

    ``alone``: there is no other worker, so running imports were lost with the last one.
    """
    if alone:
        ImportJob.objects.filter(state=RunState.RUNNING).update(state=RunState.QUEUED)
    silent = timezone.now() - LOST_AFTER
    rows = list(ImportJob.objects.filter(state__in=OPEN_STATES).values_list("pk", "state", "seen_at"))
    begin = [pk for pk, state, seen in rows if state == RunState.QUEUED or seen is None or seen < silent]
    return begin, [pk for pk, _, _ in rows if pk not in begin]


# --- suggestions ----------------------------------------------------------------------------------


def _prefill_new(job: ImportJob) -> None:
    """Requests suggestions for everything an import added, including before an interruption."""
    if job.format in GOLD_READERS or job.format in (touchstone.NAME, CORPUS):
        return
    new = documents_to_prefill(job.benchmark, since=job.created_at).values_list("pk", flat=True)
    prefill_after_import(benchmark=job.benchmark, ids=list(new), by=job.by)
