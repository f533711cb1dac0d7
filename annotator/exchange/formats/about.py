"""What a dataset says about itself apart from its rows: title, version, license, authors.

The labels don't contain this, so whoever exports or releases provides it. Blank values are left out of the output.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class About:
    """``name`` is short, for URLs and keys (a benchmark's slug); ``licence`` is an SPDX identifier such as "CC-BY-4.0";
    ``languages`` are codes such as "en", blank if documents state theirs in their metadata."""

    name: str
    title: str
    description: str = ""
    version: str = ""
    licence: str = ""
    authors: tuple[str, ...] = ()
    published: dt.date | None = None
    url: str = ""
    languages: tuple[str, ...] = ()
    canary: str = ""  # of a release (annotator.exchange.releases.canary)
