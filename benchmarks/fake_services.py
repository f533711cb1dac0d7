"""Serves the fake model, search and web site until its input is closed: a process of its own, so that the work of the
fakes is not taken for ours. Prints their addresses as one line of JSON."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.fakes.chat import FakeChat
from tests.fakes.model import article_of, hits_for, plausible
from tests.fakes.search import FakeSerper
from tests.fakes.site import FakeSite, article, html


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "search", "page"):
        parser.add_argument(f"--{name}", type=float, default=0.0, metavar="SECONDS")
    asked = parser.parse_args()
    site = FakeSite(lambda path: html(article("A page", article_of(path))), latency=asked.page, robots="")
    with (
        site,
        FakeChat(plausible, latency=asked.model) as chat,
        FakeSerper(hits_for(site.url), latency=asked.search, key="a-key") as search,
    ):
        print(json.dumps({"chat": chat.url, "search": f"{search.url}/search", "site": site.url}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
