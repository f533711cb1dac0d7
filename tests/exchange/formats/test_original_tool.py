"""The files of the original tool's screens, without a database."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from annotator.core.file_problems import BadRow, FileError
from annotator.exchange.formats import factcheck_bench, original_tool
from annotator.exchange.formats.factcheck_bench_reader import parse
from annotator.exchange.formats.gold import GoldDocument
from tests.gold_documents import FALSE, REVISED, TRUE, gold_document
from tests.released import released_document

SCREENS = ("screen1", "screen1_output", "screen2", "screen2_output", "screen3", "screen3_output")


def zipped(files: Mapping[str, str | bytes]) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream


def files(*documents: GoldDocument) -> dict[str, str]:
    return {name: "".join(text) for name, text in original_tool.files(lambda: iter(documents))}


def read(found: Mapping[str, str | bytes]) -> list[GoldDocument | BadRow]:
    return list(original_tool.read(zipped(found)))


def problem(found: Mapping[str, str | bytes]) -> str:
    [bad] = [row for row in read(found) if isinstance(row, BadRow)]
    return "; ".join(map(str, bad.problems))


def changed(screen: str, change: Any) -> dict[str, str]:
    """The files of the document after ``change(content of a screen)``."""
    found = files(gold_document())
    content = json.loads(found[f"0_{screen}.json"])
    change(content)
    return found | {f"0_{screen}.json": json.dumps(content)}


def test_the_example_comes_out_byte_for_byte(data_dir: Any) -> None:
    given = {path.name: path.read_bytes() for path in (data_dir / "original-tool-example").iterdir()}
    [document] = read(given)
    assert isinstance(document, GoldDocument)
    assert document.about["external_id"] == "1" and document.about["source"] == "post_and_in_house_question"
    assert {name: text.encode() for name, text in files(document).items()} == given


def test_what_is_written_is_read_again() -> None:
    written = files(gold_document(), gold_document(external_id="ada-2"))
    assert list(written) == [f"{number}_{screen}.json" for number in (0, 1) for screen in SCREENS]
    documents = [each for each in read(written) if isinstance(each, GoldDocument)]
    assert files(*documents) == written
    assert [each.about["external_id"] for each in documents] == ["ada-1", "ada-2"]
    assert documents[0].about["metadata"] == {"topic": "engines"}
    assert (documents[0].is_true, documents[0].sentences[0].is_true) == (False, False)


def test_the_released_document_with_all_its_oddities_comes_back() -> None:
    released = released_document()
    [document] = read(files(parse(released, 1)))
    assert isinstance(document, GoldDocument)
    again = factcheck_bench.render(document)
    # NUL goes into no file; sentences without a claim have their own text as the revised one.
    wanted = json.loads(json.dumps(released).replace("\\u0000", ""))
    assert again == wanted


def test_screens_have_what_the_tool_asks_of_them() -> None:
    found = {name: json.loads(text) for name, text in files(gold_document()).items()}
    assert found["0_screen1.json"]["atomic claims"][0][0] == TRUE
    assert (found["0_screen1.json"]["id"], found["0_screen1.json"]["source"]) == ("ada-1", "in-house")
    second = found["0_screen2_output.json"]["sentence2"]
    assert "url" not in second and second["revised_Claims"][0] == REVISED
    assert second["human_evidence"][0] == "It stayed a plan.\nhttps://example.org/ada"
    assert found["0_screen2.json"]["sentence2"]["url"][0] == ["https://example.org/ada"]
    third = found["0_screen3_output.json"]["sentences"]["sentence3"]
    assert "human_evidence" not in third and third["revised_Claims"] == ["Hope it helps!"]


def test_a_stage_that_is_not_agreed_has_no_output() -> None:
    screens = [name.removeprefix("0_").removesuffix(".json") for name in files(gold_document(revised=False))]
    assert screens == list(SCREENS[:5])
    assert len(files(gold_document(revised=False, verified=False))) == 3
    assert len(files(gold_document(revised=False, verified=False, sentences=[]))) == 1


def test_what_the_machine_had_proposed_is_kept_until_the_claims_change() -> None:
    found = changed("screen1", lambda content: content["atomic claims"][0].pop())
    [document] = read(found)
    assert isinstance(document, GoldDocument)
    assert json.loads(files(document)["0_screen1.json"])["atomic claims"][0] == [TRUE]
    document.sentences[0].claims[1].text = "Something else."
    assert json.loads(files(document)["0_screen1.json"])["atomic claims"][0] == [TRUE, "Something else."]


def test_screen_3_alone_is_enough_and_says_what_it_says() -> None:
    found = {name: text for name, text in files(gold_document()).items() if "screen3_output" in name}
    [document] = read({"folder/" + name: text for name, text in found.items()})
    assert isinstance(document, GoldDocument)
    claim = document.sentences[1].claims[0]
    assert (claim.text, claim.revised, claim.evidence_sufficient, claim.added) == (FALSE, REVISED, None, [])
    assert [each.url for each in claim.retrieved] == [""]


def test_documents_come_in_the_order_of_their_numbers() -> None:
    text = files(gold_document())["0_screen3_output.json"]
    renamed = {f"{number}_screen3_output.json": text.replace("Hope", f"Hope{number}") for number in (10, 2, 1)}
    found = [each.response.split("Hope")[1][:2] for each in read(renamed) if isinstance(each, GoldDocument)]
    assert found == ["1 ", "2 ", "10"]


@pytest.mark.parametrize("content", [b"", b"{}", b"PK\x03\x04 no archive"])
def test_a_file_that_is_no_zip_is_told(content: bytes) -> None:
    with pytest.raises(FileError, match="isn’t a ZIP file"):
        list(original_tool.read(io.BytesIO(content)))


def test_a_zip_without_such_files_is_told() -> None:
    with pytest.raises(FileError, match="no file of the original tool"):
        read({"notes.txt": "x"})


def test_an_unfinished_document_is_named_and_the_others_come_in() -> None:
    written = files(gold_document(), gold_document())
    del written["0_screen3_output.json"]
    bad, good = read(written)
    assert isinstance(bad, BadRow) and isinstance(good, GoldDocument)
    assert "line 1, 0_screen3_output: it is missing" in str(bad.problems[0])


def _without(name: str) -> Any:
    return lambda content: content["sentences"]["sentence1"].pop(name)


def _with(name: str, value: Any) -> Any:
    return lambda content: content["sentences"]["sentence1"].update({name: value})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without("Claims"), "sentence1.Claims: expected a list"),
        (_with("boolClaim", ["factual"]), "sentence1.boolClaim"),
        (_with("boolEdit", ["no", "perhaps"]), "boolEdit: “perhaps” isn’t valid; choose one of"),
        (_with("stances", [["refute"], []]), "stances"),
        (_with("factCheck", 3), "sentence1.factCheck"),
        (lambda content: content.update(sentences=[]), "screen3_output.sentences: expected an object"),
        (lambda content: content["sentences"].update(sentence1=1), "sentences.sentence1: an object is needed"),
        (lambda content: content.pop("response"), "response: required"),
    ],
)
def test_what_is_wrong_is_named_in_the_words_of_the_tool(change: Any, said: str) -> None:
    assert said in problem(changed("screen3_output", change))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("0_screen3_output.json", "{", "screen3_output: not JSON"),
        ("0_screen3_output.json", "[]", "screen3_output: a JSON list"),
        ("0_screen2.json", b"\xff", "screen2: byte 1 of the line"),
    ],
)
def test_a_broken_file_is_named(name: str, text: str | bytes, said: str) -> None:
    assert said in problem(files(gold_document()) | {name: text})


def test_a_file_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(original_tool, "MAX_LINE_BYTES", 10)
    assert "larger than 16 MiB" in problem(files(gold_document()))


def test_one_document_is_in_memory_at_a_time() -> None:
    taken = 0

    def documents() -> Iterator[GoldDocument]:
        nonlocal taken
        while True:
            taken += 1
            yield copy.deepcopy(gold_document())

    found = original_tool.files(documents)
    for _ in range(7):
        next(found)
    assert taken == 2, "six files of the first, one of the second"


def test_the_same_name_in_two_folders_is_never_mixed() -> None:
    """Each archive of a batch counts from 0: which screens belong together cannot be told."""
    both = {f"{folder}/{name}": text for folder in ("one", "two") for name, text in files(gold_document()).items()}
    with pytest.raises(FileError, match=r"0_screen1\.json twice, as one/0_screen1\.json and two/0_screen1\.json"):
        read(both)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_file_that_broke_in_the_archive_is_named_however_it_was_packed(method: int) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("0_screen3_output.json", json.dumps([number**3 for number in range(500)]))
    raw = bytearray(stream.getvalue())
    raw[60:80] = bytes(byte ^ 0x55 for byte in raw[60:80])
    [bad] = original_tool.read(io.BytesIO(bytes(raw)))
    assert isinstance(bad, BadRow) and "cannot be extracted from the ZIP" in str(bad.problems[0])


def test_a_number_of_any_length_is_a_name() -> None:
    given = {name.replace("0_", "7" * 5000 + "_", 1): text for name, text in files(gold_document()).items()}
    [document] = read(given)
    assert isinstance(document, GoldDocument)
