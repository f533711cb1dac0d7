"""A tiny server that keeps the saving contract of static/js/outbox.js, for tests and for looking at components.

It can be stopped and started again on its port (a real stop: connections are refused), made slow, made to fail,
and it records every save. `python -m tests.browser.static_page.server` serves the pages for a look.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import django_htmx
from django import forms
from django.conf import settings
from django.template import Context, Engine

from tests.undefined import Undefined

ROOT = Path(__file__).resolve().parents[3]
STATIC = (ROOT / "static", Path(django_htmx.__file__).parent / "static")
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
CLAIM_TYPES = [
    {"value": "factual", "label": "Factual"},
    {"value": "opinion", "label": "Opinion"},
    {"value": "not_a_claim", "label": "Not a claim"},
    {"value": "other", "label": "Other"},
]
IMPORTANCE = [
    {"value": "most", "label": "Most"},
    {"value": "intermediate", "label": "Intermediate"},
    {"value": "less", "label": "Less"},
]
STANCES = [
    {"value": "completely_support", "label": "Supports", "glyph": "✓", "tone": "support"},
    {"value": "partially_support", "label": "Partially supports", "glyph": "◐", "tone": "partial"},
    {"value": "refute", "label": "Refutes", "glyph": "✕", "tone": "refute"},
    {"value": "irrelevant", "label": "Irrelevant", "glyph": "–", "tone": "neutral"},
]
FACTUALITY = [
    {"value": "true", "label": "True", "key": "t", "tone": "support"},
    {"value": "false", "label": "False", "key": "f", "tone": "refute"},
    {"value": "not_enough_evidence", "label": "Not enough", "key": "u", "tone": "neutral"},
]


class SignInForm(forms.Form):
    username = forms.CharField()
    password = forms.CharField(widget=forms.PasswordInput, help_text="Ask your admin for a new one.")


def fresh_records() -> dict[str, dict[str, Any]]:
    """Records by name: the values of their fields, a version, and the version at which each field last changed."""
    texts = {
        "sentence:s1": {
            "decontext": "The Sydney Opera House was designed by Jørn Utzon and was opened in 1975.",
            "type": "",
            "importance": "most",
        },
        "claim:c1": {
            "text": "The Sydney Opera House was designed by Jørn Utzon.",
            "type": "factual",
            "importance": "most",
        },
        "claim:c2": {"text": "The Sydney Opera House was opened in 1975.", "type": "factual", "importance": ""},
        "claim:c3": {"text": "Jørn Utzon was a Danish architect.", "type": "", "importance": ""},
        "stance:e1": {"stance": "refute"},
        "stance:e2": {"stance": ""},
        "verdict:v1": {"factuality": "false", "enough": "yes"},
    }
    return {name: {"values": values, "version": 1, "changed": {}} for name, values in texts.items()}


class FakeServer:
    """Serves the test pages; see the attributes for how tests steer it."""

    def __init__(self) -> None:
        self.records = fresh_records()
        self.saves: list[dict[str, str]] = []  # every save as it arrived, whatever the answer
        self.posts: list[str] = []  # paths of all other POSTs
        self.edits: list[dict[str, str]] = []
        self.delay = 0.0  # seconds before a save is answered
        self.status: int | None = None  # answer every save with this status instead of saving
        self.problem: str | None = None  # refuse every save with 422 and this reason
        self.drop_answers = 0  # so many saves are done but never answered
        self.swap_record = False  # answer a save with the whole record, not only its meta element
        self.overlap = 0  # greatest number of saves of one record that ran at the same time
        self._running: dict[str, int] = {}
        self._lock = threading.Lock()
        self._http: ThreadingHTTPServer | None = None
        self.port = 0
        self.engine = Engine(
            dirs=[str(Path(__file__).parent / "templates"), str(ROOT / "templates")],
            libraries={
                "static": "tests.browser.static_page.tags",
                "bundles": "tests.browser.static_page.tags",
                "dash": "tests.browser.static_page.dash",
                "l10n": "django.templatetags.l10n",
            },
            builtins=["tests.browser.static_page.tags"],
            string_if_invalid=Undefined("%s"),
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        handler = type("Handler", (Handler,), {"fake": self})
        self._http = Server(("127.0.0.1", self.port), handler)
        self.port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        if self._http:
            self._http.shutdown()
            self._http.server_close()
            self._http = None

    def values(self, record: str) -> dict[str, str]:
        return dict(self.records[record]["values"])

    def change(self, record: str, field: str, value: str) -> None:
        """Somebody else saves."""
        with self._lock:
            self._store(self.records[record], field, value)

    @staticmethod
    def _store(row: dict[str, Any], field: str, value: str) -> None:
        row["version"] += 1
        row["values"][field] = value
        row["changed"][field] = row["version"]

    def render(self, template: str, **context: Any) -> str:
        user = SimpleNamespace(is_authenticated=True, pk=7, display_name="Ada Lovelace", initials="AL")
        rows = {name.split(":")[1]: {"record": name, **row} for name, row in self.records.items()}
        return self.engine.get_template(template).render(
            Context(
                {
                    "user": user,
                    "unread_notices": "3",
                    "csrf_token": "token",
                    "guidelines_url": "/guidelines",
                    "rows": rows,
                    "claims": [rows["c1"], rows["c2"], rows["c3"]],
                    "claim_types": CLAIM_TYPES,
                    "importance": IMPORTANCE,
                    "stances": STANCES,
                    "factuality": FACTUALITY,
                    "form": SignInForm(),
                    "next": "",
                    **context,
                }
            )
        )

    def save(self, record: str, form: dict[str, str]) -> tuple[int, str]:
        """The contract: (status, HTML). A stale change of a field that changed meanwhile is a conflict."""
        with self._lock:
            self.saves.append({"record": record, **form})
            self._running[record] = self._running.get(record, 0) + 1
            self.overlap = max(self.overlap, self._running[record])
        time.sleep(self.delay)
        try:
            with self._lock:
                return self._answer(record, form)
        finally:
            with self._lock:
                self._running[record] -= 1

    def _answer(self, record: str, form: dict[str, str]) -> tuple[int, str]:
        if self.status:
            return self.status, "<p data-problem>Said by the server.</p>" if self.status < 500 else ""
        if self.problem:
            return 422, f"<p data-problem>{self.problem}</p>"
        row, field, value = self.records[record], form["field"], form["value"]
        stored = row["values"].get(field, "")
        if row["changed"].get(field, 0) > int(form["version"]) and stored != value:
            return 409, self.render(
                "components/conflict.html",
                record=record,
                field=field,
                label="Text",
                who="Grace Hopper",
                version=row["version"],
                mine=value,
                theirs=stored,
            )
        if stored != value:
            self._store(row, field, value)
        if self.drop_answers:
            self.drop_answers -= 1
            return 0, ""
        if self.swap_record:
            return 200, self.render("record.html", claim={"record": record, **row}, oob=True)
        return 200, self.render("meta.html", row={"record": record, **row}, oob=True)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a page asks for 20 files at once; a full queue costs a second each

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that left before its answer is no news; anything else is."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    fake: ClassVar[FakeServer]

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self, body: str, status: int = 200, kind: str = "text/html", **headers: str) -> None:
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", CSP)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path.startswith("/static/"):
            found = next((base / path[8:] for base in STATIC if (base / path[8:]).is_file()), None)
            if found is None:
                self.answer("", 404)
            else:
                self.answer(found.read_text(), kind=TYPES.get(found.suffix, "text/plain"), Cache_Control="no-store")
        elif path == "/healthz":
            self.answer("ok", kind="text/plain")
        elif path.startswith("/record/"):
            row = self.fake.records[f"claim:{path.split('/')[2]}"]
            self.answer(self.fake.render("record.html", claim={"record": f"claim:{path.split('/')[2]}", **row}))
        else:
            name = path.strip("/") or "decompose"
            try:
                self.answer(self.fake.render(f"{name}.html"))
            except Exception as problem:
                self.answer(f"<pre>{problem!r}</pre>", 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        form = {name: values[0] for name, values in parse_qs(body, keep_blank_values=True).items()}
        path = urlsplit(self.path).path
        if path.startswith("/save/"):
            _, _, kind, number, _ = path.split("/")
            status, html = self.fake.save(f"{kind}:{number}", form)
            if status == 0:
                self.connection.close()  # done, but nobody hears of it
            elif status == 401:
                self.answer("ended", 401, HX_Redirect="/login?next=/")
            else:
                self.answer(html, status)
            return
        self.fake.posts.append(path)
        if path == "/edit/":
            self.fake.edits.append(form)
        time.sleep(self.fake.delay)
        self.answer(f"<p>{json.dumps(form)}</p>")


if __name__ == "__main__":
    settings.configure()
    server = FakeServer()
    server.port = 8765
    server.start()
    print(server.url)
    threading.Event().wait()
