"""Creating a benchmark and changing its protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, Corpus, Guidelines, Membership, User
from annotator.core.vocabulary import Role, TwoStep

DEFAULT_GUIDELINES = Path("fixtures") / "guidelines" / "default.md"
MAX_PEOPLE = 9  # per document
MAX_PRACTICE = 50  # documents per new annotator


def create_benchmark(
    *,
    slug: str,
    name: str,
    by: User | None = None,
    strategy: str = "offline",
    corpus: Corpus | None = None,
    overlap: int = 1,
) -> Benchmark:
    """A new benchmark with the default guidelines as their first version; ``by`` becomes its owner.

    Raises IntegrityError if the slug is taken.
    """
    with transaction.atomic():
        benchmark = Benchmark.objects.create(slug=slug, name=name, strategy=strategy, corpus=corpus, overlap=overlap)
        default = Path(settings.BASE_DIR) / DEFAULT_GUIDELINES
        if default.is_file():
            Guidelines.objects.create(
                benchmark=benchmark, number=1, text=default.read_text(encoding="utf-8"), created_by=by
            )
        if by is not None:
            Membership.objects.create(benchmark=benchmark, user=by, role=Role.OWNER)
        Action(name="create-benchmark", by=by, benchmark=benchmark, reason=f"{name} ({slug})").write()
    return benchmark


def change_protocol(
    benchmark: Benchmark,
    *,
    overlap: int,
    third_rater_at_verify: bool,
    practice_documents: int,
    practice_from: Benchmark | None = None,
    by: User,
) -> None:
    """Change how the benchmark works: people per document (Factcheck-Bench section 3.2 asks for two), whether an
    adjudicator signs off every verify stage, how many gold documents a new annotator practices on, and of which
    benchmark (None: its own).

    Raises NotAllowedError for anyone but owners, for a new overlap once a document has been started, and for gold that
    the person can't export; BadValueError for numbers out of range.
    """
    if not 1 <= overlap <= MAX_PEOPLE:
        raise BadValueError(f"A document can have between 1 and {MAX_PEOPLE} annotators.")
    if not 0 <= practice_documents <= MAX_PRACTICE:
        raise BadValueError(f"A new annotator can practice on at most {MAX_PRACTICE} documents. 0 turns practice off.")
    new: dict[str, Any] = {
        "overlap": overlap,
        "third_rater_at_verify": third_rater_at_verify,
        "practice_documents": practice_documents,
        "practice_from": None if practice_from == benchmark else practice_from,
    }
    with transaction.atomic():
        rules.check_change_protocol(by, benchmark)
        benchmark = lock_benchmark(benchmark.pk)
        if overlap != benchmark.overlap:
            rules.check_change_overlap(benchmark)
        if new["practice_from"] not in (None, benchmark.practice_from):
            rules.check_export(by, new["practice_from"])
        action = Action(name="change-protocol", by=by, benchmark=benchmark)
        for name, value in new.items():
            before = getattr(benchmark, name)
            if before != value:
                record = f"benchmark:{benchmark.public_id}"
                shown = [each.slug if isinstance(each, Benchmark) else each for each in (before, value)]
                action.changes.append({"record": record, "field": name, "before": shown[0], "after": shown[1]})
                setattr(benchmark, name, value)
        benchmark.save(update_fields=list(new))
        action.write()


def change_two_step(benchmark: Benchmark, *, two_step: TwoStep, by: User) -> None:
    """Whom the benchmark asks for a second step at sign-in. Raises NotAllowedError for anyone but owners, and
    BadValueError for an owner who would lock themselves out."""
    with transaction.atomic():
        rules.check_change_protocol(by, benchmark)
        benchmark = lock_benchmark(benchmark.pk)
        before = benchmark.two_step
        if before == two_step:
            return
        if two_step != TwoStep.NOBODY and not rules.has_second_step(by):
            raise BadValueError("Set up two-step sign-in for your own account first.")
        benchmark.two_step = two_step
        benchmark.save(update_fields=["two_step"])
        action = Action(name="change-two-step", by=by, benchmark=benchmark, reason=two_step.label)
        record = f"benchmark:{benchmark.public_id}"
        action.changes.append({"record": record, "field": "two_step", "before": before, "after": str(two_step)})
        action.write()
