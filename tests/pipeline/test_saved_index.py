"""The index of a corpus in files: built once for all, anew for another content, and never half."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.utils import timezone

from annotator.core.models import Corpus, CorpusPage
from pipeline.retrieval.corpus_ranking import PassageIndex
from pipeline.runs import saved_index as saving
from pipeline.runs import services
from pipeline.runs.saved_index import saved_index
from pipeline.suggestions import Page
from tests.factories import BenchmarkFactory, with_corpus

PAGES = [Page("u:1", "Fort", "The fort of Ema was built in 1820."), Page("u:2", "Bees", "Bees dance in the hive.")]


class Pages:
    """Pages that count how often they were read."""

    def __init__(self, pages: list[Page]) -> None:
        self.pages = pages
        self.read = 0

    def __call__(self) -> list[Page]:
        self.read += 1
        return self.pages


def kept(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()} - {"lock"}


def test_an_index_is_built_once_and_replaced_with_its_corpus(tmp_path: Path) -> None:
    pages = Pages(PAGES)
    first = saved_index(tmp_path, "one", pages)
    again = saved_index(tmp_path, "one", pages)
    assert pages.read == 1
    assert [each.url for each in again.search("fort")] == ["u:1"]
    more = Pages([*PAGES, Page("u:3", "", "Another fort stands at the river.")])
    assert len(saved_index(tmp_path, "two", more)) == 3
    assert kept(tmp_path) == {"two"}
    assert [each.url for each in first.search("hive")] == ["u:2"]  # who had it open reads on


def test_a_damaged_index_is_built_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pages = Pages(PAGES)
    saved_index(tmp_path, "one", pages)
    for file in (tmp_path / "one").iterdir():
        file.write_bytes(b"")
    assert [each.url for each in saved_index(tmp_path, "one", pages).search("hive")] == ["u:2"]
    assert pages.read == 2
    assert "built anew" in caplog.text


def test_what_was_broken_off_is_cleared_away(tmp_path: Path) -> None:
    def breaks_off() -> Iterator[Page]:
        yield PAGES[0]
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        saved_index(tmp_path, "one", breaks_off)
    assert "one" not in kept(tmp_path)
    assert len(saved_index(tmp_path, "one", Pages(PAGES))) == 2
    assert kept(tmp_path) == {"one"}


def test_who_comes_meanwhile_waits_and_does_not_build_too(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()
    read = 0

    def slow() -> Iterator[Page]:
        nonlocal read
        read += 1
        begun.set()
        assert go_on.wait(30)
        yield from PAGES

    with ThreadPoolExecutor(3) as pool:
        builder = pool.submit(saved_index, tmp_path, "one", slow)
        assert begun.wait(30)
        others = [pool.submit(saved_index, tmp_path, "one", slow) for _ in range(2)]
        go_on.set()
        found = [each.result(30) for each in (builder, *others)]
    assert read == 1
    assert [len(each) for each in found] == [2, 2, 2]


@pytest.mark.django_db
def test_a_new_process_opens_what_another_built(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = with_corpus(BenchmarkFactory(), "The fort of Ema was built in 1820.")
    built = services.index_of(corpus.pk)
    assert built is not None
    services._built_index.cache_clear()  # as a new process has it
    with monkeypatch.context() as patch:
        patch.setattr(PassageIndex, "write", None)
        opened = services.index_of(corpus.pk)
    assert opened is not None
    assert opened.search("fort") == built.search("fort") != []


@pytest.mark.django_db
def test_other_content_is_another_index() -> None:
    corpus = with_corpus(BenchmarkFactory(), "The fort of Ema was built in 1820.")
    key = saving._content_key(corpus.pk, 1)
    assert saving._content_key(corpus.pk, 1) == key
    assert saving._content_key(corpus.pk, 2) != key
    # The database was restored, and another import brought it to the same revision.
    CorpusPage.objects.filter(corpus=corpus).update(content_hash="0" * 64)
    other = saving._content_key(corpus.pk, 1)
    assert other != key
    Corpus.objects.filter(pk=corpus.pk).update(created_at=timezone.now())
    assert saving._content_key(corpus.pk, 1) not in {key, other}
