"""Protocols: reading, importing, exporting and copying them, and editing them in a form with a preview."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.core.actions.fields import BadValueError
from annotator.core.actions.protocols import ASKED, OPTIONAL, check_stages, store_protocol, use_stage_protocol
from annotator.core.protocol import ITEM, Evidence, Kind, Protocol, Work
from annotator.core.protocol_file import ProtocolError, as_json, protocol_of, read_protocol
from annotator.core.queries.protocols import (
    DEFAULT,
    declared_names,
    newest_versions,
    protocol_named,
    shipped_protocols,
    stage_protocol,
    versions_of,
)
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, managed_benchmark, person, render_domain_errors
from annotator.core.screens.spreadsheet import csv_lines
from annotator.studies.conditions import in_words
from annotator.studies.protocol_form import changed, named_problem, new_question_row, question_rows
from annotator.studies.queries.parquet import MissingParquetError, parquet_bytes
from annotator.studies.queries.stage_table import stage_rows
from annotator.studies.queries.table import COLUMNS
from annotator.studies.rules import check_see_figures

MAX_UPLOAD = 1_000_000
WORK = {Work.STAGES: "The stages", Work.COMPARISON: "Comparisons", Work.JUDGEMENT: "Judgments"}
EVIDENCE = {
    Evidence.GIVEN: "Only what is given",
    Evidence.OWN_SEARCH: "Own search allowed",
    Evidence.NONE: "None given",
    Evidence.BY_RECORD: "Given passages alone where there are some, own search elsewhere",
}
SAMPLING = {
    "all": "Everything by several people",
    "shares": "Disjoint shares",
    "core_and_shares": "A shared core, then disjoint shares",
    "crossed": "Disjoint shares, a part of them cross-annotated",
}
NEW_KINDS = (Kind.LABEL, Kind.LABELS, Kind.YES_NO, Kind.TEXT, Kind.NUMBER)


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The benchmark's protocols, and those included with Touchstone."""
    benchmark = benchmark_for(request, slug)
    own = newest_versions(benchmark)
    others = [each for name, each in shipped_protocols().items() if name not in own]
    context = page_of_benchmark(request, benchmark, "Studies") | {"own": list(own.values()), "others": others}
    return render(request, "studies/protocols.html", context)


def _named(request: HttpRequest, slug: str, name: str, *, manages: bool = False) -> tuple[Any, Protocol]:
    benchmark = managed_benchmark(request, slug) if manages else benchmark_for(request, slug)
    protocol = protocol_named(benchmark, name)
    if protocol is None:
        raise Http404
    return benchmark, protocol


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """A protocol as a readable page."""
    benchmark, protocol = _named(request, slug, name)
    context = page_of_benchmark(request, benchmark, "Studies")
    versions = versions_of(benchmark, name)
    used = stage_protocol(benchmark)
    context |= {
        "protocol": protocol,
        "versions": versions,
        "records": sections(protocol),
        "words": {
            "work": WORK[protocol.work],
            "evidence": EVIDENCE[protocol.evidence],
            "sampling": SAMPLING[protocol.sampling.design],
        },
        "is_of_stages": protocol.work == Work.STAGES,
        "is_used": used == protocol,
        "used": used,
        # The default protocol of the stages follows the paper. Managers edit a copy.
        "can_edit_protocol": name != DEFAULT,
    }
    return render(request, "studies/protocol.html", context)


def sections(protocol: Protocol) -> list[dict[str, Any]]:
    """The questions by kind of record, each with its condition in words. Kinds are in order of first appearance."""
    names = {each.kind: each.name for each in protocol.records} | {ITEM: "Item"}
    kinds = list(dict.fromkeys(each.on for each in protocol.questions))
    return [
        {
            "name": names.get(kind, kind.replace("_", " ").capitalize()),
            "kind": kind,
            "questions": [(each, in_words(protocol, each)) for each in protocol.questions if each.on == kind],
        }
        for kind in kinds
    ]


