"""Setting up a benchmark."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import transaction

from annotator import rules
from annotator.actions.fields import BadValueError
from annotator.actions.recorder import Action
from annotator.models import Benchmark, Corpus, Guidelines, Membership, User
from annotator.vocabulary import Role

DEFAULT_GUIDELINES = Path("fixtures") / "guidelines" / "default.md"


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

    Raises IntegrityError when the slug is taken.
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


def publish_guidelines(*, benchmark: Benchmark, text: str, by: User) -> Guidelines:
    """A new version of the guidelines, by an owner or admin. The same text again gives the version that is there.

    Raises NotAllowedError by the rules, BadValueError for a blank text.
    """
    text = text.replace("\r\n", "\n").replace("\x00", "").strip() + "\n"
    if not text.strip():
        raise BadValueError("The guidelines are blank: write at least what a claim is.")
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        Benchmark.objects.select_for_update().get(pk=benchmark.pk)  # one version after another
        newest = Guidelines.objects.filter(benchmark=benchmark).order_by("-number").first()
        if newest is not None and newest.text.strip() == text.strip():
            return newest
        number = newest.number + 1 if newest else 1
        version = Guidelines.objects.create(benchmark=benchmark, number=number, text=text, created_by=by)
        Action(name="publish-guidelines", by=by, benchmark=benchmark, reason=f"version {number}").write()
    return version
