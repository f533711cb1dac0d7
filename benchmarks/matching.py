#!/usr/bin/env python
"""How often are claims of two annotators matched wrongly, or not at all? Measured on pairs made from released gold.

    python benchmarks/matching.py [FILE] [--json] [--rounds 20] [--missed 0.15] [--seed 0]

FILE is the released JSONL (default: factcheck-bench.dev.jsonl in the folder TOUCHSTONE_DATA). Two annotators are made
of each document: each leaves out a claim with the probability ``--missed``, and rewords each of the others by one to
five rules that keep its meaning (articles, order, short names, synonyms, spelling of numbers; where a sentence has one
claim, also the annotators' own decontextualized sentence). Claims are matched sentence by sentence, as in adjudication,
and response by response.

    false     matched pairs that are two different claims of the gold, of all matched pairs
    missed    claims that both have and that are not matched with each other, of all that both have
    changed   claims matched with their own correction, in which a number, a name or a negation differs; of all false
              claims whose correction is a text: here a person read the difference out of the evidence

The rewordings are rules, milder than people's own; ``missed`` is a lower bound.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pipeline.metrics.alignment import Match, align  # noqa: E402
from pipeline.metrics.claim_matching import SAME_CLAIM, match_claims  # noqa: E402

Matcher = Callable[[Sequence[str], Sequence[str]], list[Match]]
THRESHOLDS = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)

# fmt: off
_SYNONYMS = {
    "founded": "established", "located": "situated", "film": "movie", "began": "started", "approximately": "about",
    "large": "big", "created": "made", "famous": "well-known", "received": "got", "purchased": "bought",
    "died": "passed away", "author": "writer", "currently": "now", "primarily": "mainly", "children": "kids",
    "several": "a number of", "country": "nation", "started": "began", "company": "firm", "used": "employed",
    "provides": "offers", "commonly": "often", "largest": "biggest", "developed": "designed",
}
# fmt: on
_DIGITS = dict(zip("two three four five six seven eight nine ten".split(), "2 3 4 5 6 7 8 9 10".split(), strict=True))


@dataclass(frozen=True, slots=True)
class GoldClaim:
    """A claim with what else says the same."""

    text: str
    other: str  # the decontextualized sentence where it is the sentence's only claim, else ""


@dataclass(slots=True)
class Errors:
    matched: int = 0
    false: int = 0
    shared: int = 0
    missed: int = 0

    def as_json(self) -> dict[str, float | int]:
        return asdict(self) | {
            "false_rate": round(self.false / self.matched, 4) if self.matched else 0.0,
            "missed_rate": round(self.missed / self.shared, 4) if self.shared else 0.0,
        }


def documents_of(path: Path) -> Iterator[list[list[GoldClaim]]]:
    """The claims of each document, sentence by sentence."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            sentences = json.loads(line)["sentences"].values()
            yield [
                [
                    GoldClaim(text, str(each.get("decontext") or "") if len(each["claims"]) == 1 else "")
                    for text in each["claims"]
                    if text.strip()
                ]
                for each in sentences
            ]


def changed_pairs(path: Path) -> list[tuple[str, str]]:
    """False claims with their corrections, where the correction differs in a number, a name or a negation."""
    found = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            for each in json.loads(line)["sentences"].values():
                for before, after, needs in zip(
                    each["claims"], each["revised_claims"], each["if_claim_needs_edit"], strict=False
                ):
                    if needs == "yes" and isinstance(after, str) and after.strip() and _tells(before) != _tells(after):
                        found.append((before, after))
    return found


def _tells(text: str) -> tuple[set[str], bool]:
    marks = set(re.findall(r"\d[\d,.]*\d|\d|(?<=\s)[A-Z]\w+", text))
    return marks, bool(re.search(r"\b(not|no|never)\b|n[’']t\b", text))


# --- rewordings that keep the meaning -------------------------------------------------------------


def _without_articles(text: str) -> str:
    return re.sub(r"\b(?:the|a|an) (?=\w)", "", text)


def _time_last(text: str) -> str:
    found = re.match(r"((?:In|On|By|As of) [^,]{2,30}), (.+?)\.?$", text)
    return f"{found[2][0].upper()}{found[2][1:]} {found[1][0].lower()}{found[1][1:]}." if found else text


def _short_name(text: str) -> str:
    return re.sub(r"^((?:[A-Z][\w.]*\s){1,3})(?=[A-Z]\w+ (?:is|was|has|had|served|became|won|wrote)\b)", "", text)


