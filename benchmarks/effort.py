"""How many clicks and key presses does a gold document cost?

A robot produces the gold labels of the dev documents through the real screens, in a real browser: suggestions are
the gold sentences, claims and passages, so decomposition is accepted; stances, verdicts and edits are given by hand.
All questions of the default protocol are switched on; the two that are never required stay unanswered. The window has
1440 x 900 px. The robot starts once; each submission starts the next task, whichever that is.
Counted: every click and every key press that is not typed text: starting, submitting, scrolling to a control that is
out of view, focusing a text. Typed characters are counted apart. The original tool needs at least 136 actions
(43 on screen 1, 77 on screen 2, 16 on screen 3; counted from its controls, no typing, no mistakes).

With --suggestions offline, sentences and claims are suggested by the product's own offline strategy, and the robot
corrects them (benchmarks/effort_offline.py).

    .venv/bin/python benchmarks/effort.py [--documents 47] [--suggestions offline] [--file GOLD.jsonl] [--json]
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import effort_offline  # noqa: E402

ORIGINAL = {"decompose": 43, "verify": 77, "revise": 16}
HIT = 24  # px of a control that have to be in view to click it
PACE = 80  # ms between two keys: a fast hand
PASSWORD = secrets.token_urlsafe(12)


@dataclass
class Count:
    """Presses and clicks on each screen of one document, and whether its gold came out."""

    document: int
    decompose: int = 0
    verify: int = 0
    revise: int = 0
    claims: int = 0
    passages: int = 0
    typed_characters: int = 0
    kinds: dict[str, dict[str, int]] = field(default_factory=dict)  # by screen
    differences: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.decompose + self.verify + self.revise


class Robot:
    """Hands on keyboard and mouse that count what they do."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.kinds: Counter[str] = Counter()  # what was pressed or clicked on this screen, how often
        self.typed = 0

    @property
    def count(self) -> int:
        """All actions on this screen so far."""
        return self.kinds.total()

    def press(self, key: str) -> None:
        """One key that is not text."""
        self.kinds[key] += 1
        self.page.keyboard.press(key)

    def click(self, selector: str, what: str) -> None:
        """One click, and one action more where the control is out of view."""
        control = self.page.locator(selector).first
        box = control.bounding_box()
        height = self.page.viewport_size["height"]
        enough = min(box["height"], HIT) if box else 0
        if box is None or min(box["y"] + box["height"], height) - max(box["y"], 0) < enough:
            self.kinds["scroll"] += 1
        self.kinds[f"click: {what}"] += 1
        control.click()

    def finish(self, count: Count, screen: str) -> None:
        """Enter what one screen has cost."""
        setattr(count, screen, self.count)
        count.kinds[screen] = dict(self.kinds)
        count.typed_characters += self.typed
        self.kinds.clear()
        self.typed = 0

    def write(self, selector: str, text: str, *, focus: bool = True) -> None:
        """Replace the text of a field: a click into it, unless it has the focus already, and what is typed."""
        if focus:
            self.click(selector, "into a text")
        field = self.page.locator(selector).first
        self.typed += changed_characters(field.input_value(), text)
        field.fill(text)

    def rest(self) -> None:
        """Until everything is saved and no request is under way."""
        self.page.wait_for_timeout(60)  # a request begins a moment after the key
        self.page.wait_for_function(
            "() => document.querySelector('#save-state').dataset.state === 'saved'"
            " && !document.querySelector('.htmx-request, [aria-busy=true]')",
            timeout=20_000,
        )
        self.page.wait_for_timeout(30)


