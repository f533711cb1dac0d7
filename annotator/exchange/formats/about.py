"""What a data set says of itself apart from its rows: title, version, licence, people to cite.

Not known from the labels, so whoever exports or releases says it; a blank is left out of what is written.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class About:
    """``name`` is short, for addresses and keys (a benchmark's slug); ``licence`` an SPDX identifier such as
    "CC-BY-4.0"; ``languages`` are codes such as "en", blank for those that documents name in their metadata."""

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
