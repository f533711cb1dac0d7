#!/usr/bin/env python
"""How long an upload takes to score, and what breakdowns add to it.

    python benchmarks/scoring.py [--json] [--answers 350000] [--seed 0]

Gold of seven items a document is made up, with a source, model, language and length for each document, and answers of
which 70% are right. Joined to the gold, scored with intervals, and broken down as the worker does, without a database.
Aim: breakdowns take at most twice the processor time of the plain figures (``ratio``). Seconds
depend on the machine, and by the clock (``clock_ratio``) on what else it does.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from annotator.core.vocabulary import Task  # noqa: E402
from annotator.leaderboard.predictions.predictions import PredictionRow  # noqa: E402
from annotator.leaderboard.scoring.items import Gold, TaskItem  # noqa: E402
from annotator.leaderboard.scoring.joining import join  # noqa: E402
from annotator.leaderboard.scoring.report import Scorer  # noqa: E402
from annotator.leaderboard.scoring.tasks import Options  # noqa: E402
from annotator.measures.statistics.breakdowns import DocumentTraits, groups_of  # noqa: E402

LABELS = ("true", "false", "not_enough_evidence")
ITEMS = 7  # a document
AIM = 2.0


class Moment(NamedTuple):
    clock: float
    processor: float


def _now() -> Moment:
    return Moment(time.perf_counter(), time.process_time())


def measured(answers: int, seed: int) -> dict[str, float | int | bool]:
    random = Random(seed)
    documents = answers // ITEMS
    gold = Gold.of(
        TaskItem(f"{document}-{number}", str(document), "", f"1.{number}", random.choice(LABELS[:2]))
        for document in range(documents)
        for number in range(ITEMS)
    )
    traits = {
        str(document): DocumentTraits(
            f"source {random.randrange(5)}",
            f"model {random.randrange(8)}",
            {"language": random.choice(("en", "de", "fr")), "domain": f"domain {random.randrange(20)}"},
            random.randrange(300),
            random.randrange(30),
        )
        for document in range(documents)
    }
    rows = [
        PredictionRow(line, {"label": item.gold if random.random() < 0.7 else random.choice(LABELS)}, key=key)
        for line, (key, item) in enumerate(gold.items.items(), start=1)
    ]
    scorer = Scorer(Task.CLAIM_FACTUALITY, Options(), gold)
    began = _now()
    joined = join(gold, scorer.measure, rows)
    read = _now()
    scorer.scores(joined.scored)
    scored = _now()
    found = scorer.breakdowns(joined.scored, groups_of(traits))
    ended = _now()
    ratio = (ended.processor - scored.processor) / (scored.processor - read.processor)
    return {
        "answers": len(joined.scored),
        "documents": documents,
        "groups": sum(len(each) for each in found.values()),
        "join_seconds": round(read.clock - began.clock, 2),
        "plain_seconds": round(scored.clock - read.clock, 2),
        "breakdown_seconds": round(ended.clock - scored.clock, 2),
        "clock_ratio": round((ended.clock - scored.clock) / (scored.clock - read.clock), 2),
        "plain_processor_seconds": round(scored.processor - read.processor, 2),
        "breakdown_processor_seconds": round(ended.processor - scored.processor, 2),
        "ratio": round(ratio, 2),
        "reached": ratio <= AIM,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=350_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measured(options.answers, options.seed)
    print(json.dumps(found) if options.json else "\n".join(f"{name:<30}{value:>12}" for name, value in found.items()))


if __name__ == "__main__":
    main()
