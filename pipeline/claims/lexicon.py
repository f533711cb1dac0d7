"""The closed word classes of English, and the forms of common verbs: what the rules know in place of a model."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple


def word_set(text: str) -> frozenset[str]:
    """The words of a list in running form."""
    return frozenset(text.split())


DETERMINERS = word_set(
    """
    a an the this that these those some any each every either neither no both all many much few several
    such another other most more various certain one two three four five six seven eight nine ten its
    his her their our my your whose half multiple numerous
    """
)
SUBJECT_PRONOUNS = word_set("he she it they i we you who this these those there")
PREPOSITIONS = word_set(
    """
    of in on at by for with from to into onto over under about above across after against along among
    amongst around as before behind below beneath beside besides between beyond despite down during
    except inside like near off out outside per since than through throughout till toward towards until
    up upon via within without including regarding concerning following amid versus unlike alongside
    """
)
BE = word_set("is are was were am be been being")
FINITE_AUXILIARIES = word_set(
    """
    is are was were am has have had do does did can could will would may might must shall should cannot
    isn't aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't can't couldn't won't wouldn't
    shouldn't
    """
)
MODALS = word_set("can could will would may might must shall should cannot can't couldn't won't wouldn't")
CONJUNCTIONS = word_set("and or but nor yet so")
SUBORDINATORS = word_set(
    """
    because although though while whereas when whenever where wherever if unless since until before
    after as once that whether which who whom whose how why what
    """
)
ADVERBS = word_set(
    """
    also not never always often usually generally typically commonly widely currently originally later
    then still now already just only even very quite rather too almost nearly about approximately first
    once again ever mostly mainly primarily especially particularly however therefore thus hence instead
    together well more most less least further sometimes rarely there here soon eventually
    """
)
FUNCTION_WORDS = (
    DETERMINERS
    | SUBJECT_PRONOUNS
    | PREPOSITIONS
    | BE
    | FINITE_AUXILIARIES
    | CONJUNCTIONS
    | SUBORDINATORS
    | ADVERBS
    | word_set("him them me us himself herself itself themselves hers theirs s t re ve ll d m")
)
MONTHS = word_set("january february march april may june july august september october november december")


class Verbs(NamedTuple):
    """Forms of the listed verbs: present third person, base, past, participle, each mapped to the base form."""

    third: dict[str, str]
    base: dict[str, str]
    past: dict[str, str]
    participle: dict[str, str]
    gerund: dict[str, str]
    nouns: set[str]  # base and third person forms that are mostly nouns


@cache
def verbs() -> Verbs:
    """All forms of the verbs in pipeline/data/verbs.txt, spelled by the regular rules where none is given."""
    found = Verbs({}, {}, {}, {}, {}, set())
    text = (Path(__file__).resolve().parent.parent / "data" / "verbs.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        for entry in [] if line.startswith("#") else line.split():
            base, *irregular = entry.removeprefix("~").split("/")
            if entry.startswith("~"):
                found.nouns.update((base, with_s(base)))
            found.base[base] = base
            found.third["has" if base == "have" else with_s(base)] = base
            past, participle = irregular or (with_ending(base, "ed"), with_ending(base, "ed"))
            # Some pasts are the base of another verb (found, lay): the first entry keeps the form.
            found.past.setdefault(past, base)
            found.participle.setdefault(participle, base)
            found.gerund.setdefault(with_ending(base, "ing"), base)
    return found


def with_s(base: str) -> str:
    """The third person present: go, goes; carry, carries; make, makes."""
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def with_ending(base: str, ending: str) -> str:
    """The regular "ed" or "ing" form: make, making; stop, stopped; carry, carried; die, dying."""
    if base.endswith("ie") and ending == "ing":
        return base[:-2] + "ying"
    if base.endswith("e") and ending == "ed":
        return base + "d"
    if base.endswith("e") and not base.endswith(("ee", "ye", "oe")):
        return base[:-1] + ending
    if base.endswith("y") and base[-2] not in "aeiou" and ending == "ed":
        return base[:-1] + "ied"
    if base in _DOUBLING:
        return base + base[-1] + ending
    return base + ending


_DOUBLING = word_set(
    """
    stop plan drop fit commit admit permit submit transfer refer prefer occur propel star begin get set
    put cut let run win sit hit shut control stem
    """
)