def changed_characters(before: str, after: str) -> int:
    """Characters to type and to delete, by the longest common parts of the two texts."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal")


def start_server(var: str) -> tuple[subprocess.Popen[bytes], str]:
    """The application on a scratch database and a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "TOUCHSTONE_VAR": var, "DEBUG": "1"}
    manage = [sys.executable, str(ROOT / "manage.py")]
    subprocess.run([*manage, "migrate", "-v0"], env=environment, check=True)
    server = subprocess.Popen(
        [*manage, "runserver", f"127.0.0.1:{port}", "--noreload"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return server, address
        time.sleep(0.1)
    raise RuntimeError("The server did not start within a minute.")


TYPES = {"yes": "checkworthy"}
IMPORTANCE = {"yes": "most", "intermediate": "intermediate", "no": "less"}


def seed(gold: list[dict[str, Any]], suggestions: str) -> list[Any]:
    """Documents whose suggestions are the gold sentences and claims, or the offline strategy's. No strategy: nothing
    else is suggested."""
    from annotator.core.models import Benchmark, Document, Guidelines, Membership, User
    from annotator.core.vocabulary import Role
    from annotator.suggestions.actions.proposals import propose_sentences

    person = User.objects.create_user("robot", password=PASSWORD, display_name="Robot")
    benchmark = Benchmark.objects.create(
        slug="effort", name="Effort", strategy="", asks_reliable=True, asks_sufficient=True
    )
    Guidelines.objects.create(benchmark=benchmark, number=1, text="# Guidelines")
    Membership.objects.create(benchmark=benchmark, user=person, role=Role.ANNOTATOR)
    documents = []
    for number, line in enumerate(gold, start=1):
        document = Document.objects.create(
            benchmark=benchmark,
            order=number,
            identity=f"dev-{number}",
            external_id=f"dev-{number}",
            content_hash=str(number),
            prompt=line["prompt"],
            response=line["response"],
        )
        documents.append(document)
        if suggestions == "gold":
            propose_sentences(document, gold_sentences(line))
    if suggestions == "offline":
        effort_offline.suggest_offline(documents)
    return documents


def gold_sentences(line: dict[str, Any]) -> list[Any]:
    """The gold sentences of a line as suggestions."""
    from annotator.suggestions.actions.proposals import ProposedClaim, ProposedSentence

    found = []
    position = 0
    for sentence in line["sentences"].values():
        start = line["response"].find(sentence["text"], position)
        end = start + len(sentence["text"])
        position = max(position, end if start >= 0 else position)
        claims = [
            ProposedClaim(text, type=kind, worth_checking=True, importance=IMPORTANCE[importance])
            for text, kind, importance in zip(
                sentence["claims"], sentence["claim_checkworthiness"], sentence["if_most_important_claim"], strict=True
            )
        ]
        found.append(
            ProposedSentence(
                text=sentence["text"],
                start=start if start >= 0 else None,
                end=end if start >= 0 else None,
                decontext=sentence["decontext"].strip() or sentence["text"],
                type=TYPES.get(sentence["sentence_checkworthiness"], sentence["sentence_checkworthiness"]),
                importance=IMPORTANCE[sentence["most_importance_sentence"]],
                claims=claims,
            )
        )
    return found


def gold_claims(line: dict[str, Any]) -> list[dict[str, Any]]:
    """The factual claims of a gold line in order, one dict each."""
    found = []
    for sentence in line["sentences"].values():
        for place, text in enumerate(sentence["claims"]):
            if sentence["claim_checkworthiness"][place] == "factual":
                found.append(
                    {
                        "text": text,
                        "passages": sentence["auto_evidence"][place],
                        "urls": sentence["auto_evidence_url"][place],
                        "stances": sentence["stance_claim_autoEvid"][place],
                        "enough": sentence["if_automatic_evidence_enough_to_verify"][place],
                        "needs_edit": sentence["if_claim_needs_edit"][place],
                        "revised": sentence["revised_claims"][place],
                        "human": sentence["human_evidence"][place],
                    }
                )
    return found


def put_evidence(document: Any, wanted: list[dict[str, Any]]) -> None:
    """Store the gold passages for the agreed claims, as a retrieval would have."""
    from annotator.core.models import Claim
    from annotator.core.vocabulary import AnnotationKind
    from annotator.suggestions.actions.proposals import ProposedPassage, propose_evidence

    claims = [
        claim
        for claim in Claim.objects.filter(
            sentence__annotation__document=document,
            sentence__annotation__kind=AnnotationKind.CONSOLIDATED,
            sentence__removed="",
        ).order_by("sentence__order", "order")
        if claim.is_checked
    ]
    propose_evidence(
        document,
        {
            claim.pk: [
                ProposedPassage(passage.replace("\0", ""), url)
                for passage, url in zip(gold["passages"], gold["urls"], strict=True)
            ]
            for claim, gold in zip(claims, wanted, strict=True)
        },
    )


def decompose(robot: Robot, line: dict[str, Any]) -> None:
    """Screen 1: accept each sentence, as often as there is something that was not in view yet."""
    page = robot.page
    while page.locator("button[data-key='a']:visible").count():
        robot.press("a")
        robot.rest()


def begin(robot: Robot) -> None:
    """A screen that has just opened: the notes for newcomers are dismissed, once on each screen."""
    robot.rest()
    while robot.page.locator("[data-dismiss]:visible").count():
        robot.click("[data-dismiss]:visible", "dismiss a note")


def submit_and_go_on(robot: Robot) -> None:
    """Submit and start the next in one press. Where the gold contradicts itself, a reason is asked for before."""
    page, here = robot.page, robot.page.url
    robot.press("Control+Shift+Enter")
    asked = "document.querySelector('.review')"
    page.wait_for_function(f"here => location.href !== here || {asked}", arg=here, timeout=20_000)
    if page.url == here and page.locator(".review").count():
        if page.locator("#submit-reason").count():
            robot.write("#submit-reason", "As in the gold.", focus=False)
        robot.press("Enter")
    page.wait_for_function("here => location.href !== here", arg=here, timeout=20_000)
    page.wait_for_load_state()


STANCE_KEYS = {"completely-support": "1", "partially-support": "2", "refute": "3", "irrelevant": "4"}


VERDICT_KEYS = {"yes": "f", "no": "t"}  # by "needs an edit"


def verify(robot: Robot, line: dict[str, Any]) -> None:
    """Screen 2: a stance for each passage, the verdict, the edit of a false claim; claims open by themselves."""
    claims = gold_claims(line)
    for position, gold in enumerate(claims):
        judge(robot, gold["stances"])
        own = gold["human"].strip() not in ("", "NA")
        if own:
            add_own_evidence(robot, gold)
        # Left open, this answer follows from true or false and the evidence of one's own; else it is given first.
        undecided = gold["needs_edit"] == "not_enough_evidence"
        follows = "no" if own else "" if undecided else "yes"
        if gold["enough"] != follows:
            robot.press({"yes": "y", "no": "x"}[gold["enough"]])
            robot.rest()
        close_claim(robot, gold)
        if gold["needs_edit"] == "yes":
            robot.rest()
            correct(robot, gold)
        robot.rest()
        if position + 1 < len(claims):
            go_to(robot, position + 1)


def judge(robot: Robot, stances: list[str]) -> None:
    """A stance for each passage: those that speak about the claim one by one, the rest by 0."""
    page = robot.page
    places = passages_in_sight(page)
    cards = page.locator("article.ev[data-record]")
    for number, place in enumerate(places):
        repeated = cards.nth(number).locator("details.repeated").count()  # takes the stance of the first
        if stances[place] == "irrelevant" or repeated:
            continue
        label = STANCE_KEYS[stances[place]]
        if cards.nth(number).get_attribute("data-current") is not None:
            robot.press(label)
        else:
            identity = cards.nth(number).get_attribute("id")
            robot.click(f"#{identity} .card-choices label >> nth={int(label) - 1}", "stance")
        page.wait_for_timeout(PACE)
    robot.rest()


OPEN = "article.ev:not([data-follows]) [data-advance][data-undecided]"


def close_claim(robot: Robot, gold: dict[str, Any]) -> None:
    """The verdict, and with it that the passages which are left are irrelevant: one key, for those in view. Where the
    gold judges passages with the same words apart, they are taken apart before."""
    page = robot.page
    key = VERDICT_KEYS.get(gold["needs_edit"], "u")
    claim = page.locator(".judgement").get_attribute("data-claim")
    here = f".verify:has([data-claim='{claim}'])"
    apart = len(set(zip(gold["passages"], gold["stances"], strict=True))) > len(set(gold["passages"]))
    while page.locator(f"{here} {OPEN}").count():
        robot.press("0" if apart else f"Shift+{key.upper()}")
        robot.rest()
    if apart:
        take_apart(robot, gold["stances"])
    if page.locator(here).count() and not page.locator(".judgement input[data-field='factuality']:checked").count():
        robot.press(key)
        robot.rest()


def take_apart(robot: Robot, stances: list[str]) -> None:
    """Give passages with the same words the stances of their own."""
    cards = robot.page.locator("article.ev[data-record]")
    for number, place in enumerate(passages_in_sight(robot.page)):
        if place < len(stances) and not is_answered(cards.nth(number), stances[place]):
            identity = cards.nth(number).get_attribute("id")
            robot.click(f"#{identity} details.repeated summary", "repeated passage")
            label = int(STANCE_KEYS[stances[place]])
            robot.click(f"#{identity} .card-choices label >> nth={label - 1}", "repeated passage")
            robot.rest()


def is_answered(card: Any, stance: str) -> bool:
    """Does the card show this stance?"""
    value = f"[value='{stance.replace('-', '_')}']"
    return bool(card.locator(f"input[data-field='label']{value}:checked").count())


def passages_in_sight(page: Any) -> list[int]:
    """The gold places of the passages in the order of the cards (passages of one page stand together)."""
    from annotator.core.models import Stance

    ids = page.locator("article.ev[data-record]").evaluate_all("cards => cards.map(card => card.dataset.record)")
    ids = [each.removeprefix("stance:") for each in ids]
    orders = dict(Stance.objects.filter(public_id__in=ids).values_list("public_id", "evidence__order"))
    return [orders[each] - 1 for each in ids]


def go_to(robot: Robot, position: int) -> None:
    """Wait for the next claim to open by itself; where it does not, click it in the list."""
    link = f"xpath=(//*[@id='claims']//a)[{position + 1}]"
    try:
        robot.page.wait_for_selector(f"{link}[@aria-current]", timeout=1500)
    except PlaywrightTimeoutError:
        robot.click(link, "claim")
    robot.rest()


def add_own_evidence(robot: Robot, gold: dict[str, Any]) -> None:
    """The evidence form: opened by its key, filled in by typing, sent with Enter; then its stance."""
    page = robot.page
    words = gold["human"].split()
    url = next((word for word in words if word.startswith("http")), "")
    robot.press("e")
    page.wait_for_timeout(60)
    passage = gold["human"].replace(url, "").strip() or "see the page"
    robot.write("#add-passage", f"{url} {passage}".strip(), focus=False)
    stance = "completely_support" if gold["needs_edit"] == "no" else "refute"
    robot.click(f"#add-evidence button[value={stance}]", "add evidence")
    robot.rest()


def correct(robot: Robot, gold: dict[str, Any]) -> None:
    """The edit that gives the gold claim: deleted by one click, else typed in place."""
    page = robot.page
    if not gold["revised"].strip() or gold["revised"] == gold["text"]:
        # One false claim of the release stands unchanged: here a false claim needs an edit.
        robot.click("button:has-text('Delete claim')", "delete claim")
        robot.rest()
        return
    page.wait_for_function("() => document.activeElement.id === 'rewrite-text'", timeout=5000)
    robot.write("#rewrite-text", gold["revised"], focus=False)
    robot.press("Enter")
    robot.rest()


def revise(robot: Robot, line: dict[str, Any]) -> None:
    """Screen 3: correct the statements that differ from gold, then the response."""
    page = robot.page
    rows = page.locator("[data-record^='sentence-revision:']")
    for place, sentence in enumerate(line["sentences"].values()):
        wanted = sentence["revised_decontext"]
        row = rows.nth(place)
        box = row.locator("textarea[data-field='text']").first
        if isinstance(wanted, str) and wanted.strip():
            if box.count() and box.input_value() != wanted:
                identity = row.get_attribute("data-record")
                robot.write(f"[data-record='{identity}'] textarea[data-field='text']", wanted)
                robot.rest()
        elif isinstance(wanted, str) and row.locator("button:has-text('Delete sentence')").count():
            identity = row.get_attribute("data-record")
            robot.click(f"[data-record='{identity}'] button:has-text('Delete sentence')", "delete sentence")
            robot.rest()
    while page.locator("button:has-text('Confirm')").count():
        robot.click("button:has-text('Confirm') >> nth=0", "confirm a sentence")
        robot.rest()
    response = page.locator("[data-record^='response-revision:'] textarea")
    if response.input_value() != line["revised_response"]:
        robot.write("[data-record^='response-revision:'] textarea", line["revised_response"])
        page.wait_for_timeout(700)
        robot.rest()


def main() -> int:
    """Run the robot and print the table (or JSON)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=47)
    parser.add_argument("--file", type=Path, help="another file of gold; the dev documents by default")
    parser.add_argument(
        "--suggestions",
        choices=("gold", "offline"),
        default="gold",
        help="of sentences and claims; passages are gold's",
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data = Path(os.environ.get("TOUCHSTONE_DATA") or ROOT.parent / "shared" / "data")
    path = options.file or data / "factcheck-bench.dev.jsonl"
    if not path.is_file():
        print(f"No {path.name} in {data}: name its folder in TOUCHSTONE_DATA.", file=sys.stderr)
        return 2
    gold = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][: options.documents]
    var = tempfile.mkdtemp(prefix="touchstone-effort-")
    os.environ["TOUCHSTONE_VAR"] = var
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django

    server, address = start_server(var)
    try:
        django.setup()
        counts = play(address, gold, options.suggestions)
    finally:
        server.terminate()
        server.wait(timeout=10)
        shutil.rmtree(var, ignore_errors=True)
    report(counts, as_json=options.json)
    return 0 if all(not each.differences for each in counts) else 1


def play(address: str, gold: list[dict[str, Any]], suggestions: str) -> list[Count]:
    """All documents through all three screens."""
    documents = seed(gold, suggestions)
    counts: list[Count] = []
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"],
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/sign-in/")
        page.fill("[name=login]", "robot")
        page.fill("[name=password]", PASSWORD)
        page.press("[name=password]", "Enter")
        page.wait_for_load_state()
        robot = Robot(page)
        counts = [count_of(document, line) for document, line in zip(documents, gold, strict=True)]
        places = {document.public_id: number for number, document in enumerate(documents)}
        robot.press("n")
        page.wait_for_url("**/d/*/decompose/", timeout=20_000)
        while (found := ADDRESS.search(page.url)) is not None:
            number = places[found["document"]]
            work(robot, documents[number], gold[number], counts[number], found["stage"], suggestions)
        browser.close()
    from annotator.exchange.formats.factcheck_bench import render
    from annotator.exchange.queries.export import gold_documents

    exported = [render(document) for document in gold_documents(documents[0].benchmark)]
    for count, given, line in zip(counts, exported, gold, strict=True):
        count.differences = differences(given, line)
    return counts


ADDRESS = re.compile("/d/(?P<document>[^/]+)/(?P<stage>decompose|verify|revise)/")


def count_of(document: Any, line: dict[str, Any]) -> Count:
    """A document of which nothing is done yet."""
    claims = gold_claims(line)
    return Count(document.order, claims=len(claims), passages=sum(len(each["stances"]) for each in claims))


def work(
    robot: Robot, document: Any, line: dict[str, Any], count: Count, stage: str, suggestions: str = "gold"
) -> None:
    """One stage of a document from what is suggested to gold; then the next task is on the screen."""
    if stage == "verify":
        put_evidence(document, gold_claims(line))
        robot.page.reload()  # the evidence came meanwhile
    begin(robot)
    if stage == "decompose" and suggestions == "offline":
        effort_offline.decompose_by_hand(robot, document, gold_sentences(line))
    else:
        {"decompose": decompose, "verify": verify, "revise": revise}[stage](robot, line)
    submit_and_go_on(robot)
    robot.finish(count, stage)
    print(f"document {count.document}, {stage}: {count.kinds[stage]}", file=sys.stderr, flush=True)


def differences(given: dict[str, Any], line: dict[str, Any]) -> list[str]:
    """Fields of an exported document that differ from the gold line, left aside what the robot does not enter
    (passages' spelling, whose evidence an edit rests on, human evidence as free text)."""
    compared = (
        "claims",
        "claim_checkworthiness",
        "sentence_checkworthiness",
        "most_importance_sentence",
        "if_automatic_evidence_enough_to_verify",
        "if_claim_needs_edit",
        "claims_factuality_label",
        "stance_claim_autoEvid",
    )
    found = []
    for name, sentence in line["sentences"].items():
        for key in compared:
            if given["sentences"][name][key] != sentence[key]:
                found.append(f"{name}.{key}")
    if given["revised_response"] != line["revised_response"]:
        found.append("revised_response")
    return found


def report(counts: list[Count], *, as_json: bool) -> None:
    """The mean of each screen beside the original tool."""
    means = {
        screen: statistics.mean(getattr(each, screen) for each in counts)
        for screen in ("decompose", "verify", "revise")
    }
    total = sum(means.values())
    if as_json:
        rows = [asdict(each) | {"total": each.total} for each in counts]
        typed = statistics.mean(each.typed_characters for each in counts)
        figures = {**means, "all": total, "documents": len(counts), "typed_characters": typed}
        print(json.dumps({**figures, "original": ORIGINAL, "by_document": rows}))
        return
    print(f"{'screen':<12}{'Touchstone':>12}{'original, at least':>20}")
    for screen, mean in means.items():
        print(f"{screen:<12}{mean:>12.1f}{ORIGINAL[screen]:>20}")
    print(f"{'all':<12}{total:>12.1f}{sum(ORIGINAL.values()):>20}    ratio {total / sum(ORIGINAL.values()):.2f}")
    kinds = Counter(f"{screen}: {what}" for each in counts for screen, found in each.kinds.items() for what in found)
    for what in kinds:
        screen, _, name = what.partition(": ")
        kinds[what] = sum(each.kinds[screen].get(name, 0) for each in counts)
    for what, number in kinds.most_common():
        print(f"  {what:<40}{number / len(counts):>6.2f}")
    wrong = [each for each in counts if each.differences]
    print(f"{len(counts) - len(wrong)} of {len(counts)} documents came out as gold.")
    for each in wrong:
        print(f"  document {each.document}: {', '.join(each.differences[:6])}")


if __name__ == "__main__":
    sys.exit(main())
