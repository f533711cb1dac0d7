"""Passage indexes in files: built once for all processes, and read by them through the operating system's cache."""

from __future__ import annotations

import fcntl
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from django.conf import settings

from annotator.core.models import Corpus, CorpusPage
from pipeline.retrieval.corpus_ranking import INDEX_FORMAT, PassageIndex
from pipeline.suggestions import Page

logger = logging.getLogger(__name__)

_LOCK = "lock"


def index_of_revision(corpus_id: int, revision: int) -> PassageIndex:
    """The index of a corpus, in the installation's folder. Raises OSError if that cannot be written to."""

    def pages() -> Iterator[Page]:
        for page in CorpusPage.objects.filter(corpus_id=corpus_id).order_by("pk").iterator(chunk_size=500):
            yield Page(url=page.url, title=page.title, text=page.text, site=page.site, published=page.published)

    folder = settings.VAR_DIR / "indexes" / f"corpus-{corpus_id}"
    return saved_index(folder, _content_key(corpus_id, revision), pages)


def _content_key(corpus_id: int, revision: int) -> str:
    """Identifies a corpus's content, because its number can mean another corpus after a restore."""
    created = Corpus.objects.values_list("created_at", flat=True).get(pk=corpus_id)
    pages = CorpusPage.objects.filter(corpus_id=corpus_id)
    newest = pages.order_by("-pk").values_list("pk", "content_hash").first()
    return sha256(f"{INDEX_FORMAT} {created} {revision} {pages.count()} {newest}".encode()).hexdigest()[:32]


def saved_index(folder: Path, key: str, pages: Callable[[], Iterable[Page]]) -> PassageIndex:
    """The index of a corpus in its folder, built from ``pages`` if what lies there is not what ``key`` names, or is
    damaged.

    Other threads and processes wait until it is written. Indexes under other keys are removed; a process that reads
    one goes on, for its files live as long as they are open. Raises OSError if the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        place = folder / key
        if place.exists():
            try:
                return PassageIndex.open(place)
            except (OSError, ValueError) as error:
                logger.warning("The index in %s is built anew: %s", place, error)
        for old in folder.iterdir():
            if old.name != _LOCK:
                shutil.rmtree(old, ignore_errors=True)
        unfinished = Path(tempfile.mkdtemp(dir=folder, prefix="unfinished-"))
        PassageIndex.write(pages(), unfinished)
        unfinished.rename(place)
        return PassageIndex.open(place)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, which goes with the process that holds it."""
    with (folder / _LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
