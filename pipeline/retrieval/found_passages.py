"""The passages of a corpus with their pages, as a few arrays and two byte strings, in memory or in files."""

from __future__ import annotations

import datetime as dt
import json
import mmap
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np

from pipeline.suggestions import Page

# File names in an index's folder; the library names its own files.
TEXTS, SOURCES = "texts.bin", "sources.bin"
_TEXT_ENDS, _SOURCE_ENDS, _PAGES, _POSITIONS = "text_ends.npy", "source_ends.npy", "pages.npy", "positions.npy"


@dataclass(frozen=True, slots=True)
class Packed:
    """Concatenated texts in UTF-8, and where each ends (int64)."""

    data: bytes | mmap.mmap
    ends: np.ndarray

    def __getitem__(self, index: int) -> str:
        start = int(self.ends[index - 1]) if index else 0
        return self.data[start : int(self.ends[index])].decode("utf-8", "surrogatepass")


class PackedWriter:
    """Writes texts in the form of ``Packed``."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._ends = array("q")
        self._end = 0

    def add(self, text: str) -> None:
        self._end += self._file.write(text.encode("utf-8", "surrogatepass"))
        self._ends.append(self._end)

    def ends(self) -> np.ndarray:
        return np.array(self._ends, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class FoundPassages:
    """The text of each passage, its page, and its index among the page's passages (int32 both)."""

    texts: Packed
    sources: Packed
    pages: np.ndarray
    positions: np.ndarray

    def __len__(self) -> int:
        return len(self.pages)

    def text(self, index: int) -> str:
        """The passage itself."""
        return self.texts[index]

    def place(self, index: int) -> tuple[int, int]:
        """The number of a passage's page, and its index there."""
        return int(self.pages[index]), int(self.positions[index])

    def source(self, page: int) -> Page:
        """A page without its text."""
        url, title, site, published = json.loads(self.sources[page])
        return Page(url, title, "", site, dt.date.fromisoformat(published) if published else None)

    def save(self, folder: Path) -> None:
        """Write the arrays; the texts are already written."""
        np.save(folder / _TEXT_ENDS, self.texts.ends)
        np.save(folder / _SOURCE_ENDS, self.sources.ends)
        np.save(folder / _PAGES, self.pages)
        np.save(folder / _POSITIONS, self.positions)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """What was saved, memory-mapped. Raises OSError or ValueError if it is missing or incomplete."""
        return cls(
            texts=_opened(folder / TEXTS, folder / _TEXT_ENDS),
            sources=_opened(folder / SOURCES, folder / _SOURCE_ENDS),
            pages=_array(folder / _PAGES),
            positions=_array(folder / _POSITIONS),
        )


def source_line(page: Page) -> str:
    """A page without its text."""
    return json.dumps([page.url, page.title, page.site, page.published.isoformat() if page.published else None])


def _opened(path: Path, ends_path: Path) -> Packed:
    ends = _array(ends_path)
    size = path.stat().st_size
    if size != (int(ends[-1]) if len(ends) else 0):
        raise ValueError(f"{path} was not written completely.")
    if not size:
        return Packed(b"", ends)
    with path.open("rb") as file:
        return Packed(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), ends)


def _array(path: Path) -> np.ndarray:
    found: np.ndarray = np.load(path, mmap_mode="r")
    return found
