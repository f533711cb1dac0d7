"""A model that plays along: to every prompt of every strategy it gives an answer of the asked form that a model could
give, made from the words it was given. The same request always gets the same answer.

It knows a question by the properties of the JSON schema that goes with it, and reads the last turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from tests.fakes.search import Hit

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*\s*")
_NUMBERED = re.compile(r"^(\d+)[.:)]\s+(.*)$", re.MULTILINE)
_WORD = re.compile(r"\w+")


def plausible(request: Mapping[str, Any]) -> object:
    """What the model says; the body of a chat request in, an object for JSON out. Raises KeyError for a form that no
    strategy asks for."""
    schema = request["response_format"]["json_schema"]["schema"]
    said = request["messages"][-1]["content"]
    for names, answer in _ANSWERS.items():
        if set(names) <= set(schema["properties"]):
            return answer(said, schema)
    raise KeyError(f"No answer for {sorted(schema['properties'])}")


def hits_for(site: str, number: int = 10) -> Callable[[str], list[Hit]]:
    """What a search finds: pages of the fake site at that address, whose snippets speak of the query."""

    def finds(query: str) -> list[Hit]:
        words = _WORD.findall(query)[:12]
        key = crc32(query.encode())
        return [
            Hit(
                f"{site}/{key:08x}/{place}/{'-'.join(words[:8])}".lower(),
                " ".join(words[:4]) or "Page",
                f"{' '.join(words)}, as source {place} tells.",
            )
            for place in range(number)
        ]

    return finds


def article_of(path: str) -> str:
    """The text of a page of the fake site: forty sentences, some of which speak of the words in its address."""
    words = path.rsplit("/", 1)[-1].replace("-", " ")
    key = crc32(path.encode())
    kinds = (
        "The record of {words} is kept in volume {n} of the archive.",
        "In the year {n} a visitor wrote about {words} at some length.",
        "Nothing else is known of it, and later accounts differ from each other.",
        "A survey found {n} letters that were never answered by anyone.",
        "Most readers agree that the matter was settled long before that.",
    )
    sentences = [
        kinds[(key + place) % 5].format(words=words, n=1500 + (key >> place % 16) % 500) for place in range(40)
    ]
    return "\n\n".join(" ".join(sentences[start : start + 8]) for start in range(0, 40, 8))


def _after(said: str, mark: str, until: str = "") -> str:
    text = said.partition(mark)[2] if mark in said else said
    return (text.partition(until)[0] if until and until in text else text).strip()


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE.findall(text) if _WORD.search(each)]


def _one_of(text: str, *choices: str) -> str:
    return choices[crc32(text.encode()) % len(choices)]


def _decomposed(said: str, schema: Any) -> object:
    text = _after(said, "Answer:\n", "\n\nFirst sentence:")
    return {"sentences": [{"sentence": each, "claims": [each]} for each in _sentences(text)]}


def _labelled(said: str, schema: Any) -> object:
    """One item for each numbered text, with whatever properties an item has."""
    item = schema["properties"]["items"]["items"]
    if "$ref" in item:
        item = schema["$defs"][item["$ref"].rpartition("/")[2]]
    answers = []
    for number, text in _NUMBERED.findall(_last_list(said)):
        answer: dict[str, object] = {}
        for name, what in item["properties"].items():
            what = schema["$defs"][what["$ref"].rpartition("/")[2]] if "$ref" in what else what
            answer[name] = int(number) if name == "number" else what["enum"][0] if "enum" in what else text
        answers.append(answer)
    return {"items": answers}


def _last_list(said: str) -> str:
    for mark in ("\nSentences:\n", "\nClaims:\n", "\nTexts:\n"):
        if mark in said:
            return said.rpartition(mark)[2]
    return said


def _claims(said: str, schema: Any) -> object:
    item = schema["properties"]["claims"]["items"]
    text = _after(said, "<SOS>", "<EOS>") if "<SOS>" in said else _after(said, "Sentence: ")
    claims = _sentences(text)
    if "type" in item and item["type"] == "string":
        return {"claims": claims}
    labels = ("supported", "unsure", "likely supported", "non-supported")
    return {"claims": [{"claim": each, "label": _one_of(each, *labels)} for each in claims]}


def _queries(said: str, schema: Any) -> object:
    words = _WORD.findall(_after(said, "Claim: ", "\nAt most"))
    half = max(3, len(words) // 2)
    return {"queries": [" ".join(words[:half]), f"who knows {' '.join(words[half:])}", " ".join(words)]}


def _stance(said: str, schema: Any) -> object:
    labels = ("completely_support", "partially_support", "irrelevant", "refute")
    return {"reason": "It speaks of the same thing.", "stance": _one_of(said, *labels)}


def _verdict(said: str, schema: Any) -> object:
    claim = _after(said, "Claim: ", "\nPassages")
    label = _one_of(claim, "true", "true", "true", "false", "not_enough_evidence")
    correction = f"{claim.rstrip('.')}, it is said." if label == "false" else None
    return {"reasoning": "The passages say so.", "factuality": label, "correction": correction}


def _revised(said: str, schema: Any) -> object:
    text = _after(said, "Answer:\n" if "Answer:\n" in said else "Text:\n", "\n\nTrue statements:")
    return {"text": text or "Nothing is left."}


def _next_question(said: str, schema: Any) -> object:
    asked = said.count("?")
    settled = "true" if asked >= 2 + crc32(said.partition("\n")[0].encode()) % 3 else "no"
    return {"settled": settled, "question": "" if settled == "true" else f"What else is known, point {asked}?"}


def _rephrased(said: str, schema: Any) -> object:
    count = int((re.search(r"\d+", said) or ["1"])[0])
    question = said.rpartition(": ")[2]
    return {"questions": [f"Put otherwise, way {place}: {question}" for place in range(1, count + 1)]}


def _label(said: str, schema: Any) -> object:
    name = "label" if "label" in schema["properties"] else "verdict"
    return {"reason": "So the sources say.", name: _one_of(said, *schema["properties"][name]["enum"])}


def _decided(said: str, schema: Any) -> object:
    claim = _after(said, "Claim: ", "\n")
    searches = said.rpartition("Searches so far:")[2].count("Query: ")
    if searches >= crc32(claim.encode()) % 3:
        return {"reason": "So the results say.", "verdict": _one_of(claim, "true", "true", "false"), "query": ""}
    return {"reason": "Not sure yet.", "verdict": None, "query": f"{claim} point {searches + 1}"}


def _next_query(said: str, schema: Any) -> object:
    searches = said.rpartition("Searches so far:")[2].count("Query: ")
    return {"query": f"{_after(said, 'Statement: ', chr(10))} point {searches + 1}"}


def _kept(said: str, schema: Any) -> object:
    text = said.rpartition("Sentence: ")[2]
    return {"reason": "It can be verified.", "sentence": None if text.endswith(("?", "!")) else text}


# By the properties of the answer's form; the first that are all there.
_ANSWERS: dict[tuple[str, ...], Callable[[str, Any], object]] = {
    ("sentences",): _decomposed,
    ("items",): _labelled,
    ("claims",): _claims,
    ("queries",): _queries,
    ("stance",): _stance,
    ("factuality",): _verdict,
    ("text",): _revised,
    ("settled",): _next_question,
    ("facts",): lambda said, schema: {"facts": _sentences(said.rpartition("Sentence: ")[2])},
    ("statement",): lambda said, schema: {"statement": said.rpartition("Statement: ")[2]},
    ("relevant",): lambda said, schema: {"reason": "They belong together.", "relevant": crc32(said.encode()) % 8 != 0},
    ("verdict", "query"): _decided,
    ("query",): _next_query,
    ("sentence",): _kept,
    ("questions",): _rephrased,
    ("question",): lambda said, schema: {"question": f"Is it true that {_after(said, 'Claim: ', chr(10))}?"},
    ("document", "answer"): lambda said, schema: {"document": 1, "answer": "The first source tells it."},
    ("answer",): lambda said, schema: {"answer": "It is told there."},
    ("label",): _label,
    ("verdict",): _label,
}


def as_text(request: Mapping[str, Any]) -> str:
    """``plausible`` as a model writes it."""
    return json.dumps(plausible(request), ensure_ascii=False)
