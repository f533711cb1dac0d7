"""Shared by the import commands: choosing the benchmark, and printing the report."""

from __future__ import annotations

import argparse

from django.core.management.base import CommandError, OutputWrapper

from annotator.core.actions.benchmarks import create_benchmark
from annotator.core.models import Benchmark
from annotator.exchange.actions.imports import PROBLEMS_KEPT, ImportReport


def add_benchmark_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--benchmark", required=True, metavar="SLUG", help="into which benchmark")
    parser.add_argument("--create", action="store_true", help="create the benchmark if it doesn't exist")
    parser.add_argument("--strict", action="store_true", help="import nothing if any row has errors")


def find_benchmark(slug: str, *, create: bool = False) -> Benchmark:
    """The benchmark of that slug. Raises CommandError listing the existing ones."""
    benchmark = Benchmark.objects.filter(slug=slug).first()
    if benchmark is not None:
        return benchmark
    if create:
        return create_benchmark(slug=slug, name=slug.replace("-", " ").capitalize())
    known = ", ".join(Benchmark.objects.order_by("slug").values_list("slug", flat=True)[:20])
    raise CommandError(
        f"There is no benchmark “{slug}”. " + (f"There are: {known}. " if known else "") + "Add --create to create it."
    )


def tell(report: ImportReport, stdout: OutputWrapper, stderr: OutputWrapper) -> None:
    """Print the result. Exits with code 1 if any row was bad."""
    for problem in report.problems:
        stderr.write(str(problem))
    if report.problem_count > PROBLEMS_KEPT:
        stderr.write(f"… and {report.problem_count - PROBLEMS_KEPT} more problems.")
    for remark in report.remarks():
        stdout.write(remark)
    did = "imported" if report.written else "would be imported"
    numbers = (
        f"{report.read} rows read in {report.elapsed:.1f} s: {report.imported} {did}, "
        f"{report.unchanged} already imported, {report.bad} bad."
    )
    if report.studies:
        numbers += f" {report.studies} stud{'y' if report.studies == 1 else 'ies'} {did}."
    if not report.bad:
        stdout.write(numbers)
        return
    raise CommandError(numbers + ("" if report.written else " Nothing was written."))
