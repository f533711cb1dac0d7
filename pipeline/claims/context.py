"""What an answer has spoken of so far: its topic, subjects and people. Pronouns are resolved from this (step 2)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pipeline.claims.clauses import Clause, clause
from pipeline.claims.lexicon import DETERMINERS, FUNCTION_WORDS, MONTHS, SUBJECT_PRONOUNS, word_set
from pipeline.claims.tagging import Tag, Token, is_plural, tag

NAME = re.compile(
    r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St)\.\s+)?[A-Z][\w'’\-]*(?:\.(?=\s[A-Z]))?(?:\s+(?:[A-Z]\.\s?)*(?:(?:de|van|von|der|bin|al)\s+)?"
    r"[A-Z][\w’\-]*(?<!['’]s)(?:\s(?:Jr|Sr)\.)?)+"
)
# Words in a name that no person bears: such a name is not what "he" or "she" stands for.
_NOT_A_PERSON = (
    word_set(
        """
    university college school institute academy court states kingdom republic union nations city county
    state island islands river lake sea ocean mountain mountains mount park street company corporation
    inc ltd group bank museum library church award prize cup league club team party house senate
    congress parliament department ministry agency army navy war battle act treaty times journal
    magazine records studios association society council committee america africa asia europe australia
    cape town village port fort bay san santa saint hill hills valley square road station airport bridge
    tower castle palace cathedral hospital desert peninsula canal gulf strait volcano glacier mission
    york angeles francisco london england france germany china india japan american north south east
    west national international world olympic games festival series
    """
    )
    | MONTHS
)
_ABOUT_PEOPLE = re.compile(r"\b(?:he|she|his|her|him|born|died|married|who (?:is|was))\b", re.IGNORECASE)
_INITIAL = re.compile(r"[A-Z]\.|Jr\.|Sr\.")
TITLES = word_set(
    """
    dr mr mrs ms prof justice president king queen sir lady lord prince princess senator professor
    doctor
    """
)
_IN_A_PLACE = re.compile(r"\b(?:in|at|near|across|throughout) $")
_PART_OF_A_NAME = re.compile(r"['’]s? [A-Z]")
# What a prompt asks about: "Who is X?", "Tell me about X.", "Write a short biography of X", "Who discovered X?"
_ASKED = re.compile(
    r"^\s*(?:(?:please\s+|can you\s+|could you\s+)*"
    r"(?:(?:who|what)(?:['’]s|\s+(?:is|are|was|were))"
    r"|(?:where|when|how old|how (?:tall|high|long|big|large))\s+(?:is|are|was|were)(?=\s+(?:the\s+)?[A-Z])"
    r"|(?:tell|teach)\s+me\s+(?:(?:more|something)\s+)?(?:about|of)"
    r"|(?:(?:tell|give|write)\s+(?:me\s+)?|what is\s+)(?:an?|the)\s+(?:\w+\s+){0,2}"
    r"(?:bio|biography|summary|overview|history|description|introduction|account|story)\s+(?:of|to|about)"
    r"|(?:explain|describe|introduce|summari[sz]e)(?:\s+to\s+me)?"
    r"|who\s+(?:discovered|invented|built|founded|wrote|painted|designed|created|made|composed)))\s+"
    r"(?P<topic>[^?.,;:!]{2,60}?)"
    r"(?:\s+(?:located|built|founded|born|invented|discovered|famous|important|known))?"
    r"(?P<rest>\s*(?:[?.!,].*)?)$",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT_A_PERSON = re.compile(r"\bwho (?:is|was)\b|\b(?:bio|biography|life) of\b", re.IGNORECASE)
_LONGEST_TOPIC = 5  # words


@dataclass(slots=True)
class Context:
    """What has been spoken of so far, latest last."""

    subjects: list[tuple[str, bool]] = field(default_factory=list)  # noun phrase, is it plural
    persons: list[str] = field(default_factory=list)
    latest_persons: list[str] = field(default_factory=list)  # those of the last sentence that names any
    full_names: dict[str, str] = field(default_factory=dict)  # last name -> full name
    descriptions: dict[str, set[str]] = field(default_factory=dict)  # subject -> nouns it was said to be
    topic: str = ""  # what the prompt asks about
    topic_is_plural: bool = False
    topic_is_person: bool = False
    common: frozenset[str] = frozenset()  # words written small somewhere: no names
    about_people: bool = False  # else two capitals in a row are a product or a place

    @classmethod
    def of(cls, prompt: str, response: str) -> Context:
        """Before the first sentence: the names in the prompt, and what it asks about."""
        both = f"{prompt} {response}"
        context = cls(
            about_people=bool(_ABOUT_PEOPLE.search(both)), common=frozenset(re.findall(r"\b[a-z]{3,}\b", both))
        )
        context._note_names(prompt)
        asked = _ASKED.match(prompt)
        if asked and _is_topic(asked["topic"]):
            topic = asked["topic"].strip()
            context.topic = topic[0].upper() + topic[1:]
            context.topic_is_plural = is_plural(topic.split()[-1]) and not topic.split()[-1][0].isupper()
            context.topic_is_person = topic in context.persons or bool(
                _ABOUT_A_PERSON.search(prompt) and topic.istitle() and len(topic.split()) > 1
            )
            if context.topic_is_person:
                context.persons.append(topic)
                context.full_names.setdefault(topic.split()[-1], topic)
            else:
                context.subjects.append((context.topic, context.topic_is_plural))
        return context

    def note(self, sentence: str, stands_for: dict[str, str] | None = None) -> None:
        """Takes a decontextualised sentence into account; ``stands_for`` as its resolution gave it."""
        self._note_names(sentence)
        found = clause(sentence)
        if found is not None:
            self._note_subject(found)
        # What a pronoun stood for stays what is spoken of: "Its first ascent was made. It is ..."
        for kind, antecedent in (stands_for or {}).items():
            if kind == "person":
                self.persons.append(antecedent)
                self.latest_persons = [antecedent]
            elif antecedent == self.topic or found is None or not found.subject.startswith(antecedent):
                self.subjects.append((antecedent, kind == "many"))

    def _note_subject(self, found: Clause) -> None:
        opening = found.tokens[found.first]
        if opening.tag == Tag.PRONOUN or opening.lower in ("this", "these", "that", "those", "some", "there", "one"):
            return
        if self.topic and opening.lower in ("a", "an") and found.is_past:
            return  # an event in the story of the topic: "In 1979 a plane crashed"
        subject = found.subject.split(", ")[0] if found.subject.count(",") == 1 else found.subject
        if len(subject.split()) <= 10:
            if not found.is_plural and (inner := _inner_plural(found.tokens[found.first : found.group])):
                self.subjects.append((inner, True))
            self.subjects.append((subject, found.is_plural))
            self.descriptions.setdefault(subject, set()).update(_said_to_be(found))
            if complement := _complement(found):
                self.subjects.append((complement[0].upper() + complement[1:], False))

    def inside(self, noun_phrase: str) -> str:
        """A noun phrase from the opening of a sentence as it is written further on: "Penicillin" as "penicillin"."""
        first, _, rest = noun_phrase.partition(" ")
        small = first.lower() in DETERMINERS or (first.lower() in self.common and not any(map(str.isupper, rest)))
        return noun_phrase[0].lower() + noun_phrase[1:] if small else noun_phrase

    def kinds(self, noun_phrase: str) -> set[str]:
        """The nouns in a name and those it was described by: {"mount", "erebus", "volcano"}."""
        return {word.lower() for word in noun_phrase.split()} | self.descriptions.get(noun_phrase, set())

    def _note_names(self, text: str) -> None:
        named: list[str] = []
        for match in NAME.finditer(text):
            if _IN_A_PLACE.search(text[: match.start()]) or _PART_OF_A_NAME.match(text, match.end()):
                continue
            name = trimmed_name(match[0])
            parts = name.split()
            if len(parts) < 2:
                continue
            titled = parts[0].strip(".").lower() in TITLES or any(_INITIAL.fullmatch(part) for part in parts)
            if (
                len(parts) < 2
                or not (self.about_people or titled)
                or any(part.strip(".").lower() in _NOT_A_PERSON for part in parts)
                or any(part.lower() in self.common - TITLES for part in parts)  # "Persecution Claims", a heading
            ):
                continue
            last = parts[-1] if parts[-1] not in ("Jr.", "Sr.") else parts[-2].rstrip(",")
            known = self.full_names.get(last)
            if known is None or (len(name) > len(known) and parts[0].lower() not in TITLES):
                self.full_names[last] = name if known is None or len(name) > len(known) else known
            named.append(self.full_names[last])
        self.persons += named
        self.latest_persons = named or self.latest_persons


def names_someone(text: str, context: Context) -> bool:
    """Whether a person is named in the text: one already known, or two capitals that no place or body bears."""
    if any(re.search(rf"\b{re.escape(last)}\b", text) for last in context.full_names):
        return True
    names = (trimmed_name(match[0]).split() for match in NAME.finditer(text))
    return any(
        len(parts) > 1 and not any(part.strip(".,").lower() in _NOT_A_PERSON for part in parts) for parts in names
    )


@cache
def _parts() -> list[tuple[frozenset[str], frozenset[str]]]:
    """Kinds of things and what belongs to them, from pipeline/data/parts.txt."""
    text = (Path(__file__).resolve().parent.parent / "data" / "parts.txt").read_text(encoding="utf-8")
    lines = (line.split(":") for line in text.splitlines() if line and not line.startswith("#"))
    return [(word_set(kinds), word_set(parts)) for kinds, parts in lines]


def has_part(kinds: set[str], part: str) -> bool:
    """Whether things of these kinds have such a part: a mountain has slopes, a flight has none."""
    return any(part in parts and kinds & owners for owners, parts in _parts())


def _said_to_be(found: Clause) -> set[str]:
    """The nouns that a subject is said to be: {"active", "volcano"} in "X is an active volcano on Ross Island"."""
    tokens = found.tokens[found.verb + 1 :]
    if found.tokens[found.verb].lower not in ("is", "was") or not tokens or tokens[0].tag != Tag.DETERMINER:
        return set()
    nouns: set[str] = set()
    for token in tokens[1:]:
        if token.tag not in (Tag.NOMINAL, Tag.ADVERB):
            break
        nouns.add(token.lower)
    return nouns


def _is_topic(asked: str) -> bool:
    """Whether a question names its topic: "the fastest animal" only describes it."""
    words = asked.split()
    if len(words) > _LONGEST_TOPIC or any(token.tag == Tag.SUBORDINATOR for token in tag(asked)):
        return False
    named = words[0].lower() == "the" and len(words) > 1 and words[1][0].isupper()
    return named or (len(words) < _LONGEST_TOPIC and words[0].lower() not in DETERMINERS | SUBJECT_PRONOUNS)


def _complement(found: Clause) -> str:
    """The name that a description stands for: "The fastest animal is the falcon"; else nothing."""
    tokens = found.tokens
    rest = tokens[found.verb + 1 :]
    text = found.text[tokens[found.verb].end :].strip(" .")
    if tokens[found.first].lower != "the" or tokens[found.verb].lower not in ("is", "was") or len(text.split()) > 5:
        return ""
    named = text.startswith(('"', "“")) or (rest and (rest[0].lower == "the" or rest[0].text[0].isupper()))
    return text if named and not any(token.tag in (Tag.PREPOSITION, Tag.SUBORDINATOR) for token in rest) else ""


def _inner_plural(subject: list[Token]) -> str:
    """The plural noun phrase at the end of a singular subject: "modules" in "the purpose of using modules"."""
    start = len(subject)
    while start and subject[start - 1].tag == Tag.NOMINAL:
        start -= 1
    phrase = subject[start:]
    return " ".join(token.text for token in phrase) if 0 < start and phrase and is_plural(phrase[-1].text) else ""


def trimmed_name(name: str) -> str:
    """A run of capitalised words without a first word that is only the first of its sentence ("In", "The")."""
    parts = name.split()
    while parts and parts[0].lower().rstrip(",.") in FUNCTION_WORDS:
        parts = parts[1:]
    return " ".join(parts).removesuffix("'s").removesuffix("’s")
