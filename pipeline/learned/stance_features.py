"""What can be counted about a claim and a passage: the numbers from which a stance is learned.

Most compare words: which of the claim's words, names and numbers a passage has, weighted by how much they say. Others
set a passage beside the claim's other passages, and a claim beside its document's other claims: a word that all claims
of a document share says what the document is about, one that a single claim has is what that claim asserts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from urllib.parse import SplitResult, unquote, urlsplit

from pipeline.claims.lexicon import MODALS, word_set
from pipeline.learned.examples import ExampleClaim, ExampleDocument, ExamplePassage
from pipeline.learned.reading import Rarity, ReadSentence, Row, Text, character_grams, read, stem_of

_CONTRAST = word_set("however but although though myth instead contrary unlike actually false incorrect rather whereas")
_HEDGES = word_set("may might could perhaps possibly probably likely some sometimes suggests seems unclear unknown")
_ABSOLUTE = word_set("all every always only never none no any entirely completely solely unique first last")
_COMPARING = re.compile(r"\b(?:more|less|most|least|\w{3,}est|\w{3,}er than|greater|higher|lower|larger|fewer)\b")
_LISTING = re.compile(r"\b(?:such as|including|include|e\.g\.|like)\b")
_NOISE = re.compile(
    r"\b(?:cookies?|sign in|log in|subscribe|advertis\w+|click|view solution|retrieved|isbn|archived|doi|edit ?\]"
    r"|asked|modified|viewed|upvote|share|copyright|menu|search|newsletter|download)\b",
    re.IGNORECASE,
)
_OPPOSITES = word_set(
    """
    hot/cold warm/cool high/low higher/lower large/small larger/smaller big/little strong/weak stronger/weaker fast/slow
    faster/slower early/late earlier/later before/after first/last old/young oldest/youngest male/female man/woman
    men/women north/south northern/southern east/west eastern/western increase/decrease increased/decreased rise/fall
    gain/lose win/lose won/lost true/false positive/negative good/bad better/worse best/worst more/less most/least
    major/minor many/few maximum/minimum long/short longer/shorter heavy/light wet/dry summer/winter solid/liquid
    solid/gas public/private same/different similar/different born/died alive/dead begin/end began/ended open/closed
    start/stop include/exclude internal/external inside/outside above/below natural/artificial possible/impossible
    common/rare easy/difficult safe/dangerous simple/complex war/peace import/export northeast/southwest allow/prevent
    attract/repel absorb/emit create/destroy expand/contract reactive/inert single/multiple
    """
)
_OPPOSITE_OF: dict[str, set[str]] = {}
for _one, _other in (pair.split("/") for pair in sorted(_OPPOSITES)):
    _OPPOSITE_OF.setdefault(stem_of(_one), set()).add(stem_of(_other))
    _OPPOSITE_OF.setdefault(stem_of(_other), set()).add(stem_of(_one))

Weight = Callable[[str], float]


def stance_rows(document: ExampleDocument, rarity: Rarity) -> list[Row]:
    """One row of named numbers for each passage of each claim, in the document's order."""
    claims = document.claims
    texts = [read(claim.text) for claim in claims]
    prompt = read(document.prompt)
    shared = Counter(stem for text in texts for stem in text.set)
    appears = Counter(text for claim in claims for text in {passage.text for passage in claim.passages})
    rows: list[Row] = []
    best_of_claims: list[float] = []
    starts: list[tuple[int, int]] = []
    for position, (claim, text) in enumerate(zip(claims, texts, strict=True)):
        focus = _focus(text, shared, len(texts), rarity)
        of_claim = _claim_row(text, prompt, texts, position, rarity)
        found = [
            of_claim | _pair_row(text, passage, rank, prompt, rarity, focus)
            for rank, passage in enumerate(claim.passages)
        ]
        for row, passage in zip(found, claim.passages, strict=True):
            row["claims with this passage"] = appears[passage.text] / max(len(claims), 1)
        _beside_each_other(found, claim, rarity)
        starts.append((len(rows), len(found)))
        best_of_claims.append(max((row["coverage"] for row in found), default=0.0))
        rows += found
    mean = _mean(best_of_claims)
    for (start, count), best in zip(starts, best_of_claims, strict=True):
        for row in rows[start : start + count]:
            row["document: mean best coverage"] = mean
            row["document: best coverage above mean"] = best - mean
            row["document: claims"] = math.log1p(len(claims))
    return rows


