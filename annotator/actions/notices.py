"""Telling people what happened."""

from __future__ import annotations

from collections.abc import Iterable

from annotator.models import Benchmark, Document, Notice, User
from annotator.vocabulary import NoticeKind


def tell(
    people: Iterable[User],
    kind: NoticeKind,
    text: str,
    *,
    benchmark: Benchmark | None = None,
    document: Document | None = None,
    stage: str = "",
    by: User | None = None,
) -> None:
    """One notice for each active person but ``by`` themselves. Inside the caller's transaction."""
    for person in {each.pk: each for each in people if each.is_active and each != by}.values():
        Notice.objects.create(to=person, kind=kind, text=text, benchmark=benchmark, document=document, stage=stage)
