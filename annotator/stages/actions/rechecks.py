"""Rechecking saved pages, and reopening the verdicts whose pages have changed.

A worker requests the pages (``pipeline.runs.rechecks``). The rows say what is left to do, so an interrupted recheck
continues where it stopped.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import groupby

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotator.core import rules
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark, lock_document
from annotator.core.actions.recorder import Action, for_annotation
from annotator.core.models import Annotation, Benchmark, PageCheck, Recheck, Stance, User, Verdict
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Stage
from annotator.stages.actions.documents import reopen
from annotator.stages.queries.saved_pages import ConcernedVerdict, concerned_verdicts, pages_of

RECHECK = "pipeline.recheck_pages"
LOST_AFTER = dt.timedelta(minutes=3)
ROWS_AT_ONCE = 500


def start_recheck(benchmark: Benchmark, *, by: User | None, here: bool = False) -> Recheck:
    """Start a recheck of all saved pages of a benchmark; ``here``: the caller runs it. ``by=None`` is the command line.
    Raises NotAllowedError by the rules, BadValueError if there is nothing to check or a recheck is running."""
    with transaction.atomic():
        if by is not None:
            rules.check_manage(by, benchmark)
        lock_benchmark(benchmark.pk)
        if not settings.PAGES:
            raise BadValueError("Fetching pages is turned off on this installation: set PAGES=1.")
        if benchmark.rechecks.filter(finished_at__isnull=True).exists():
            raise BadValueError("The pages are being checked already. Wait until that is complete, or cancel it.")
        keys = list(pages_of(benchmark).values_list("pk", flat=True))
        if not keys:
            raise BadValueError(
                "No page has been saved for the evidence of this benchmark, so there is nothing to check."
            )
        recheck = Recheck.objects.create(benchmark=benchmark, by=by)
        rows = (PageCheck(recheck=recheck, snapshot_id=key) for key in keys)
        PageCheck.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE)
        Action(name="start-recheck", by=by, benchmark=benchmark, reason=f"{len(keys):,} pages").write()
        if not here:
            after_commit(RECHECK, recheck.pk)
    return recheck


def cancel_recheck(recheck: Recheck, *, by: User) -> None:
    """Cancel a recheck; its results so far are kept."""
    with transaction.atomic():
        rules.check_manage(by, recheck.benchmark)
        if Recheck.objects.filter(pk=recheck.pk, finished_at__isnull=True).update(finished_at=timezone.now()):
            Action(name="cancel-recheck", by=by, benchmark=recheck.benchmark).write()


def unfinished() -> list[int]:
    """Rechecks that no worker is working on: new or interrupted ones."""
    silent = timezone.now() - LOST_AFTER
    free = Q(seen_at__isnull=True) | Q(seen_at__lt=silent)
    return list(Recheck.objects.filter(free, finished_at__isnull=True).order_by("pk").values_list("pk", flat=True))


# --- reopening ------------------------------------------------------------------------------------


def reopen_verdicts(recheck: Recheck, *, only_gone: bool, by: User) -> int:
    """Reopen exactly the verdicts that the recheck affects, in one transaction per document. ``only_gone``: not those
    whose passages are still in the changed page. Returns how many.

    Verify (and revise) of their documents reopen; every other verdict stays as decided.
    """
    rules.check_manage(by, recheck.benchmark)
    rows = [row for row in concerned_verdicts(recheck) if not (only_gone and row.still_there)]
    if not rows:
        raise BadValueError("No verdicts are affected anymore.")
    for document_id, of_document in groupby(rows, key=lambda row: row.verdict.annotation.document_id):
        with transaction.atomic():
            _reopen_in(document_id, list(of_document), by)
    return len({row.verdict.pk for row in rows})


def _reopen_in(document_id: int, rows: Sequence[ConcernedVerdict], by: User) -> None:
    document = lock_document(document_id)
    what = "; ".join(dict.fromkeys(f"{row.check.snapshot.url}: {row.outcome.label.lower()}" for row in rows))
    reopen(document, Stage.VERIFY, f"evidence used is no longer what it was. {what}"[:500], by=by)
    claims = {row.verdict.claim_id for row in rows}
    pages = {row.evidence.snapshot_id for row in rows}
    # People start from the open adjudicated version, so it is cleared along with their own work.
    open_work = Annotation.objects.filter(document=document, stage=Stage.VERIFY).filter(
        Q(kind=AnnotationKind.INDIVIDUAL) | Q(state=AnnotationState.OPEN)
    )
    for annotation in open_work.select_related("document__benchmark"):
        action = for_annotation("page-changed", annotation, by=None, reason="A page of its evidence has changed.")
        for verdict in Verdict.objects.filter(annotation=annotation, claim__in=claims).select_related("claim"):
            action.set(
                verdict,
                factuality="",
                factuality_origin="",
                evidence_sufficient=None,
                evidence_sufficient_origin="",
                operations=[],
                rests_on=[],
            )
        of_pages = Stance.objects.filter(annotation=annotation, evidence__claim__in=claims)
        for stance in of_pages.filter(evidence__snapshot__in=pages).select_related("evidence"):
            action.set(stance, label="", label_origin="")
        action.write()
