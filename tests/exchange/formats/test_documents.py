"""What is taken in, and how what is not is named."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from typing import Any

import pytest

from annotator.core import lines
from annotator.core.file_problems import BadRow, FileError
from annotator.exchange.formats.documents import READERS, detect, preview
from annotator.exchange.formats.incoming import IncomingDocument, IncomingSentence


def read(name: str, content: bytes | str, mapping: dict[str, str] | None = None) -> list[Any]:
    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    return list(READERS[name](stream, mapping))


def only_problem(rows):
    [row] = [row for row in rows if isinstance(row, BadRow)]
    [problem] = row.problems
    return problem


GOOD = '{"prompt": "Who?", "response": "Ada."}'


def test_jsonl_takes_all_fields_and_keeps_the_rest_as_metadata():
    row = {
        "id": 7,
        "prompt": "Who?",
        "response": " Ada.\n",
        "source": "in-house",
        "model": "m-1",
        "reference_date": "2023-04-30T10:00:00Z",
        "topic": ["history"],
        "metadata": {"split": "dev"},
    }
    [document] = read("jsonl", json.dumps(row))
    assert document == IncomingDocument(
        line=1,
        prompt="Who?",
        response=" Ada.\n",
        external_id="7",
        source="in-house",
        model="m-1",
        metadata={"topic": ["history"], "split": "dev"},
        reference_date=dt.date(2023, 4, 30),
    )
    assert document.identity == "7"


def test_without_an_id_prompt_and_response_are_the_identity():
    first, same, other = read("jsonl", f'{GOOD}\n{GOOD}\n{{"prompt": "Who?A", "response": "da."}}')
    assert first.identity == same.identity != other.identity
    assert first.identity.startswith("sha256:")


@pytest.mark.parametrize(
    ("row", "field", "words"),
    [
        ("{oops", "", "not JSON"),
        ('{"prompt": "Who', "", "Unterminated string starting at character 12"),
        ("[1, 2]", "", "jq -c"),
        ('"text"', "", "expected a JSON object, found a text"),
        ('{"prompt": "Who?", "response": NaN}', "", "NaN"),
        ("[" * 100_000, "", "not JSON"),
        ('{"prompt": "Who?"}', "response", "required"),
        ('{"response": " \\n"}', "response", "blank"),
        ('{"response": "\\u0000\\ud800"}', "response", "blank"),
        ('{"response": ["Ada."]}', "response", "found a list"),
        ('{"prompt": 5, "response": "Ada."}', "prompt", "found a number"),
        ('{"id": {"a": 1}, "response": "Ada."}', "id", "found an object"),
        ('{"id": true, "response": "Ada."}', "id", "found true"),
        ('{"id": "' + "x" * 201 + '", "response": "Ada."}', "id", "201 characters"),
        ('{"id": "a\\u0000", "response": "Ada."}', "id", "non-printable"),
        ('{"model": "' + "x" * 201 + '", "response": "Ada."}', "model", "201 characters"),
        ('{"metadata": [1], "response": "Ada."}', "metadata", "found a list"),
        ('{"reference_date": "30.4.2023", "response": "Ada."}', "reference_date", "2023-11-20"),
        ('{"reference_date": "2023-02-30", "response": "Ada."}', "reference_date", "2023-02-30"),
        ('{"reference_date": 2023, "response": "Ada."}', "reference_date", "a valid date"),
    ],
)
def test_a_bad_row_is_named_by_line_field_and_reason_and_the_others_go_in(row, field, words):
    rows = read("jsonl", f"{GOOD}\n\n{row}\n{GOOD}\n")
    assert [type(each) for each in rows] == [IncomingDocument, BadRow, IncomingDocument]
    problem = only_problem(rows)
    assert (problem.line, problem.field) == (3, field)
    assert words in problem.reason


def test_everything_that_is_wrong_with_a_row_is_said_at_once():
    [row] = read("jsonl", '{"prompt": 1, "response": "", "reference_date": "soon"}')
    assert [problem.field for problem in row.problems] == ["prompt", "response", "reference_date"]


def test_nul_is_taken_in_as_it_is():
    [document] = read("jsonl", '{"prompt": "Who\\u0000?", "response": "A\\u0000da."}')
    assert document.response == "A\x00da."


def test_a_byte_that_is_not_utf8_is_named_by_its_place():
    rows = read("jsonl", GOOD.encode() + b'\n{"prompt": "caf\xe9", "response": "Ada."}\n')
    problem = only_problem(rows)
    place = len(GOOD) + 1 + 16
    assert problem.line == 2
    assert f"byte 16 of the line (byte {place} of the file, 0xE9)" in problem.reason
    assert "UTF-8" in problem.reason


def test_the_mark_that_windows_puts_before_utf8_is_no_harm():
    [document] = read("jsonl", b"\xef\xbb\xbf" + GOOD.encode())
    assert document.prompt == "Who?"


@pytest.mark.parametrize("content", [GOOD.encode("utf-16"), GOOD.encode("utf-16-le"), b"\x00\x01\x02"])
def test_another_encoding_is_said_once_for_the_file(content):
    with pytest.raises(FileError, match="UTF-16"):
        read("jsonl", content)


def test_an_empty_file_says_so():
    with pytest.raises(FileError, match="empty"):
        read("jsonl", b"")


class LongLine(io.RawIOBase):
    """A file whose second line has 50 MB, made as it is read: it is never there as a whole."""

    def __init__(self) -> None:
        self.position = 0
        self.largest = 0
        self.head = GOOD.encode() + b"\n"
        self.size = len(self.head) + 50_000_000

    def seek(self, offset: int, whence: int = 0) -> int:
        self.position = offset
        return offset

    def read(self, size: int = -1) -> bytes:
        piece = self.head[self.position : self.position + size]
        self.position += len(piece)
        return piece

    def readline(self, size: int | None = -1) -> bytes:
        assert size is not None and size > 0, "a line must never be read without a limit"
        if self.position < len(self.head):
            line = self.head[self.position :]
        elif self.position < self.size:
            line = b"x" * min(size, self.size - self.position)
            line = line[:-1] + b"\n" if self.position + len(line) == self.size else line
        else:
            line = self.head if self.position == self.size else b""
        self.position += len(line)
        self.largest = max(self.largest, len(line))
        return line


def test_a_line_of_50_megabytes_is_named_and_skipped_in_pieces():
    stream = LongLine()
    rows = list(READERS["jsonl"](stream, None))  # type: ignore[arg-type]
    assert [type(row) for row in rows] == [IncomingDocument, BadRow, IncomingDocument]
    problem = only_problem(rows)
    assert problem.line == 2
    assert "47.7 MiB" in problem.reason and "16.0 MiB" in problem.reason
    assert stream.largest <= lines.MAX_LINE_BYTES + 1


# --- CSV ------------------------------------------------------------------------------------------


def table(*rows: list[str], delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_with_a_text_of_several_lines(delimiter):
    content = table(
        ["Id", "Prompt", "Response", "metadata", "topic"],
        ["a", "Who?", 'One, "two";\nthree.', '{"x": 1}', "history"],
        ["b", "Where?", "Here.", "", ""],
        delimiter=delimiter,
    )
    first, second = read("csv", content)
    assert (first.external_id, first.response, first.line) == ("a", 'One, "two";\nthree.', 2)
    assert first.metadata == {"topic": "history", "x": 1}
    assert (second.line, second.metadata) == (4, {})


@pytest.mark.parametrize(
    ("row", "field", "words"),
    [
        ('"Who?"', "", "1 cells, but the header has 3"),
        ('Who?,"Ada".,x', "", "quotation mark"),
        ("Who?,,", "response", "blank"),
        ("Who?,Ada.,{oops", "metadata", "not JSON"),
        ("Who?,Ada.,[1]", "metadata", "found a list"),
    ],
)
def test_bad_csv_rows(row, field, words):
    rows = read("csv", f"prompt,response,metadata\nWho?,Ada.,\n{row}\nWho?,Eve.,\n")
    assert [type(each) for each in rows] == [IncomingDocument, BadRow, IncomingDocument]
    problem = only_problem(rows)
    assert (problem.line, problem.field) == (3, field)
    assert words in problem.reason


def test_csv_in_another_encoding_names_row_and_column():
    problem = only_problem(read("csv", b"prompt,response\nWho?,Ada.\ncaf\xe9,Ada.\n"))
    assert (problem.line, problem.field) == (3, "prompt")
    assert "UTF-8" in problem.reason


def test_a_csv_line_that_is_too_long_takes_only_its_own_row(monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)
    rows = read("csv", f"prompt,response\nWho?,Ada.\nWho?,{'x' * 200}\nWho?,Eve.\n")
    assert [type(each) for each in rows] == [IncomingDocument, BadRow, IncomingDocument]
    assert "204 bytes" in only_problem(rows).reason or "206 bytes" in only_problem(rows).reason


def test_a_quotation_mark_that_is_never_closed_does_not_swallow_the_file_silently():
    rows = read("csv", 'prompt,response\nWho?,Ada.\nWho?,"Eve.\nWho?,Bob.\n')
    assert only_problem(rows).line == 3


def test_csv_columns_can_be_mapped():
    [document] = read("csv", "question,answer\nWho?,Ada.\n", mapping={"prompt": "question", "response": "answer"})
    assert (document.prompt, document.response, document.metadata) == ("Who?", "Ada.", {})


def test_csv_without_a_response_column_says_which_there_are():
    with pytest.raises(FileError, match="“question”, “answer”"):
        read("csv", "question,answer\nWho?,Ada.\n")


def test_csv_with_a_column_twice():
    with pytest.raises(FileError, match="Two columns are called “response”"):
        read("csv", "prompt,response,response\n1,2,3\n")


# --- the other formats ----------------------------------------------------------------------------

TOOL = {
    "prompt": "Who?",
    "response": "Ada. She wrote.",
    "sentences": ["Ada.", "She wrote."],
    "atomic claims": [["It was Ada."], ["Ada wrote.", "Ada lived."]],
    "source": "in-house",
    "id": 1,
}


@pytest.mark.parametrize("content", [json.dumps(TOOL, indent=4), json.dumps([TOOL]), json.dumps(TOOL)])
def test_the_original_tool_as_object_list_or_line(content):
    [document] = read("original-tool", content)
    assert document.external_id == "1"
    assert document.sentences == (
        IncomingSentence("Ada.", ("It was Ada.",)),
        IncomingSentence("She wrote.", ("Ada wrote.", "Ada lived.")),
    )
    assert detect(io.BytesIO(content.encode()), "0_screen1.json") == "original-tool"


def test_the_original_tool_with_claims_for_fewer_sentences():
    problem = only_problem(read("original-tool", json.dumps(TOOL | {"atomic claims": [["It was Ada."]]})))
    assert problem.field == "atomic claims"
    assert "1 lists for 2 sentences" in problem.reason


def test_fastfact_names_a_document_by_question_and_model():
    row = {
        "question_id": "q1",
        "question": "Who?",
        "model": "m",
        "prompt_source": "bio",
        "response": "Ada.",
        "cat": [1],
    }
    first, second = read("fastfact", json.dumps(row) + "\n" + json.dumps(row | {"model": "n"}))
    assert (first.external_id, second.external_id) == ("q1/m", "q1/n")
    assert (first.prompt, first.source, first.metadata) == ("Who?", "bio", {"cat": [1]})


@pytest.mark.parametrize(
    ("content", "filename", "name"),
    [
        (GOOD, "a.jsonl", "jsonl"),
        (GOOD, "", "jsonl"),
        ("{oops\n" + GOOD, "a.jsonl", "jsonl"),
        ('{"question": "Who?", "response": "Ada."}', "a.jsonl", "fastfact"),
        ("prompt,response\n", "", "csv"),
        ("a;b", "a.csv", "csv"),
    ],
)
def test_the_format_is_told_from_the_file(content, filename, name):
    assert detect(io.BytesIO(content.encode()), filename) == name


def test_a_file_that_is_none_of_them():
    with pytest.raises(FileError, match="jsonl, csv, original-tool, fastfact"):
        detect(io.BytesIO(b"Dear all,\n"), "letter.txt")


def test_a_preview_shows_the_first_rows_good_and_bad_with_the_columns():
    content = f'{GOOD}\n{{"answer": 1}}\n' + f"{GOOD}\n" * 10
    shown = preview(io.BytesIO(content.encode()), n=3)
    assert shown.format == "jsonl"
    assert shown.columns == ("prompt", "response", "answer")
    assert [type(row) for row in shown.rows] == [IncomingDocument, BadRow, IncomingDocument]