def _focus(text: Text, shared: Counter[str], claims: int, rarity: Rarity) -> Weight:
    """Weighs a stem by how few of the document's claims have it."""

    def weight(stem: str) -> float:
        return rarity(stem) * (math.log((claims + 1) / max(shared[stem], 1)) + 0.05)

    return weight


def _alike_all(stem: str) -> float:
    return 1.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _covered(stems: frozenset[str] | set[str], inside: frozenset[str] | set[str], weight: Weight) -> float:
    """The weighted share of ``stems`` that are ``inside``, 0 to 1; 0 where there are none."""
    total = sum(weight(stem) for stem in stems)
    return sum(weight(stem) for stem in stems if stem in inside) / total if total > 0 else 0.0


def _claim_row(text: Text, prompt: Text, texts: Sequence[Text], position: int, rarity: Rarity) -> Row:
    """What is known of a claim before any passage is read."""
    words = [word for each in text.sentences for word in each.all]
    new = text.set - prompt.set
    others = {stem for place, each in enumerate(texts) if place != position for stem in each.set}
    return {
        "claim: words": math.log1p(len(words)),
        "claim: content stems": math.log1p(len(text.set)),
        "claim: names": min(len(text.names), 6),
        "claim: numbers": min(len(text.numbers), 3),
        "claim: negated": float(any(each.negated for each in text.sentences)),
        "claim: modal": float(any(word in MODALS for word in words)),
        "claim: absolute": float(any(word in _ABSOLUTE for word in words)),
        "claim: comparing": float(bool(_COMPARING.search(text.text.lower()))),
        "claim: is": float(any(word in ("is", "are", "was", "were") for word in words[:6])),
        "claim: rarest stem": max((rarity(stem) for stem in text.set), default=0.0),
        "claim: mean rarity": _mean([rarity(stem) for stem in text.set]),
        "claim: share not in prompt": len(new) / len(text.set) if text.set else 0.0,
        "claim: share in no other claim": len(text.set - others) / len(text.set) if text.set else 0.0,
        "claim: place in document": position / max(len(texts) - 1, 1),
        "prompt: question": float("?" in prompt.text),
    }


def _pair_row(claim: Text, passage: ExamplePassage, rank: int, prompt: Text, rarity: Rarity, focus: Weight) -> Row:
    text = read(passage.text)
    title = read(f"{passage.title} {_address_words(passage.url)}")
    sentence = _best_sentence(claim, text, rarity)
    window = _best_window(claim, text, rarity)
    missing = claim.set - text.set
    new = claim.set - prompt.set
    half = len(dict.fromkeys(claim.stems)) // 2
    ordered = list(dict.fromkeys(claim.stems))
    row: Row = {
        "coverage": _covered(claim.set, text.set, rarity),
        "coverage, unweighted": _covered(claim.set, text.set, _alike_all),
        "coverage, focus": _covered(claim.set, text.set, focus),
        "coverage of what is not in the prompt": _covered(new, text.set, rarity) if new else 1.0,
        "coverage of first half": _covered(set(ordered[:half]), text.set, rarity),
        "coverage of second half": _covered(set(ordered[half:]), text.set, rarity),
        "coverage with title": _covered(claim.set, text.set | title.set, rarity),
        "title coverage": _covered(claim.set, title.set, rarity),
        "prompt coverage": _covered(prompt.set, text.set, rarity),
        "missing: rarest": max((rarity(stem) for stem in missing), default=0.0),
        "missing: mean rarity": _mean([rarity(stem) for stem in missing]),
        "missing: count": min(len(missing), 10),
        "window coverage": _covered(claim.set, window, rarity),
        "window coverage, focus": _covered(claim.set, window, focus),
        "pairs": _pairs(claim.stems, text),
        "character grams": len(claim.grams & text.grams) / len(claim.grams) if claim.grams else 0.0,
        "grams of missing": _near(missing, text.grams),
        "spread": _nearness(claim, text),
        "rank": float(rank),
        "first": float(rank == 0),
        "similarity": passage.similarity or 0.0,
        "has similarity": float(passage.similarity is not None),
        "passage: words": math.log1p(len(text.stems)),
        "passage: sentences": min(len(text.sentences), 12),
        "passage: questions": passage.text.count("?") / max(len(text.sentences), 1),
        "passage: noise": len(_NOISE.findall(passage.text)) / max(len(text.sentences), 1),
        "passage: names": len(text.names) / max(len(text.set), 1),
        "passage: numbers": len(text.numbers) / max(len(text.set), 1),
        "passage: negated": sum(each.negated for each in text.sentences) / max(len(text.sentences), 1),
        "passage: listing": float(bool(_LISTING.search(passage.text))),
        "passage: different words": len(text.set) / max(len(text.stems), 1),
    }
    row |= _sentence_row(claim, sentence, text, rarity, focus)
    row |= _names_and_numbers(claim, text, sentence)
    return row


