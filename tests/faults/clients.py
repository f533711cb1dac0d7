"""Annotators as the browser's outbox would save: one change after the other, each until the server acknowledges it."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.faults.house import CSRF


@dataclass
class Annotator:
    """One person who writes one claim again and again, each time with another number."""

    name: str
    address: str
    cookie: str
    claim: str
    version: int
    acknowledged: list[str] = field(default_factory=list)
    sent: int = 0
    faults: list[str] = field(default_factory=list)  # answers that no outage excuses

    def work(self, over: threading.Event) -> None:
        while not over.is_set():
            self.sent += 1
            text = f"{self.name} saves number {self.sent}."
            while not self._save(text):
                if over.wait(0.2):
                    return
            self.acknowledged.append(text)
            over.wait(0.05)

    def _save(self, text: str) -> bool:
        """Whether the server acknowledged it. Without an answer, or with 503, the same is sent again later."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=15)
        headers = {
            "Cookie": self.cookie, "X-CSRFToken": CSRF, "HX-Request": "true",
            "Content-Type": "application/x-www-form-urlencoded",
        }  # fmt: skip
        body = urlencode({"field": "text", "value": text, "version": self.version, "active_seconds": 1})
        try:
            connection.request("POST", f"/save/claim:{self.claim}/", body, headers)
            answer = connection.getresponse()
            page = answer.read().decode()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        if answer.status == 200:
            found = re.search(rf'claim-{self.claim}-meta" data-version="(\d+)"', page)
            if found is None:
                self.faults.append(f"200 without the record's version: {page[:300]}")
            else:
                self.version = int(found[1])
            return True
        if answer.status != 503:
            self.faults.append(f"{answer.status}: {page[:300]}")
        return False


def import_documents(address: str, cookie: str, names: list[str], seconds: float) -> None:
    """Send documents until they are in; the same ones may be sent again. Raises AssertionError when it takes longer."""
    documents = [
        {"id": name, "prompt": "Who built it?", "response": f"Document {name} was built by William Marshal."}
        for name in names
    ]
    last = time.monotonic() + seconds
    status: Any = None
    while status != 200:
        assert time.monotonic() < last, f"the import of {names} was answered with {status}"
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
        headers = {"Cookie": cookie, "X-CSRFToken": CSRF, "Content-Type": "application/json"}
        try:
            body = json.dumps({"documents": documents})
            connection.request("POST", "/api/v1/benchmarks/faults/documents/import/", body, headers)
            answer = connection.getresponse()
            status = answer.status, answer.read()[:500]
            status = answer.status if answer.status == 200 else status
        except (OSError, http.client.HTTPException) as error:
            status = repr(error)
        finally:
            connection.close()
        if status != 200:
            time.sleep(0.3)
