"""Screen 1 for benchmarks/effort.py where the suggestions are the product's own: what differs from gold is corrected.

Sentences are merged and split until they are cut as in gold. Of the claims of a sentence, those that fit worst are
removed and missing ones added at the end; the others are typed over in place. Labels that differ are clicked, the rest
is accepted by A. Every menu, reason and button of that is an action.
"""

from __future__ import annotations

import difflib
from typing import Any


def suggest_offline(documents: list[Any]) -> None:
    """Let the offline strategy decompose the documents, as a run does; later stages get nothing from it."""
    from annotator.core.vocabulary import Stage
    from annotator.suggestions.actions.runs import start_run
    from pipeline.runs import coordinator

    benchmark = documents[0].benchmark
    benchmark.strategy = "offline"
    benchmark.save()
    run = start_run(benchmark=benchmark, stage=Stage.DECOMPOSE, documents=[each.pk for each in documents], by=None)
    assert run is not None
    for item in coordinator.begin(run):
        coordinator.prefill_item(item)
    benchmark.strategy = ""
    benchmark.save()


def decompose_by_hand(robot: Any, document: Any, wanted: list[Any]) -> None:
    """All sentences of a document as in gold (``wanted``: as ``gold_sentences`` gives them)."""
    for number, gold in enumerate(wanted):
        cut_as_gold(robot, document, number, gold.text)
        row = sentences_of(document)[number]
        go_to(robot, row.public_id)
        correct_sentence(robot, row, gold)
        correct_claims(robot, row, gold.claims)
        while robot.page.locator(f"#panel:has([data-record='sentence:{row.public_id}']) button[data-key='a']").count():
            leave_text(robot)
            robot.press("a")
            robot.rest()


def leave_text(robot: Any) -> None:
    """Keys are off while typing."""
    if robot.page.evaluate("document.activeElement.matches('textarea')"):
        robot.press("Escape")


def sentences_of(document: Any) -> list[Any]:
    """The person's sentences as they stand."""
    from annotator.core.models import Sentence

    rows = Sentence.objects.filter(annotation__document=document, annotation__kind="individual", removed="")
    return list(rows.order_by("order", "pk"))


def cut_as_gold(robot: Any, document: Any, number: int, text: str) -> None:
    """Merge a sentence with the next and split it again until it has the gold text; as far as that goes."""
    page = robot.page
    for _ in range(6):
        row = sentences_of(document)[number]
        own, gold = row.text.strip(), text.strip()
        if own == gold:
            return
        go_to(robot, row.public_id)
        if gold.startswith(own) and number + 1 < len(sentences_of(document)):
            robot.click("#panel button:has-text('Merge with next') >> nth=0", "merge sentences")
        elif own.startswith(gold):
            robot.click(f"button[popovertarget='split-{row.public_id}']", "split a sentence")
            place = row.text.index(gold) + len(gold)
            place += len(row.text[place:]) - len(row.text[place:].lstrip())
            robot.click(f"#split-{row.public_id} button[value='{place}']", "split a sentence")
        else:
            return
        robot.rest()
        page.wait_for_timeout(50)


def go_to(robot: Any, identity: str) -> None:
    """The sentence opens by itself as a rule; else it is clicked on the map."""
    if not robot.page.locator(f"#panel [data-record='sentence:{identity}']").count():
        robot.click(f"#map a[href='?sentence={identity}']", "sentence on the map")
        robot.page.wait_for_selector(f"#panel [data-record='sentence:{identity}']")
        robot.rest()


def correct_sentence(robot: Any, row: Any, gold: Any) -> None:
    """Its decontextualized text and labels, where the suggestion is another one."""
    box = f"#sentence-{row.public_id}-decontext"
    if robot.page.locator(box).input_value() != gold.decontext:
        robot.write(box, gold.decontext)
    for name, value in (("type", gold.type), ("importance", gold.importance)):
        choose(robot, f"#sentence-{row.public_id}-{name}", value)


def correct_claims(robot: Any, row: Any, wanted: list[Any]) -> None:
    """The claims of a sentence: removed, typed over, added, labeled."""
    page = robot.page
    claims = "#panel article.claim[data-record]"
    for place in surplus(
        page.locator(f"{claims} textarea[data-field='text']").evaluate_all("all => all.map(e => e.value)"), wanted
    ):
        identity = page.locator(claims).nth(place).get_attribute("data-record").partition(":")[2]
        robot.click(f"button[popovertarget='more-{identity}']", "remove a claim")
        robot.click(f"button[popovertarget='remove-{identity}']", "remove a claim")
        robot.click(f"#remove-{identity} input[name='reason'] >> nth=0", "remove a claim")
        robot.click(f"#remove-{identity} button[type='submit']", "remove a claim")
        robot.rest()
    for number, gold in enumerate(wanted):
        if page.locator(claims).count() <= number:
            leave_text(robot)
            robot.press("n")
            robot.rest()
        identity = page.locator(claims).nth(number).get_attribute("data-record").partition(":")[2]
        box = f"#claim-{identity}-text"
        text = page.locator(box).input_value()
        if text != gold.text:
            robot.write(box, gold.text, focus=bool(text))  # a new claim has the focus
            robot.rest()
        choose(robot, f"#claim-{identity}-type", gold.type)
        if gold.type == "factual":
            choose(robot, f"#claim-{identity}-worth_checking", "yes")
        choose(robot, f"#claim-{identity}-importance", gold.importance)
        robot.rest()


def surplus(suggested: list[str], wanted: list[Any]) -> list[int]:
    """The places of the claims to remove, the last first: those that resemble no wanted claim most."""

    def likeness(text: str) -> float:
        return max((difflib.SequenceMatcher(None, text, each.text).ratio() for each in wanted), default=0.0)

    worst = sorted(range(len(suggested)), key=lambda place: likeness(suggested[place]))
    return sorted(worst[: max(0, len(suggested) - len(wanted))], reverse=True)


def choose(robot: Any, group: str, value: str) -> None:
    """Click a label, unless it is chosen, or suggested, which A accepts."""
    option = robot.page.locator(f"{group} label:has(input[value='{value}'])").first
    if not option.count() or not option.is_visible():
        return
    given = robot.page.locator(f"{group} input:checked")
    is_chosen = given.count() and given.first.get_attribute("value") == value
    is_suggested = not given.count() and option.get_attribute("data-suggested") is not None
    if not is_chosen and not is_suggested:
        robot.click(f"{group} label:has(input[value='{value}']) >> nth=0", "label")
        robot.rest()
