"""Every page of the demo, wide and light, narrow and dark, and one page of each layout in forced colors at 400 % zoom
(320 px) and right to left: WCAG 2.2 AA by axe-core, nothing wider than the screen."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from annotator.core.models import Benchmark, Document, Evidence, Invitation, PageSnapshot, PipelineRun, User
from annotator.core.vocabulary import Role, Task
from annotator.exchange.actions.making_releases import make_release
from annotator.exchange.actions.pools import create_pool
from annotator.exchange.actions.releases import ReleaseRequest, start_release
from annotator.exchange.models import Release
from annotator.exchange.releases.splits import Shares
from annotator.leaderboard.actions.evaluations import Wanted, score_upload
from annotator.leaderboard.models import Evaluation
from annotator.leaderboard.queries.gold_items import gold_items
from annotator.leaderboard.scoring.tasks import Options
from annotator.team.actions.team import invite
from annotator.urls import urlpatterns
from tests.browser.conftest import check_axe

pytestmark = pytest.mark.django_db(transaction=True)

# Addresses that are no page of their own: actions, fragments, downloads, and what needs an upload first.
NO_PAGES = {
    "login",  # looked at before signing in
    "privacy-download",
    "audit-all-download",
    "audit-download",
    "documents-view",
    "documents-change",
    "settings-change",
    "team-two-step",
    "pool-change",
    "corpus-change",
    "crowd",  # looked at before signing in
    "crowd-report",
    "crowd-change",
    "corpus-search",  # the page of its corpus
    "protocol-use",
    "stage-answers",
    "start",
    "batches-take-back",
    "batch-change",
    "batch-cut",
    "next",
    "import-job",
    "export-download",
    "agreement-download",
    "statistics-download",
    "burn-up",
    "run-keep",
    "run-start",
    "run-change",
    "suggesters-change",
    "document-change",
    "decompose-sentence",
    "decompose-claim",
    "verify-claim",
    "revise-response",
    "revise-sentence",
    "save",
    "history",
    "restore",
    "undo",
    "submit",
    "guidelines-read",
    "team-invite",
    "team-withdraw",
    "team-member",
    "team-protocol",
    "team-group-new",
    "team-group",
    "notices-unread",
    "notices-read",
    "notices-mail",
    "notice",
    "tokens-new",
    "token-revoke",
    "webhook-new",
    "webhook-change",
    "webhook-redeliver",
    "release-download",
    "score-template",
    "score-download",
    "score-change",
    "metrics",
    "note",
    "services-change",
    "services-all-change",
    "saved-pages-change",
    # tests/browser/test_studies.py looks at the pages of a study: the demo has none.
    "study",
    "study-next",
    "study-download",
    "study-change",
    "study-item",
    "study-save",
    "study-submit",
    "study-item-change",
    "protocol-import",
    "protocol-copy",
    "protocol-file",
    "agree",  # for those who settle it: test_two_people.py and test_consolidate.py look at it
    "agree-change",
    "practice",  # after practising
    "practice-excuse",
    "practice-mix-in",
    "invitation",  # for who is in already it leads on; it is looked at before signing in
}


@pytest.fixture
def demo(settings: Any, tmp_path: Path) -> Iterator[str]:
    """The demo, and the password of its owner."""
    settings.VAR_DIR = tmp_path
    settings.DATABASE_URL = ""  # the demo is loaded on whatever the suite runs on
    printed = io.StringIO()
    call_command("load_demo", stdout=printed)
    found = re.search(r"^\s*admin\s+(\S+)", printed.getvalue(), re.MULTILINE)
    assert found
    invite(Benchmark.objects.get(slug="demo"), by=User.objects.get(username="admin"), role=Role.OWNER)
    wish = ReleaseRequest(
        version="1.0", title="First steps", licence="CC-BY-4.0", authors=["Ada"], shares=Shares(50, 0, 50)
    )
    make_release(start_release(benchmark=Benchmark.objects.get(slug="demo"), wish=wish, by=None, here=True).pk)
    yield found[1]


def scored(name: str) -> Evaluation:
    """Every claim of the demo's gold called true: a page with figures and with wrong answers."""
    demo = Benchmark.objects.get(slug="demo")
    lines = [f'{{"id": "{item.key}", "label": "true"}}' for item in gold_items(demo, Task.CLAIM_FACTUALITY, Options())]
    file = SimpleUploadedFile("done.jsonl", "\n".join(lines).encode())
    wanted = Wanted(Task.CLAIM_FACTUALITY, name)
    return score_upload(benchmark=demo, by=User.objects.get(username="admin"), wanted=wanted, file=file)


