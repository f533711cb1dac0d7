#!/usr/bin/env python
"""Trains the sentence splitter on fixtures/punkt_training.txt and writes pipeline/data/punkt.json.

Run it after a change of that text: ``script/train_punkt.py``. The text was written for this project, so the parameters
carry nothing of anyone else's. The result is the same on every run. So short a text teaches Punkt well which words
begin sentences, but makes it take words like "out." for abbreviations: those come from pipeline/data/abbreviations.txt.
"""

from __future__ import annotations

import json
from pathlib import Path

from nltk.tokenize.punkt import PunktParameters, PunktTrainer

ROOT = Path(__file__).resolve().parent.parent


class _Parameters(PunktParameters):
    """Parameters whose abbreviations are given and not learned."""

    def clear_abbrevs(self) -> None:
        """Keeps the list: Punkt would empty it."""


class _Trainer(PunktTrainer):
    ABBREV = float("inf")  # no candidate reaches this score
    INCLUDE_ALL_COLLOCS = True

    def get_params(self) -> PunktParameters:
        return self._params


def main() -> None:
    lines = (ROOT / "pipeline" / "data" / "abbreviations.txt").read_text(encoding="utf-8").splitlines()
    given = {line for line in lines if not line.startswith("#")}
    trainer = _Trainer()
    trainer._params = _Parameters()
    trainer._params.abbrev_types = given
    trainer.train((ROOT / "fixtures" / "punkt_training.txt").read_text(encoding="utf-8"))
    learnt = trainer.get_params()
    parameters = {
        "collocations": sorted(map(list, learnt.collocations)),
        "sent_starters": sorted(learnt.sent_starters),
        "ortho_context": dict(sorted(learnt.ortho_context.items())),
    }
    target = ROOT / "pipeline" / "data" / "punkt.json"
    target.write_text(json.dumps(parameters, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{target.relative_to(ROOT)}: " + ", ".join(f"{len(value)} {key}" for key, value in parameters.items()))


if __name__ == "__main__":
    main()
