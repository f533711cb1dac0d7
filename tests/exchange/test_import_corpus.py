"""Pages come into a corpus, from JSON lines and from folders."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.file_problems import FileError
from annotator.core.models import Corpus, CorpusPage
from annotator.exchange.actions.corpora import create_corpus, import_corpus
from tests.released import write_jsonl

pytestmark = pytest.mark.django_db

HTML = """<!doctype html><html><head><title>Notes on
 the engine</title><meta charset="utf-8"><link rel="canonical" href="https://www.example.org/notes">
<meta property="article:published_time" content="2020-05-01T10:00:00Z"><script>alert(1)</script></head>
<body><nav><a href="/">Home</a> <a href="/a">About</a></nav><article><h1>Notes</h1>
<p>Ada Lovelace wrote notes on the Analytical Engine, and they were published in the year 1843 in London.</p>
<p>They hold an algorithm for the Bernoulli numbers, which many take to be the first computer programme.</p>
</article><footer>Imprint</footer></body></html>"""


@pytest.fixture
def corpus() -> Corpus:
    return create_corpus(slug="pages", name="Pages")


def page(number: int, **fields: Any) -> dict[str, Any]:
    return {"url": f"https://www.example.org/{number}", "title": "A page", "text": f"Text {number}."} | fields


def test_json_lines(corpus, tmp_path):
    path = write_jsonl(tmp_path / "c.jsonl", [page(1, published="2020-05-01", site="Example"), page(2)])
    report = import_corpus(corpus=corpus, path=path)
    assert (report.imported, report.bad, corpus.revision) == (2, 0, 1)
    first, second = CorpusPage.objects.order_by("id")
    assert (first.title, first.site, first.published) == ("A page", "Example", dt.date(2020, 5, 1))
    assert (second.site, second.published) == ("example.org", None)


def test_the_same_file_twice_changes_nothing(corpus, tmp_path):
    path = write_jsonl(tmp_path / "c.jsonl", [page(1), page(2)])
    import_corpus(corpus=corpus, path=path)
    report = import_corpus(corpus=corpus, path=path)
    assert (report.imported, report.unchanged, corpus.revision) == (0, 2, 1)


def test_passages_of_one_page_stand_beside_each_other(corpus, tmp_path):
    path = write_jsonl(tmp_path / "c.jsonl", [page(1), page(1, text="Another passage."), page(1)])
    report = import_corpus(corpus=corpus, path=path)
    assert (report.imported, report.unchanged) == (2, 1)


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("{oops", ""),
        (page(1, url=" "), "url"),
        (page(1, text="\x00 "), "text"),
        (page(1, title=5), "title"),
        (page(1, published="May"), "published"),
    ],
)
def test_bad_rows_are_named_and_the_others_go_in(corpus, tmp_path, row, field):
    path = write_jsonl(tmp_path / "c.jsonl", [page(8), row, page(9)])
    report = import_corpus(corpus=corpus, path=path)
    assert (report.imported, report.bad) == (2, 1)
    assert (report.problems[0].line, report.problems[0].field) == (2, field)


def folder(path: Path) -> Path:
    (path / "sub").mkdir()
    (path / "notes.html").write_text(HTML)
    (path / "sub" / "engine.txt").write_bytes(b"\xef\xbb\xbfThe engine was never built.\n")
    (path / "tiny.htm").write_text("<html><body><p>Tiny.</p><script>x()</script></body></html>")
    (path / "picture.png").write_bytes(b"\x89PNG")
    return path


def test_a_folder_of_text_and_html(corpus, tmp_path):
    report = import_corpus(corpus=corpus, path=folder(tmp_path))
    assert (report.imported, report.bad) == (3, 0)
    notes = CorpusPage.objects.get(url="https://www.example.org/notes")
    assert (notes.title, notes.site) == ("Notes on the engine", "example.org")
    assert notes.published == dt.date(2020, 5, 1)
    assert "published in the year 1843" in notes.text
    assert "alert" not in notes.text and "Imprint" not in notes.text
    engine = CorpusPage.objects.get(url="corpus:sub/engine.txt")
    assert (engine.title, engine.text) == ("engine", "The engine was never built.")
    assert CorpusPage.objects.get(url="corpus:tiny.htm").text == "Tiny."


def test_a_changed_file_takes_the_place_of_what_it_was(corpus, tmp_path):
    import_corpus(corpus=corpus, path=folder(tmp_path))
    (tmp_path / "sub" / "engine.txt").write_text("The engine was built in 1991.")
    report = import_corpus(corpus=corpus, path=tmp_path)
    assert (report.imported, report.unchanged, corpus.revision) == (1, 2, 2)
    assert CorpusPage.objects.get(url="corpus:sub/engine.txt").text == "The engine was built in 1991."


def test_files_that_cannot_be_read_are_named(corpus, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    (tmp_path / "b.html").write_text(" ")
    (tmp_path / "c.txt").write_text("Fine.")
    report = import_corpus(corpus=corpus, path=tmp_path)
    assert (report.imported, report.bad) == (1, 2)
    assert [problem.field for problem in report.problems] == ["a.txt", "b.html"]
    assert "UTF-8" in report.problems[0].reason


def test_an_empty_folder(corpus, tmp_path):
    with pytest.raises(FileError, match=r"no \.txt"):
        import_corpus(corpus=corpus, path=tmp_path)


def test_the_command(tmp_path, capsys):
    benchmark = create_benchmark(slug="trial", name="Trial")
    path = write_jsonl(tmp_path / "c.jsonl", [page(1)])
    with pytest.raises(CommandError, match="Add --create"):
        call_command("import_corpus", str(path), "--corpus", "pages")
    call_command("import_corpus", str(path), "--corpus", "pages", "--create", "--benchmark", "trial")
    assert "1 imported" in capsys.readouterr().out
    benchmark.refresh_from_db()
    assert benchmark.corpus == Corpus.objects.get(slug="pages")
    with pytest.raises(CommandError, match="cannot be opened"):
        call_command("import_corpus", str(tmp_path / "none.jsonl"), "--corpus", "pages")
