"""Studies of a benchmark: the list, a new study, a study's page with progress and figures, downloads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.core import rules
from annotator.core.actions.downloads import note_download
from annotator.core.actions.fields import BadValueError
from annotator.core.file_problems import FileError
from annotator.core.models import Benchmark, Membership, User
from annotator.core.protocol import Work
from annotator.core.queries.protocols import known_names, protocol_named, versions_of
from annotator.core.rules import LABEL_ROLES
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import (
    benchmark_for,
    managed_benchmark,
    person,
    render_domain_errors,
)
from annotator.core.screens.spreadsheet import csv_lines
from annotator.studies.actions.from_benchmark import SOURCES, rows_from_benchmark
from annotator.studies.actions.protocols import migrate_study
from annotator.studies.actions.studies import (
    add_items,
    create_study,
    import_items,
    open_round,
    raters_by_name,
    start_study,
)
from annotator.studies.models import Study
from annotator.studies.queries.figures import progress_of_raters, study_figures
from annotator.studies.queries.native import native_lines
from annotator.studies.queries.table import COLUMNS, fastfact_lines, long_rows
from annotator.studies.queries.work import next_assignment, studies_of
from annotator.studies.rules import check_see_figures
from annotator.studies.screens.figures import looks_of
from annotator.studies.screens.work import study_for

MAX_UPLOAD = 100 * 1024 * 1024
ROWS_SHOWN = 10


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The benchmark's studies."""
    benchmark = benchmark_for(request, slug)
    context = page_of_benchmark(request, benchmark, "Studies") | {"studies": studies_of(benchmark, person(request))}
    return render(request, "studies/index.html", context)


@require_http_methods(["GET", "POST"])
@render_domain_errors
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a study from a protocol, with items from a file or from the benchmark."""
    benchmark = managed_benchmark(request, slug)
    problems: Iterable[Any] = ()
    if request.method == "POST":
        try:
            found = _create(request, benchmark)
        except BadValueError as refusal:
            found = [refusal]
        if isinstance(found, Study):
            return redirect("study", slug=slug, study_id=found.public_id)
        problems = found[:ROWS_SHOWN]
    names = [(name, protocol_named(benchmark, name)) for name in known_names(benchmark)]
    context = page_of_benchmark(request, benchmark, "Studies") | {
        "protocols": [(name, each) for name, each in names if each and each.work != Work.STAGES],
        "problems": problems,
        "sources": SOURCES,
        "chosen": request.POST.get("protocol") or request.GET.get("protocol", ""),
        "name": request.POST.get("name", ""),
    }
    return render(request, "studies/new.html", context, status=422 if problems else 200)


def _create(request: HttpRequest, benchmark: Benchmark) -> Study | list[Any]:
    """The study, or the problems of the file; then nothing is kept."""
    protocol = protocol_named(benchmark, request.POST.get("protocol", ""))
    if protocol is None:
        raise BadValueError("Choose a protocol.")
    upload, source = request.FILES.get("file"), request.POST.get("source", "")
    if upload is None and not source:
        raise BadValueError("Choose a file with items, or items of the benchmark.")
    if upload is not None and (upload.size or 0) > MAX_UPLOAD:
        raise BadValueError("A file of items has at most 100 MB.")
    study = create_study(benchmark, protocol, name=request.POST.get("name", "") or protocol.title, by=person(request))
    try:
        report = (
            import_items(study, upload.file, by=person(request))  # type: ignore[arg-type]
            if upload is not None
            else add_items(study, rows_from_benchmark(benchmark, source), by=person(request))
        )
    except (FileError, BadValueError) as refusal:
        study.delete()
        raise BadValueError(str(refusal)) from None
    if report.problems:
        study.delete()
        return list(report.problems)
    return study


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str, study_id: str) -> HttpResponse:
    """A study: what to do next, everyone's progress, and figures for those who may see them."""
    study = study_for(request, slug, study_id)
    me = person(request)
    context = page_of_benchmark(request, study.benchmark, "Studies")
    reads = rules.allowed(check_see_figures, me, study.benchmark)
    figures = study_figures(study) if reads and study.started_at else None
    context |= {
        "study": study,
        "protocol": study.version.protocol,
        "next": next_assignment(study, me),
        "items": study.items.count(),
        "figures": figures,
        "looks": looks_of(figures) if figures else {},
        "raters": progress_of_raters(study) if reads else [],
        "members": members_who_label(study.benchmark) if context["can_manage"] else [],
        "versions": versions_of(study.benchmark, study.version.name) if context["can_manage"] else [],
        "is_fastfact": study.version.protocol.figures.alignment == "fastfact",
    }
    return render(request, "studies/show.html", context)