@require_GET
@render_domain_errors
def file(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Download the protocol as a file."""
    _, protocol = _named(request, slug, name)
    content = json.dumps(as_json(protocol), indent=2, ensure_ascii=False) + "\n"
    answer = HttpResponse(content, content_type="application/json; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{protocol.name}.json"'
    return answer


@require_POST
@render_domain_errors
def bring(request: HttpRequest, slug: str) -> HttpResponse:
    """Import a protocol file."""
    benchmark = managed_benchmark(request, slug)
    upload = request.FILES.get("file")
    if upload is None:
        raise BadValueError("Choose a file first.")
    if (upload.size or 0) > MAX_UPLOAD:
        raise BadValueError("A protocol file has at most 1 MB.")
    try:
        version = store_protocol(benchmark, read_protocol(upload.read()), by=person(request))
    except ProtocolError as refusal:
        raise BadValueError(str(refusal)) from None
    messages.success(request, f"Imported {version}.")
    return redirect("protocol", slug=slug, name=version.name)


@require_POST
@render_domain_errors
def copy(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Copy a protocol under another name and open the copy's form."""
    benchmark, protocol = _named(request, slug, name, manages=True)
    content = as_json(protocol)
    content["name"] = request.POST.get("name", "").strip().lower()
    content["title"] = request.POST.get("title", "").strip() or f"{protocol.title} (copy)"
    if protocol_named(benchmark, content["name"]) is not None:
        raise BadValueError(f"There is already a protocol named “{content['name']}”.")
    try:
        version = store_protocol(benchmark, protocol_of(content), by=person(request))
    except ProtocolError as refusal:
        raise BadValueError(str(refusal)) from None
    return redirect("protocol-edit", slug=slug, name=version.name)


@require_POST
@render_domain_errors
def use(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Use the newest version of this protocol for the stages from now on."""
    benchmark, protocol = _named(request, slug, name, manages=True)
    version = store_protocol(benchmark, protocol, by=person(request))
    use_stage_protocol(benchmark, version, by=person(request))
    messages.success(request, f"The stages now use {version}.")
    return redirect("protocol", slug=slug, name=name)


@require_GET
@render_domain_errors
def stage_answers(request: HttpRequest, slug: str, form: str) -> HttpResponse:
    """All answers of finished stages as one long table, with pseudonyms. The command can give names."""
    benchmark = benchmark_for(request, slug)
    check_see_figures(person(request), benchmark)
    rows = stage_rows(benchmark, named=False)
    if form == "csv":
        heads = [name for name, _ in COLUMNS]
        lines = csv_lines([heads, *([row[name] for name in heads] for row in rows)])
        answer: HttpResponse = HttpResponse(lines, content_type="text/csv; charset=utf-8")
    elif form == "parquet":
        try:
            answer = HttpResponse(parquet_bytes(rows), content_type="application/vnd.apache.parquet")
        except MissingParquetError as refusal:
            raise BadValueError(str(refusal)) from None
    else:
        raise Http404
    answer["Content-Disposition"] = f'attachment; filename="{slug}-answers.{form}"'
    return answer


# --- the form -------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@render_domain_errors
def edit(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Change words, labels, keys, conditions and what is asked; preview it, then save."""
    benchmark, protocol = _named(request, slug, name, manages=True)
    if name == DEFAULT:
        raise BadValueError("The default protocol of the stages can’t be changed. Copy it, and edit the copy.")
    content, problems = as_json(protocol), []
    if request.method == "POST":
        content = changed(content, request.POST.dict())
        try:
            protocol = protocol_of(content)
            if protocol.work == Work.STAGES:
                check_stages(protocol)
            if request.POST.get("what") == "save":
                version = store_protocol(benchmark, protocol, by=person(request))
                messages.success(request, f"Saved as version {version.number}.")
                return redirect("protocol", slug=slug, name=name)
        except ProtocolError as refusal:
            problems = [named_problem(place, reason, content) for place, reason in refusal.problems]
        except BadValueError as refusal:
            place, _, reason = str(refusal).partition(": ")
            problems = [named_problem(place, reason, content)]
    is_of_stages = protocol.work == Work.STAGES
    kinds = [ITEM, *(each["kind"] for each in content.get("records", []))]
    context = page_of_benchmark(request, benchmark, "Studies") | {
        "protocol": protocol,
        "content": {"description": ""} | content,
        "rows": question_rows(content, declared_names() if is_of_stages else (), OPTIONAL),
        "new": new_question_row(content),
        "problems": problems,
        "records": [] if problems else sections(protocol),
        "kinds": [kind.value for kind in NEW_KINDS],
        "on": [kind.replace("-", "_") for kind in ASKED] if is_of_stages else kinds,
    }
    return render(request, "studies/protocol_edit.html", context, status=422 if problems else 200)