def addresses() -> dict[str, str]:
    """Every page that urls.py names, filled in from the demo; each document at its own stage."""
    stages = {
        document.stage: document for document in Document.objects.filter(benchmark__slug="demo").order_by("phase")
    }
    some = Document.objects.get(benchmark__slug="demo", external_id="demo-mount-erebus")
    run = PipelineRun.objects.filter(benchmark__slug="demo", strategy="offline").first()
    assert run is not None and some.benchmark.corpus is not None
    candidates = io.BytesIO(b'{"id": "1", "prompt": "When?", "response": "The bridge was opened in 1932."}\n')
    pool, _ = create_pool(some.benchmark, candidates, name="Pool", by=User.objects.get(username="admin"))
    assert pool is not None
    evaluation, other = scored("Always true"), scored("Always true again")
    item = next(gold_items(some.benchmark, Task.CLAIM_FACTUALITY, Options()))
    known: dict[str, list[str]] = {
        "home": [],
        "benchmarks": [],
        "benchmark-new": [],
        "notices": [],
        "tokens": [],
        "account_reset_password": [],
        "accessibility": [],
        "api-reference": [],
        "document": [some.public_id],
        "run": ["demo", run.public_id],
        "release": ["demo", Release.objects.get().public_id],
        "score": ["demo", evaluation.public_id],
        "score-item": ["demo", Task.CLAIM_FACTUALITY, item.key],
        "score-against": ["demo", evaluation.public_id, other.public_id],
        "pool": ["demo", pool.public_id],
        "privacy": [],
        "audit-all": [],
        "services-all": [],
        "prompt": ["demo", "factcheck_gpt", "verdict"],
        "definitions": ["demo", "verify"],
        "protocol": ["demo", "aggrefact"],
        "protocol-edit": ["demo", "aggrefact"],
        "saved-page": [_with_saved_page()],
        "corpus": ["demo", some.benchmark.corpus.slug],
        **{stage: [document.public_id] for stage, document in stages.items()},
    }
    names = [str(pattern.name) for pattern in urlpatterns]
    assert set(names) >= NO_PAGES, f"No longer there: {NO_PAGES - set(names)}"
    found = {name: reverse(name, args=known.get(name, ["demo"])) for name in names if name not in NO_PAGES}
    gold = Document.objects.get(benchmark__slug="demo", external_id="demo-rosetta-stone")
    return {**found, "gold": reverse("document", args=[gold.public_id]), "missing": "/no-such-page/"}


def _with_saved_page() -> str:
    """A passage of the demo, with a saved copy of its page."""
    evidence = (
        Evidence.objects.filter(claim__sentence__annotation__document__benchmark__slug="demo")
        .exclude(passage="")
        .first()
    )
    assert evidence is not None
    text = f"Before it.\n\n{evidence.passage}\n\nAfter it."
    evidence.snapshot = PageSnapshot.objects.create(
        url=evidence.url, title=evidence.title, text=text, content_hash="0" * 64, retrieved_at=timezone.now()
    )
    evidence.save()
    return evidence.public_id


RIGHT_TO_LEFT = "document.addEventListener('DOMContentLoaded', () => { document.documentElement.dir = 'rtl'; });"


# The pages that are also looked at in forced colors and right to left, one of each layout: every page in all four looks
# would take twice as long.
SOME = {"home", "documents", "document", "decompose", "verify", "revise", "statistics", "team", "run", "score"}


@pytest.mark.parametrize(
    ("of_all", "of_some"),
    [
        ((1280, {"color_scheme": "light"}), (320, {"forced_colors": "active"})),
        ((390, {"color_scheme": "dark"}), (1024, {"direction": "rtl"})),
    ],
    ids=["light_and_forced", "dark_and_rtl"],
)
def test_every_page_is_accessible_and_fits(
    demo: str,
    browser: Browser,
    live_server: LiveServer,
    of_all: tuple[int, dict[str, Any]],
    of_some: tuple[int, dict[str, Any]],
) -> None:
    pages = addresses()
    assert set(pages) >= SOME, f"No longer there: {SOME - set(pages)}"
    faults: list[str] = []
    for width, look in (of_all, of_some):
        name = " ".join(look.values())
        page = browser.new_context(
            viewport={"width": width, "height": 850},
            **{key: value for key, value in look.items() if key != "direction"},
        ).new_page()
        if "direction" in look:
            page.add_init_script(RIGHT_TO_LEFT)
        page.goto(live_server.url + reverse("invitation", args=[Invitation.objects.get().token]))
        faults += faults_of(page, width, f"{name} invitation")
        page.goto(f"{live_server.url}/sign-in/")
        faults += faults_of(page, width, f"{name} sign-in")
        sign_in(page, live_server, demo)
        for page_name, address in pages.items():
            if (width, look) == of_all or page_name in SOME:
                answer = page.goto(live_server.url + address)
                assert answer is not None
                if answer.status != (404 if page_name == "missing" else 200):
                    faults.append(f"{name} {address}: answers {answer.status}")
                page.wait_for_load_state("networkidle")
                faults += faults_of(page, width, f"{name} {address}")
        page.context.close()
    assert not faults, "\n".join(faults)


def sign_in(page: Page, live_server: LiveServer, password: str) -> None:
    page.get_by_label("Username or email address").fill(User.objects.get(username="admin").username)
    page.get_by_label("Password").fill(password)
    page.get_by_label("Password").press("Enter")
    page.wait_for_url(f"{live_server.url}/benchmarks/")


def faults_of(page: Page, width: int, where: str) -> list[str]:
    """What axe finds, and whether the page is wider than the screen."""
    try:
        check_axe(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "wider than the screen"
    except AssertionError as fault:
        return [f"{where}: {fault}"]
    return []