def _synonyms(text: str) -> str:
    return re.sub(r"\w+", lambda found: _SYNONYMS.get(found[0], found[0]), text)


def _numbers(text: str) -> str:
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text).replace("%", " percent")
    return re.sub(r"\w+", lambda found: _DIGITS.get(found[0], found[0]), text)


def _spelling(text: str) -> str:
    for one, other in (("United States", "US"), ("United Kingdom", "UK"), ("did not", "didn’t"), ("is not", "isn’t")):
        text = text.replace(one, other)
    return text.rstrip(".")


def _shorter(text: str) -> str:
    return re.sub(r"\b(?:also|currently|widely|primarily|typically|generally|often|very|actually) ", "", text)


_REWORDINGS = (_without_articles, _time_last, _short_name, _synonyms, _numbers, _spelling, _shorter)


def reworded(claim: GoldClaim, chance: random.Random) -> str:
    text = claim.other if claim.other and chance.random() < 0.25 else claim.text
    for change in chance.sample(_REWORDINGS, chance.randint(1, 5)):
        text = change(text) or text
    return text


# --- measuring ------------------------------------------------------------------------------------


def annotator(claims: Sequence[GoldClaim], missed: float, chance: random.Random) -> list[tuple[int, str]]:
    """One annotator's claims, each with its place in the gold."""
    return [(at, reworded(claim, chance)) for at, claim in enumerate(claims) if chance.random() >= missed]


def errors_of(cases: Sequence[tuple[list[tuple[int, str]], list[tuple[int, str]]]], matcher: Matcher) -> Errors:
    found = Errors()
    for one, other in cases:
        pairs = matcher([text for _, text in one], [text for _, text in other])
        right = sum(one[each.first][0] == other[each.second][0] for each in pairs)
        shared = len({at for at, _ in one} & {at for at, _ in other})
        found.matched += len(pairs)
        found.false += len(pairs) - right
        found.shared += shared
        found.missed += shared - right
    return found


def measure(path: Path, *, rounds: int, missed: float, seed: int) -> dict[str, object]:
    documents = list(documents_of(path))
    levels = {
        "sentence": [claims for document in documents for claims in document],
        "response": [[claim for claims in document for claim in claims] for document in documents],
    }
    changed = changed_pairs(path)
    matchers: dict[str, Matcher] = {"token F1, 0.5": partial(align, threshold=0.5)}
    matchers |= {f"claim matcher, {each:g}": partial(match_claims, threshold=each) for each in THRESHOLDS}
    rows: dict[str, dict[str, object]] = {name: {} for name in matchers}
    for level, sets in levels.items():
        chance = random.Random(seed)
        cases = [
            (annotator(claims, missed, chance), annotator(claims, missed, chance))
            for _ in range(rounds)
            for claims in sets
        ]
        for name, matcher in matchers.items():
            rows[name][level] = errors_of(cases, matcher).as_json()
    for name, matcher in matchers.items():
        same = sum(len(matcher([before], [after])) for before, after in changed)
        rows[name]["changed"] = {"matched": same, "pairs": len(changed), "rate": round(same / len(changed), 4)}
    return {
        "file": path.name,
        "claims": sum(map(len, levels["sentence"])),
        "rounds": rounds,
        "missed_by_each": missed,
        "seed": seed,
        "threshold": SAME_CLAIM,
        "matchers": rows,
    }


def main() -> None:
    data = Path(os.environ.get("TOUCHSTONE_DATA") or ROOT.parent / "shared" / "data")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=data / "factcheck-bench.dev.jsonl")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--missed", type=float, default=0.15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure(given.file, rounds=given.rounds, missed=given.missed, seed=given.seed)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{found['claims']} claims, {given.rounds} rounds; each annotator leaves out {given.missed:.0%}")
    print(f"  {'':<22}{'false':>16}{'missed':>16}{'changed':>10}")
    print(f"  {'':<22}{'sent.':>8}{'resp.':>8}{'sent.':>8}{'resp.':>8}")
    for name, row in found["matchers"].items():  # type: ignore[attr-defined]
        rates = [row[level][key] for key in ("false_rate", "missed_rate") for level in ("sentence", "response")]
        print(f"  {name:<22}" + "".join(f"{each:>8.2%}" for each in rates) + f"{row['changed']['rate']:>10.1%}")


if __name__ == "__main__":
    main()
