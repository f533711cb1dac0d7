"""Words that must not come back: what people read is in plain American English and in the field's terms.

Walks every source of visible text: templates, strings of the Python code and of the scripts, the guidelines and the
documentation. Docstrings and comments are not read here. A stored value, an API field, an address or the spelling of a
released format keeps its name, so single identifiers (no space, not capitalized) are not looked at either.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A pattern for text in lower case, and what to write instead.
WORDS = {
    # terms of the field
    r"tak(e|es|ing|en) (all )?over|took (it |them |suggestions )?over|take it over": "accept, accepted",
    r"stands? alone|stand-alone": "decontextualized sentence",
    r"worth checking": "check-worthy",
    r"\bcheckworth": "check-worthy, check-worthiness",
    r"\bpartly\b": "partially supports",
    r"can this evidence decide|no, i searched": "is the evidence sufficient? / no (searched further)",
    r"\benough alone\b": "sufficient on its own",
    r"\brests? on\b": "evidence used",
    r"as little as possible|by the criteria": "minimal edit; no edit needed",
    r"write it as a text": "rewrite the claim",
    r"\bmend(s|ed|ing)?\b|\brepair(s|ed|ing)?\b": "correct, corrected",
    r"agreed versions?|to be agreed|waits to be agreed|agree on it|how it was agreed|agree on (decompose|verify|revise)"
    r"|settle together|\b(is|are|was|were) agreed\b": "adjudicate, awaiting adjudication, adjudicated version",
    r"third[ -]raters?": "adjudicator",
    r"take (your|my|the) signature back|signatures? of (each|both|all)": "withdraw sign-off",
    r"\btake in\b": "include",
    r"one person has as one claim": "one annotator split this claim",
    r"no such claim": "not present",
    r"what the machine (holds|says|thinks)|\b\d+ sure\b": "model verdict; confidence 80",
    r"\btwins?\b|\bmix(ed)? (it |them |gold )?in\b": "gold items, hidden gold",
    r"pass(ed)? (it |this document |a document )?on\b(?! to)": "flag, flagged",
    r"suggestions kept": "suggestions accepted unchanged",
    r"brought nothing new": "found no new passages",
    r"without looking(?! it up)": "compared with trivial baselines",
    r"drawn anew": "resampling documents",
    r"licen[c]e": "license",
    # the interface
    r"\bgot it\b": "Dismiss",
    r"\bsay it\b|what speaks for": "Post; Explain your choice",
    r"\bopen again\b": "Reopen",
    r"nothing waits for": "You’re all caught up",
    r"at work on (it|this)|next in the queue": "In progress; queued",
    r"\bin work\b": "in progress",
    r"is being looked for|looks? again by itself|on the way\b": "Retrieving evidence; generating suggestions",
    r"tak(e|es|en) (a|your|their|the) place|a place is free|all places": "assigned",
    r"changed meanwhile|in the meanwhile": "edit conflict",
    r"work is frozen": "locked",
    r"all in all": "Overall",
    r"have you an account": "Already have an account?",
    r"should be str\b": "Expected text in quotation marks.",
    r"there already\b|is there already|already there": "already imported, already exists",
    r"days it holds|\bholds? for\b|holds now": "valid for",
    r"free for everybody": "Everyone",
    r"is not possible now": "You don’t have access to this page",
    r"how many more people": "Additional annotators per document",
    r"\b(this|it|that|”) is no (label|web|scope|event|format|word|zip|csv|time|number|version|share|whole|release"
    r"|text)\b": "isn’t a …",
    r"\bstands? here\b|stands (there )?twice|has to stand": "expected …, found …",
    r"\bwhoever\b": "a plain subject: the owner, an admin",
    r"somebody|everybody": "someone, everyone",
    # American spelling
    r"\b(dec?ontextual|organ|recogn|summar|minim|maxim|general|token|serial|initial|optim|categor|emphas|special"
    r"|standard|util|random|synchron|priorit|custom|anonym|pseudonym|normal|penal)is(e[sdr]?|ing|ation)\b": "-ize",
    r"\bpractis(e[sd]?|ing)\b": "practice",
    r"\b(col|behavi|fav|hon|lab|neighb|flav)our": "-or",
    r"\b(label|cancel|model|travel)l(ed|ing)\b": "one l",
    r"\bjudgements?\b|\bcentre|\bgrey\b|\bwhilst\b|\be-mail": "judgment, center, gray, while, email",
}

# By file, what is taken out of a text before it is read, and why it is right there.
EXCEPTIONS = {
    "annotator/core/fields.py": (
        r"^(Stand-alone|Stands alone|Decontextualised sentence|(Not )?worth( checking)?|Enough alone"
        r"|Can this evidence decide it\?)$",
        "headings of guidelines that were written before",
    ),
    "annotator/core/definitions.py": (r"^Partly$", "a heading of guidelines that were written before"),
    "docs/guidelines.md": (
        r"Stand-alone, Stands alone|Worth checking, Not worth.*?\||, Enough alone|, Can this.*?\?",
        "the same",
    ),
    "annotator/leaderboard/scoring/label_sets.py": (r"^not (checkworthy|worth checking)$", "spellings that are read"),
    "pipeline/learned/statement_features.py": (r"^rule: sentence is checkworthy$", "the key of a stored model"),
    "annotator/admin.py": (r"\bmends\b", "the name of a column"),
}


def complaints(place: str, text: str) -> Iterator[str]:
    """What is wrong in one visible text, with what to write instead."""
    if exception := EXCEPTIONS.get(place.partition(":")[0]):
        text = re.sub(exception[0], "", text, flags=re.IGNORECASE)
    text = text.lower()
    for pattern, instead in WORDS.items():
        for found in re.finditer(pattern, text):
            around = text[max(0, found.start() - 40) : found.end() + 40]
            yield f"“{found[0]}” in “…{' '.join(around.split())}…”: write {instead}"


def templates() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "templates").rglob("*.*")):
        text = re.sub(
            r"{#.*?#}|{% ?comment.*?endcomment ?%}|<script.*?</script>", "", path.read_text(), flags=re.DOTALL
        )
        quoted = " ".join(each for tag in re.findall(r"{%.*?%}", text) for each in re.findall(r'"([^"]* [^"]*)"', tag))
        text = re.sub(r"{%.*?%}|{{.*?}}", "", text, flags=re.DOTALL)
        text = re.sub(
            r'\s(class|id|for|name|value|href|src|hx-[\w:-]+|d|popovertarget|aria-(labelledby|describedby))="[^"]*"',
            "",
            text,
        )
        text = re.sub(r"\sdata-(?!key-label)[\w-]+(=\"[^\"]*\")?", "", text)
        yield str(path.relative_to(ROOT)), f"{text} {quoted}"


def python() -> Iterator[tuple[str, str]]:
    for folder in ("annotator", "pipeline", "config"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            tree = ast.parse(path.read_text())
            quiet = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in quiet:
                    text = node.value.strip()
                    if " " in text or text[:1].isupper():
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def scripts() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "static" / "js").glob("*.js")):
        text = re.sub(r"/\*.*?\*/|^\s*//.*?$|\s//\s.*?$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        for found in re.finditer(r"\"([^\"\n]*)\"|'([^'\n]*)'|`([^`]*)`", text):
            words = next(filter(None, found.groups()), "")
            if (" " in words or words[:1].isupper()) and words[:1] not in "#.[":  # selectors
                yield str(path.relative_to(ROOT)), words


def documentation() -> Iterator[tuple[str, str]]:
    """Decisions and the changelog name things as they were called at the time, so they are not read."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "fixtures").rglob("*.md")]
    for path in sorted([*files, *(ROOT / "docs").rglob("*.md")]):
        if "adr" not in path.parts:
            text = re.sub(r"^(```|~~~).*?^\1|^ {4}.*?$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
            yield str(path.relative_to(ROOT)), re.sub(r"`[^`\n]*`|\]\([^)]*\)|<[^>]*>", "", text)


@pytest.mark.parametrize("source", [templates, python, scripts, documentation])
def test_the_old_words_do_not_come_back(source: Callable[[], Iterator[tuple[str, str]]]) -> None:
    texts = list(source())
    assert texts
    wrong = [f"{place}: {each}" for place, text in texts for each in complaints(place, text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "The third rater settles it.",
        "Take all over",
        "Claims worth checking",
        "To be agreed",
        "This is no web address.",
        "labelled blind first",
        "Choose a licence",
        "organised by behaviour",
        "11 mended claims",
    ],
)
def test_old_words_are_found(text: str) -> None:
    assert list(complaints("templates/any.html", text))


def test_the_words_of_the_field_are_no_complaint() -> None:
    text = "Adjudicator: accept the partially supports label; licensed, labeled, analyzed.."
    assert list(complaints("templates/any.html", text)) == []