def members_who_label(benchmark: Benchmark) -> list[User]:
    """The members who can be raters."""
    rows = Membership.objects.filter(benchmark=benchmark, active=True, role__in=LABEL_ROLES).select_related("user")
    return [each.user for each in rows.order_by("user__display_name", "user__username")]


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, study_id: str, what: str) -> HttpResponse:
    """Start, open a round, or move to another version of the protocol. A refusal is shown on the study’s page."""
    study = study_for(request, slug, study_id)
    by = person(request)
    rules.check_manage(by, study.benchmark)
    if what not in CHANGES:
        raise Http404
    try:
        messages.success(request, CHANGES[what](study, request.POST, by))
    except BadValueError as refusal:
        messages.error(request, str(refusal))
    return redirect("study", slug=slug, study_id=study_id)


def _start(study: Study, sent: QueryDict, by: User) -> str:
    start_study(study, raters_by_name(study.benchmark, sent.getlist("rater")), by=by)
    return "The study has started."


def _open_round(study: Study, sent: QueryDict, by: User) -> str:
    chosen = raters_by_name(study.benchmark, sent.getlist("rater"))
    count = open_round(study, sent.get("round", ""), chosen, by=by)
    return f"{count} item{'s' if count != 1 else ''} assigned."


def _migrate(study: Study, sent: QueryDict, by: User) -> str:
    versions = {str(each.number): each for each in versions_of(study.benchmark, study.version.name)}
    version = versions.get(sent.get("version", ""))
    if version is None:
        raise BadValueError("Choose a version.")
    migrate_study(study, version, by=by)
    return f"The study now uses version {version.number}."


CHANGES = {"start": _start, "round": _open_round, "migrate": _migrate}


@require_GET
@render_domain_errors
def download(request: HttpRequest, slug: str, study_id: str, what: str) -> HttpResponse:
    """All answers as one long table (answers.csv, answers.parquet), the whole study (study.jsonl), or FastFact's file
    (fastfact.jsonl). People are pseudonyms; the command gives names."""
    study = study_for(request, slug, study_id)
    check_see_figures(person(request), study.benchmark)
    if what == "answers.csv":
        heads = [name for name, _ in COLUMNS]
        rows = ([row[name] for name in heads] for row in long_rows(study, named=False))
        answer: HttpResponse | StreamingHttpResponse = StreamingHttpResponse(
            csv_lines([heads, *rows]), content_type="text/csv; charset=utf-8"
        )
    elif what == "answers.parquet":
        from annotator.studies.queries.parquet import MissingParquetError, parquet_bytes

        try:
            content = parquet_bytes(long_rows(study, named=False))
        except MissingParquetError as refusal:
            raise BadValueError(str(refusal)) from None
        answer = HttpResponse(content, content_type="application/vnd.apache.parquet")
    elif what in ("study.jsonl", "fastfact.jsonl"):
        lines = native_lines(study, named=False) if what == "study.jsonl" else fastfact_lines(study)
        answer = StreamingHttpResponse((f"{line}\n" for line in lines), content_type="application/jsonl; charset=utf-8")
    else:
        raise Http404
    note_download(f"{what} of the study {study.name}", by=person(request), benchmark=study.benchmark)
    answer["Content-Disposition"] = f'attachment; filename="{study.public_id}-{what}"'
    return cast(HttpResponse, answer)