def _best_sentence(claim: Text, text: Text, rarity: Rarity) -> ReadSentence | None:
    """The sentence that covers most of the claim; of equals the shorter one."""
    if not text.sentences:
        return None
    return max(text.sentences, key=lambda each: (_covered(claim.set, set(each.stems), rarity), -len(each.stems)))


def _best_window(claim: Text, text: Text, rarity: Rarity) -> set[str]:
    """The stems of the two neighboring sentences that cover most of the claim."""
    stems = [set(each.stems) for each in text.sentences]
    windows = [one | other for one, other in zip(stems, stems[1:], strict=False)] or stems
    return max(windows, key=lambda each: _covered(claim.set, each, rarity), default=set())


def _pairs(stems: Sequence[str], text: Text) -> float:
    """Share of the claim's neighboring content stems that stand near each other, in order, in a sentence."""
    pairs = set(zip(stems, stems[1:], strict=False))
    if not pairs:
        return 0.0
    there = {
        (first, second)
        for each in text.sentences
        for place, first in enumerate(each.stems)
        for second in each.stems[place + 1 : place + 4]
    }
    return len(pairs & there) / len(pairs)


def _near(missing: frozenset[str], grams: frozenset[str]) -> float:
    """Mean share of a missing stem's character grams that the passage has: other forms of the same word."""
    if not missing:
        return 1.0
    shares = [len(set(found) & grams) / len(found) for stem in missing if (found := character_grams(stem))]
    return _mean(shares)


def _nearness(claim: Text, text: Text) -> float:
    """How close together the claim's stems stand: its stems per word in the shortest stretch with all that occur."""
    places = [(place, stem) for place, stem in enumerate(text.stems) if stem in claim.set]
    wanted = len({stem for _, stem in places})
    if wanted < 2:
        return 0.0
    best = len(text.stems)
    counts: Counter[str] = Counter()
    left = 0
    for place, stem in places:
        counts[stem] += 1
        while len(counts) == wanted:
            first, gone = places[left]
            best = min(best, place - first + 1)
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            left += 1
    return wanted / best


def _sentence_row(claim: Text, sentence: ReadSentence | None, text: Text, rarity: Rarity, focus: Weight) -> Row:
    stems = set(sentence.stems) if sentence else set()
    words = sentence.all if sentence else ()
    claim_words = {word for each in claim.sentences for word in each.all}
    negated = any(each.negated for each in claim.sentences)
    shared = claim.set & stems
    longest = _longest_common(claim.stems, sentence.stems) if sentence else 0
    opposites = {stem for stem in claim.set - stems if _OPPOSITE_OF.get(stem, set()) & (stems - claim.set)}
    anywhere = {stem for stem in claim.set - text.set if _OPPOSITE_OF.get(stem, set()) & (text.set - claim.set)}
    return {
        "sentence coverage": _covered(claim.set, stems, rarity),
        "sentence coverage, focus": _covered(claim.set, stems, focus),
        "sentence dice": 2 * len(shared) / (len(claim.set) + len(stems)) if claim.set or stems else 0.0,
        "sentence precision": _covered(stems, claim.set, rarity),
        "sentence common order": longest / len(claim.stems) if claim.stems else 0.0,
        "sentence all words": len(claim_words & set(words)) / len(claim_words) if claim_words else 0.0,
        "sentence negated": float(sentence.negated) if sentence else 0.0,
        "negation differs": float(bool(sentence) and sentence.negated != negated) if sentence else 0.0,
        "negation differs, covered": float(sentence.negated != negated) * _covered(claim.set, stems, rarity)
        if sentence
        else 0.0,
        "sentence contrast": float(any(word in _CONTRAST for word in words)),
        "sentence hedged": float(any(word in _HEDGES for word in words)),
        "sentence question": float(bool(sentence) and sentence.text.rstrip().endswith("?")) if sentence else 0.0,
        "sentence comparing": float(bool(sentence and _COMPARING.search(sentence.text.lower()))),
        "opposites in sentence": float(len(opposites)),
        "opposites in passage": float(len(anywhere)),
    }


