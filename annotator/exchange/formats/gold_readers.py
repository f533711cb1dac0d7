"""The formats for importing gold: documents with their adjudicated labels.

Every reader is a generator of ``GoldDocument | BadRow`` over a seekable binary stream, with one document in memory at a
time (a JSON list as a whole). It raises ``FileError`` if the file as a whole can't be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from annotator.core.file_problems import BadRow
from annotator.exchange.formats import averitec, factcheck_bench_reader, fastfact, original_tool, veriscore
from annotator.exchange.formats.gold import GoldDocument

GOLD = "gold"
ORIGINAL_TOOL = "original-tool-screens"

GOLD_READERS: dict[str, Callable[[BinaryIO], Iterator[GoldDocument | BadRow]]] = {
    GOLD: factcheck_bench_reader.read,
    ORIGINAL_TOOL: original_tool.read,
    "averitec-gold": averitec.read,
    "fastfact-gold": fastfact.read,
    "veriscore-gold": veriscore.read,
}
