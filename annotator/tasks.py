"""The annotator's Celery tasks: thin, named, ids in. What they do is in the actions of each area."""

from __future__ import annotations

from celery import shared_task

from annotator.core.actions import notices, search_entries
from annotator.exchange.actions import import_jobs, making_releases, releases
from annotator.home.actions import benchmark_settings, document_changes
from annotator.leaderboard.actions import evaluations, scoring_jobs
from annotator.team.actions import batch_changes, retention, team


@shared_task(name=import_jobs.RUN_IMPORT)
def run_import(job_id: int) -> None:
    """Work an uploaded file off."""
    import_jobs.run_import(job_id)


@shared_task(name="annotator.resume_imports")
def resume_imports(alone: bool = False) -> int:
    """Pick up every unfinished import: called when a worker starts, and now and then. Returns how many.

    ``alone``: there is no other worker, so what is marked as running was lost with the last one.
    """
    begin, perhaps_lost = import_jobs.resume_imports(alone=alone)
    for job_id in begin:
        run_import.delay(job_id)
    for job_id in perhaps_lost:
        # If its worker lives, the import is over or claimed by then, and this does nothing.
        run_import.apply_async((job_id,), countdown=import_jobs.LOST_AFTER.total_seconds() + 5)
    return len(begin) + len(perhaps_lost)


@shared_task(name=releases.MAKE_RELEASE)
def make_release(release_id: int) -> None:
    """Make a release that was asked for."""
    making_releases.make_release(release_id)


@shared_task(name="annotator.resume_releases")
def resume_releases(alone: bool = False) -> int:
    """Pick up every release in the making; as ``resume_imports``."""
    begin, perhaps_lost = making_releases.resume_releases(alone=alone)
    for release_id in begin:
        make_release.delay(release_id)
    for release_id in perhaps_lost:
        make_release.apply_async((release_id,), countdown=making_releases.LOST_AFTER.total_seconds() + 5)
    return len(begin) + len(perhaps_lost)


@shared_task(name=evaluations.SCORE)
def score_evaluation(evaluation_id: int) -> None:
    """Score a large upload."""
    scoring_jobs.score_evaluation(evaluation_id)


@shared_task(name="annotator.resume_scoring")
def resume_scoring(alone: bool = False) -> int:
    """Pick up every upload that waits to be scored; as ``resume_imports``."""
    begin, perhaps_lost = scoring_jobs.resume_scoring(alone=alone)
    for evaluation_id in begin:
        score_evaluation.delay(evaluation_id)
    for evaluation_id in perhaps_lost:
        score_evaluation.apply_async((evaluation_id,), countdown=scoring_jobs.LOST_AFTER.total_seconds() + 5)
    return len(begin) + len(perhaps_lost)


@shared_task(name=batch_changes.CHANGE_BATCH)
def change_batch(change_id: int) -> None:
    """Work off the change of a large batch."""
    batch_changes.work_off(change_id)


@shared_task(name="annotator.resume_batch_changes")
def resume_batch_changes() -> int:
    """Go on with changes of batches that no worker is at: called now and then. Returns how many."""
    ids = batch_changes.unfinished()
    for change_id in ids:
        change_batch.delay(change_id)
    return len(ids)


@shared_task(name=document_changes.CHANGE_DOCUMENTS)
def change_documents(change_id: int) -> None:
    """Work off a change of many documents."""
    document_changes.work_off(change_id)


@shared_task(name="annotator.resume_document_changes")
def resume_document_changes() -> int:
    """Go on with changes of many documents that no worker is at: called now and then. Returns how many."""
    ids = document_changes.unfinished()
    for change_id in ids:
        change_documents.delay(change_id)
    return len(ids)


@shared_task(name=benchmark_settings.DELETE_BENCHMARK)
def delete_benchmark(benchmark_id: int) -> None:
    """Delete the rows of a benchmark that its owner has deleted."""
    benchmark_settings.delete_rows(benchmark_id)


@shared_task(name="annotator.resume_deletions")
def resume_deletions() -> int:
    """Go on with deletions that were cut off: called now and then. Returns how many."""
    ids = benchmark_settings.being_deleted()
    for benchmark_id in ids:
        delete_benchmark.delay(benchmark_id)
    return len(ids)


@shared_task(name=search_entries.INDEX_DOCUMENTS)
def index_documents() -> int:
    """Bring the search index of documents up to date: called now and then, and after imports. Returns how many."""
    return search_entries.index_outdated()


# A mail server that is busy or down for a moment (its errors are OSErrors) is asked again.
@shared_task(name=team.MAIL_INVITATION, autoretry_for=(OSError,), retry_backoff=60, max_retries=5)
def mail_invitation(invitation_id: int, site: str) -> None:
    """Mail an invitation whose link begins with ``site``."""
    team.mail_invitation(invitation_id, site)


@shared_task(name=notices.MAIL_NOTICES, autoretry_for=(OSError,), retry_backoff=60, max_retries=5)
def mail_notices(person_id: int) -> None:
    """Mail a person what they have not read, in one mail."""
    notices.mail_notices(person_id)


@shared_task(name="annotator.mail_what_was_left")
def mail_what_was_left() -> None:
    """Order the mails that got lost on the way: called now and then."""
    for person_id in notices.left_behind():
        mail_notices.delay(person_id)


@shared_task(name="annotator.forget_what_is_old")
def forget_what_is_old() -> dict[str, int]:
    """Delete what is kept for a time only: called once a day. Returns how many of each."""
    return retention.forget_what_is_old()
