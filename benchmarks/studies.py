"""How quick is a large study: the next item of a comparison, and the figures of 10,000 items with three raters?

A study of 10,000 pairs of claim lists in ten strata is made in a SQLite file of its own, through the product's actions,
and answered by three raters (answers are written in bulk, as nobody waits for that here). Then it is measured:

- next: the page of an item, asked for as the browser does after submitting (two requests, the address of the next item
  and its page), in milliseconds of server time; median and 95th percentile of 200;
- figures: everything that `manage.py study --json` counts, in seconds, of the comparisons and of 10,000 claims that
  three raters judged against a passage. Beside the time that passed stands the processor time of this process: on a
  machine that others use, it is the one to read.

    .venv/bin/python benchmarks/studies.py [--items 10000] [--json]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

NEXT, FIGURES = 50.0, 2.0  # what is aimed at: milliseconds, seconds
RATERS, VISITS = 3, 200


def measured(items: int) -> dict[str, Any]:
    """The measurements, in an empty database."""
    import random

    from django.core.management import call_command
    from django.test import Client
    from django.utils import timezone

    from annotator.core.actions.benchmarks import create_benchmark
    from annotator.core.models import Membership, User
    from annotator.core.queries.protocols import shipped_protocols
    from annotator.core.vocabulary import Role
    from annotator.studies.actions.studies import add_items, create_study, start_study
    from annotator.studies.item_file import CANDIDATE, ItemRow, PartRow
    from annotator.studies.models import StudyAnswer, StudyAssignment

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)  # pages are measured as in production
    owner = User.objects.create(username="owner", is_superuser=True)
    benchmark = create_benchmark(slug="measured", name="Measured", by=owner)
    people = [User.objects.create(username=f"rater{number}") for number in range(RATERS)]
    Membership.objects.bulk_create(
        Membership(benchmark=benchmark, user=person, role=Role.ANNOTATOR) for person in people
    )
    study = create_study(benchmark, shipped_protocols()["veriscore-pairs"], name="Pairs", by=owner)
    rows = [_row(number, ItemRow, PartRow, CANDIDATE) for number in range(items)]
    began = time.perf_counter()
    add_items(study, rows, by=owner)
    imported = time.perf_counter() - began
    began = time.perf_counter()
    start_study(study, people, by=owner)
    started = time.perf_counter() - began

    drawn = random.Random(0)
    ids = dict(study.items.values_list("pk", "order"))
    parts: dict[int, list[str]] = {}
    for item, public_id in study.items.values_list("pk", "parts__public_id"):
        parts.setdefault(item, []).append(public_id)
    rest = list(StudyAssignment.objects.filter(study=study).exclude(person=people[0], position__lte=VISITS))
    answers = []
    for each in rest:
        answers.append(StudyAnswer(assignment=each, question="preferred", value=drawn.choice(parts[each.item_id])))
        answers.append(StudyAnswer(assignment=each, question="hard", value=drawn.random() < 0.2))
        answers.append(StudyAnswer(assignment=each, question="reason", value=f"Item {ids[each.item_id]}."))
    StudyAnswer.objects.bulk_create(answers, batch_size=2000)
    now = timezone.now()
    pending = StudyAssignment.objects.filter(study=study, person=people[0], position__lte=VISITS)
    StudyAssignment.objects.filter(study=study).exclude(pk__in=pending.values("pk")).update(submitted_at=now)
    # A server doesn't hold what was made here; the garbage collector would walk through it at every page.
    del answers, rest, rows, parts, ids
    gc.collect()
    gc.freeze()

    client = Client()
    client.force_login(people[0])
    times, busy = [], []
    for assignment in pending.order_by("position"):
        began, began_busy = time.perf_counter(), time.process_time()
        answer = client.get(f"/b/measured/studies/{study.public_id}/next/", follow=True)
        times.append((time.perf_counter() - began) * 1000)
        busy.append((time.process_time() - began_busy) * 1000)
        assert answer.status_code == 200
        StudyAssignment.objects.filter(pk=assignment.pk).update(submitted_at=now)
    comparisons = _figures(study)
    judged = create_study(benchmark, _three_raters(shipped_protocols()["aggrefact"]), name="Claims", by=owner)
    add_items(judged, [_claim(number, ItemRow, PartRow) for number in range(items)], by=owner)
    start_study(judged, people, by=owner)
    StudyAnswer.objects.bulk_create(
        [
            StudyAnswer(assignment=each, question="label", value=drawn.choice("01"), origin="human")
            for each in judged.assignments.all()
        ],
        batch_size=2000,
    )
    judged.assignments.update(submitted_at=now)
    gc.collect()
    judgements = _figures(judged)
    return {
        "items": items,
        "import_seconds": round(imported, 2),
        "start_seconds": round(started, 2),
        "next_ms_median": round(statistics.median(times), 1),
        "next_ms_p95": round(sorted(times)[int(len(times) * 0.95)], 1),
        "next_processor_ms_p95": round(sorted(busy)[int(len(busy) * 0.95)], 1),
        **{f"comparison_{name}": value for name, value in comparisons.items()},
        **{f"judgment_{name}": value for name, value in judgements.items()},
    }


def _figures(study: Any) -> dict[str, Any]:
    from annotator.studies.models import Study
    from annotator.studies.queries.figures import figures_as_json, study_figures

    study = Study.objects.select_related("version", "benchmark").get(pk=study.pk)
    began, busy = time.perf_counter(), time.process_time()
    told = figures_as_json(study_figures(study))
    found = {"figures_seconds": time.perf_counter() - began, "figures_processor_seconds": time.process_time() - busy}
    counted = told.get("comparison") or told["judgement"]["questions"][0]
    return {"answers": counted.get("judgements", counted.get("answers"))} | {k: round(v, 2) for k, v in found.items()}


def _three_raters(protocol: Any) -> Any:
    return protocol.model_copy(update={"sampling": protocol.sampling.model_copy(update={"people": RATERS})})


def _claim(number: int, item: Any, part: Any) -> Any:
    passage = part("passage", "A passage about the claim. " * 20)
    return item(number + 1, f"claim-{number}", f"stratum {number % 10}", "", f"Claim {number}.", {}, [passage])


def _row(number: int, item: Any, part: Any, kind: str) -> Any:
    lists = [[f"Claim {n} of text {number}." for n in range(6)], [f"Fact {n} of text {number}." for n in range(7)]]
    parts = [
        part(kind, "\n".join(lines), source, {"lines": lines})
        for source, lines in zip(("one", "other"), lists, strict=True)
    ]
    return item(number + 1, f"pair-{number}", f"stratum {number % 10}", "", "A text. " * 40, {}, parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "TOUCHSTONE_VAR": folder,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "ALLOWED_HOSTS": "testserver",
            "DEBUG": "0",
        }
        os.environ.pop("DATABASE_URL", None)
        import django

        django.setup()
        from django.test.utils import setup_test_environment

        setup_test_environment(debug=False)
        found = measured(options.items)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        print(f"{name:20} {value:,}")
    print(f"next item: {'within' if found['next_ms_p95'] <= NEXT else 'OVER'} {NEXT:.0f} ms at the 95th percentile")
    for kind in ("comparison", "judgment"):
        within = "within" if found[f"{kind}_figures_seconds"] <= FIGURES else "OVER"
        print(f"figures, {kind}: {within} {FIGURES:.0f} s")


if __name__ == "__main__":
    main()