def _longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for left in one:
        before = 0
        for place, right in enumerate(other, start=1):
            before, row[place] = row[place], before + 1 if left == right else max(row[place], row[place - 1])
    return row[-1]


def _names_and_numbers(claim: Text, text: Text, sentence: ReadSentence | None) -> Row:
    numbers = sentence.numbers if sentence else frozenset[str]()
    years = {each for each in claim.numbers if _is_year(each)}
    other_years = {each for each in numbers if _is_year(each)} - years
    return {
        "names found": len(claim.names & text.set) / len(claim.names) if claim.names else 1.0,
        "names found in sentence": len(claim.names & set(sentence.stems)) / len(claim.names)
        if claim.names and sentence
        else 1.0,
        "names missing": min(len(claim.names - text.set), 5),
        "numbers found": len(claim.numbers & text.numbers) / len(claim.numbers) if claim.numbers else 1.0,
        "numbers missing": min(len(claim.numbers - text.numbers), 3),
        "other numbers instead": float(bool(claim.numbers - text.numbers) and bool(numbers - claim.numbers)),
        "other year instead": float(bool(years - text.numbers) and bool(other_years)),
        "numbers in sentence": min(len(numbers), 4),
    }


def _is_year(number: str) -> bool:
    return len(number) == 4 and number[:2] in ("14", "15", "16", "17", "18", "19", "20")


def _site(url: str) -> str:
    return _split(url).netloc.lower()


def _address_words(url: str) -> str:
    return re.sub(r"[^\w]+|_", " ", unquote(_split(url).path))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url if "//" in url else f"//{url}")
    except ValueError:  # no address at all, as people type it
        return SplitResult("", "", url, "", "")


def _beside_each_other(rows: list[Row], claim: ExampleClaim, rarity: Rarity) -> None:
    """Adds to each passage of a claim how it compares with the claim's other passages."""
    if not rows:
        return
    texts = [read(passage.text) for passage in claim.passages]
    for name in ("coverage", "coverage, focus", "sentence coverage", "pairs", "title coverage"):
        values = [row[name] for row in rows]
        best, mean = max(values), _mean(values)
        order = sorted(values, reverse=True)
        for row, value in zip(rows, values, strict=True):
            row[f"{name}: below the best"] = best - value
            row[f"{name}: above the mean"] = value - mean
            row[f"{name}: place"] = float(order.index(value))
            row[f"{name}: the claim's best"] = best
            row[f"{name}: the claim's mean"] = mean
    best_score = max((passage.score or 0.0 for passage in claim.passages), default=0.0)
    for place, row in enumerate(rows):
        row["score of the best"] = (claim.passages[place].score or 0.0) / best_score if best_score > 0 else 0.0
        alike = [_alike(texts[place], each, rarity) for other, each in enumerate(texts) if other != place]
        row["alike: mean"] = _mean(alike)
        row["alike: most"] = max(alike, default=0.0)
        row["repeated"] = float(sum(each.text == texts[place].text for each in texts) > 1)
        row["same site"] = float(sum(_site(each.url) == _site(claim.passages[place].url) for each in claim.passages))
    fewest = min(row["numbers missing"] for row in rows)
    for row in rows:
        row["numbers found elsewhere"] = float(row["numbers missing"] > fewest)


def _alike(one: Text, other: Text, rarity: Rarity) -> float:
    """Weighted Jaccard of two passages."""
    union = sum(rarity(stem) for stem in one.set | other.set)
    return sum(rarity(stem) for stem in one.set & other.set) / union if union else 0.0
