"""Import: a file is previewed first (format, columns, first rows), then imported in the background with progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from django import forms
from django.contrib import messages
from django.core import signing
from django.core.files.storage import default_storage
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header, urlencode
from django.views.decorators.http import require_http_methods

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.file_problems import BadRow, FileError
from annotator.core.models import Benchmark, User
from annotator.core.released import storable
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, render_domain_errors
from annotator.core.screens.spreadsheet import csv_of
from annotator.core.vocabulary import RunState
from annotator.exchange.actions import import_jobs
from annotator.exchange.formats.documents import csv_columns, detect, preview
from annotator.exchange.formats.gold import GoldDocument
from annotator.exchange.formats.gold_readers import GOLD, GOLD_READERS, ORIGINAL_TOOL
from annotator.exchange.formats.incoming import FIELDS, IncomingDocument
from annotator.exchange.models import ImportJob
from annotator.exchange.native import touchstone, touchstone_reader
from annotator.exchange.native.touchstone_reader import NativeDocument
from annotator.exchange.queries.imports import latest_imports, pace_of

UPLOAD = "exchange/imports/upload.html"
JOB = "exchange/imports/job.html"
SALT = "annotator.import-upload"
ROWS_SHOWN = 5

FORMAT_LABELS = {
    "jsonl": "JSON Lines",
    "csv": "CSV, semicolon- or tab-separated",
    "original-tool": "Factcheck-Bench annotation tool, screen 1",
    "fastfact": "FastFact-Bench responses",
    "averitec": "AVeriTeC, claims to label again",
    "verifastscore": "VeriFastScore output, its claims as suggestions",
    "claimify": "Claimify sentences and claims, as suggestions",
    touchstone.NAME: "Touchstone, with everyone’s work",
    GOLD: "Gold: released Factcheck-Bench",
    ORIGINAL_TOOL: "Gold: ZIP from the Factcheck-Bench annotation tool",
    "averitec-gold": "Gold: AVeriTeC, claims with labels",
    "fastfact-gold": "Gold: FastFact annotation file",
    "veriscore-gold": "Gold: VeriScore claims and labels",
}
FIELD_LABELS = {
    "prompt": "Prompt",
    "response": "Response",
    "id": "ID",
    "source": "Source",
    "model": "Model",
    "metadata": "Metadata (JSON)",
    "reference_date": "Reference date",
}
# Formats without fixed column names, so people map the columns.
MAPPED = ("jsonl", "csv")
# Common names for our fields. The guess is shown and can be changed.
OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "prompt": ("question", "query", "instruction", "input", "user_input"),
    "response": ("answer", "output", "completion", "model_response", "generation", "text"),
    "id": ("doc_id", "document_id", "uid", "question_id", "index", "no"),
    "source": ("dataset", "prompt_source", "origin"),
    "model": ("model_name", "llm", "engine"),
    "reference_date": ("date", "created_at", "timestamp"),
}


class UploadForm(forms.Form):
    """The file. Once its first rows are visible, the page asks how to read it."""

    file = forms.FileField(
        label="File", error_messages={"required": "Choose a file first.", "empty": "The file is empty."}
    )


@dataclass(slots=True)
class PreviewRow:
    """One row of the preview. For a bad row, ``problems`` replace its content."""

    line: int
    prompt: str = ""
    response: str = ""
    about: str = ""
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class UploadPreview:
    """A preview of an upload read in one way. ``error``: why it can't be read that way."""

    format: str
    columns: list[str] = field(default_factory=list)
    mapping: dict[str, str] = field(default_factory=dict)
    rows: list[PreviewRow] = field(default_factory=list)
    error: str = ""

    @property
    def good(self) -> int:
        return sum(1 for row in self.rows if not row.problems)


# --- upload and preview ---------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@render_domain_errors
def upload(request: HttpRequest, slug: str) -> HttpResponse:
    """Choose a file, preview it (``?upload=``, a signed name), import it."""
    benchmark = benchmark_for(request, slug)
    user = person(request)
    rules.check_manage(user, benchmark)
    if request.method == "POST":
        if "upload" in request.POST:
            return _start(request, benchmark, user)
        form = UploadForm(request.POST, request.FILES)
        if form.is_valid():
            name = import_jobs.keep_upload(form.cleaned_data["file"])
            token = _token(benchmark, user, name, form.cleaned_data["file"].name)
            return redirect(f"{reverse('import', args=[slug])}?{urlencode({'upload': token})}")
        return render(request, UPLOAD, _page(request, benchmark) | {"form": form, "look": None}, status=422)
    context = _page(request, benchmark) | {"form": UploadForm(), "look": None}
    if "upload" in request.GET:
        try:
            name, filename = _kept(request.GET["upload"], benchmark, user)
        except BadValueError as refusal:
            messages.error(request, str(refusal))
            return redirect("import", slug)
        context |= _preview_context(request.GET, name, filename)
        if getattr(request, "htmx", False):
            return render(request, f"{UPLOAD}#check", context)
    return render(request, UPLOAD, context)


def _page(request: HttpRequest, benchmark: Benchmark) -> dict[str, Any]:
    return page_of_benchmark(request, benchmark, "Import") | {"jobs": latest_imports(benchmark)}


def _start(request: HttpRequest, benchmark: Benchmark, user: User) -> HttpResponse:
    """Import the upload as previewed."""
    try:
        name, filename = _kept(request.POST["upload"], benchmark, user)
    except BadValueError as refusal:
        messages.error(request, str(refusal))
        return redirect("import", benchmark.slug)
    format = request.POST.get("format", "")
    if format not in FORMAT_LABELS:
        raise BadValueError("Choose the file’s format.")
    job = import_jobs.start_import(
        benchmark=benchmark,
        by=user,
        file=name,
        filename=filename,
        format=format,
        mapping=_mapping(request.POST) if format in MAPPED else None,
        strict="strict" in request.POST,
    )
    return redirect("import-job", benchmark.slug, job.public_id)


def _token(benchmark: Benchmark, user: User, name: str, filename: str | None) -> str:
    """Identifies an upload between two requests; signed, so that nobody can name another file."""
    return signing.dumps([name, filename or "file", benchmark.pk, user.pk], salt=SALT)


def _kept(token: str, benchmark: Benchmark, user: User) -> tuple[str, str]:
    """The upload's name in the storage and its original name. Raises BadValueError if it no longer exists."""
    try:
        name, filename, benchmark_pk, user_pk = signing.loads(token, salt=SALT, max_age=import_jobs.FORGOTTEN_AFTER)
    except signing.BadSignature:
        name, filename, benchmark_pk, user_pk = "", "", 0, 0
    if (benchmark_pk, user_pk) != (benchmark.pk, user.pk) or not default_storage.exists(name):
        raise BadValueError("The uploaded file has expired or was already imported. Upload it again.")
    if ImportJob.objects.filter(file=name).exists():
        raise BadValueError("This file is already being imported. See the imports below.")
    return name, filename


def _mapping(asked: Mapping[str, str]) -> dict[str, str]:
    """Which column holds each field, from a form; "" for none."""
    return {name: asked.get(f"column-{name}", "") for name in FIELDS}


def _preview_context(asked: Mapping[str, str], name: str, filename: str) -> dict[str, Any]:
    """The second step. Chosen columns are kept as long as the format is the same."""
    mapping = _mapping(asked) if asked.get("mapped_as", "-") == asked.get("format") else None
    with Path(default_storage.path(name)).open("rb") as stream:
        look = look_at(stream, filename=filename, format=asked.get("format", ""), mapping=mapping)
    return {
        "look": look,
        "token": asked["upload"],
        "filename": filename,
        "size": default_storage.size(name),
        "strict": "strict" in asked,
        "formats": FORMAT_LABELS.items(),
        "is_mapped": look.format in MAPPED and bool(look.columns),
        "fields": [(field_name, FIELD_LABELS[field_name], look.mapping.get(field_name, "")) for field_name in FIELDS],
        "is_gold": look.format in GOLD_READERS,
    }


def look_at(
    stream: BinaryIO, *, filename: str, format: str = "", mapping: dict[str, str] | None = None
) -> UploadPreview:
    """The first rows of a file as an import would read them. Never raises for bad contents."""
    look = UploadPreview(format if format in FORMAT_LABELS else "")
    try:
        if not look.format:
            look.format = _detect(stream, filename)
        if look.format == touchstone.NAME:
            header = touchstone_reader.read_header(stream)
            look.rows = [_shown(row) for row in islice(touchstone_reader.read(stream, header), ROWS_SHOWN)]
            return look
        if look.format in GOLD_READERS:
            look.rows = [_shown(row) for row in islice(GOLD_READERS[look.format](stream), ROWS_SHOWN)]
            return look
        if look.format == "csv":
            look.columns = csv_columns(stream)
        elif look.format in MAPPED:
            # A name with half of a surrogate pair can't be shown, nor sent back; such a column becomes metadata.
            found_columns = preview(stream, format=look.format, n=ROWS_SHOWN).columns
            look.columns = [name for name in found_columns if storable(name) == name]
        if look.format in MAPPED and look.columns:
            look.mapping = mapping if mapping is not None else guessed(look.columns)
            if not look.mapping["response"]:
                raise FileError("Choose the column that contains the responses.")
        found = preview(stream, format=look.format, mapping=look.mapping or None, n=ROWS_SHOWN)
        look.rows = [_shown(row) for row in found.rows]
        if not look.rows:
            raise FileError("This file has no rows.")
    except FileError as error:
        look.error = str(error)
    return look


def _detect(stream: BinaryIO, filename: str) -> str:
    """The format. Gold is recognized by keys that no other format has, the original tool's screens by the ZIP."""
    stream.seek(0)
    head = stream.read(200)
    if head.startswith(b"PK\x03\x04"):
        return ORIGINAL_TOOL
    if touchstone_reader.is_native(head):
        return touchstone.NAME
    name = detect(stream, filename)
    if name == "jsonl":
        columns = preview(stream, format=name, n=1).columns
        if {"sentences", "revised_response"} <= set(columns):
            return GOLD
    return name


def guessed(columns: list[str]) -> dict[str, str]:
    """The column that holds each field, guessed by name; "" for none. No column is used twice."""
    by_name = {column.casefold().replace(" ", "_"): column for column in reversed(columns)}
    mapping: dict[str, str] = {}
    for name in FIELDS:
        names = (name, *OTHER_NAMES.get(name, ()))
        mapping[name] = next(
            (by_name[each] for each in names if each in by_name and by_name[each] not in mapping.values()), ""
        )
    return mapping


def _shown(row: IncomingDocument | GoldDocument | NativeDocument | BadRow) -> PreviewRow:
    """The row as the page shows it, without the characters that an import leaves out."""
    shown = _as_in_file(row)
    texts = {name: storable(getattr(shown, name)) for name in ("prompt", "response", "about")}
    return PreviewRow(shown.line, **texts, problems=[storable(each) for each in shown.problems])


def _as_in_file(row: IncomingDocument | GoldDocument | NativeDocument | BadRow) -> PreviewRow:
    if isinstance(row, BadRow):
        return PreviewRow(
            row.line, problems=[f"{each.field}: {each.reason}" if each.field else each.reason for each in row.problems]
        )
    if isinstance(row, NativeDocument):
        about = [str(row.own[name]) for name in ("external_id", "source", "model")]
        about += [f"{len(row.tables[name])} {name}" for name in ("annotations", "claims", "activities")]
        return PreviewRow(row.line, row.own["prompt"], row.own["response"], " · ".join(each for each in about if each))
    if isinstance(row, GoldDocument):
        claims = sum(len(sentence.claims) for sentence in row.sentences)
        about = [str(row.about.get(name) or "") for name in ("external_id", "source", "model")]
        about += [_counted(len(row.sentences), "sentence"), _counted(claims, "claim")]
    else:
        about = [row.external_id, row.source, row.model, row.reference_date.isoformat() if row.reference_date else ""]
        if row.sentences:
            about.append(_counted(len(row.sentences), "sentence") + " suggested")
    return PreviewRow(row.line, row.prompt, row.response, " · ".join(each for each in about if each))


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


# --- progress -------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
@render_domain_errors
def progress(request: HttpRequest, slug: str, job_id: str) -> HttpResponse:
    """How far an import is, once a second while it runs (htmx); POST cancels it. ``?format=csv``: its problems;
    ``?format=rows``: the rows with errors."""
    benchmark = benchmark_for(request, slug)
    rules.check_manage(person(request), benchmark)
    job = get_object_or_404(ImportJob.objects.select_related("by"), benchmark=benchmark, public_id=job_id)
    if request.method == "POST":
        if request.POST.get("what") != "cancel":
            raise Http404
        import_jobs.cancel_import(job, by=person(request))
        return redirect("import-job", slug, job_id)
    if request.GET.get("format") == "csv":
        rows = [(each["line"] or "", each["field"], each["reason"]) for each in job.problems]
        return csv_of([("line", "field", "problem"), *rows], f"{benchmark.slug}-import-problems")
    if request.GET.get("format") == "rows":
        return _bad_rows(job)
    context = {"benchmark": benchmark, "job": job, "pace": pace_of(job), "state": RunState(job.state).label}
    context["is_open"] = job.state in (RunState.QUEUED, RunState.RUNNING)
    context["corpus"] = job.mapping["corpus"] if job.format == import_jobs.CORPUS else ""
    if getattr(request, "htmx", False):
        response = render(request, f"{JOB}#numbers" if context["is_open"] else f"{JOB}#job", context)
        if not context["is_open"]:
            # Finished: replaces the whole panel with the next steps and stops polling.
            response["HX-Retarget"] = "#job"
        return response
    return render(request, JOB, page_of_benchmark(request, benchmark, "Import") | context)


def _bad_rows(job: ImportJob) -> HttpResponse:
    """The rows with errors as a file like the one that was imported. Raises Http404 once they are gone."""
    if not job.bad_rows.name or not default_storage.exists(job.bad_rows.name):
        raise Http404
    name = Path(job.filename)
    with job.bad_rows.open("rb") as file:
        response = HttpResponse(file.read(), content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, f"{name.stem}-errors{name.suffix}")
    return response
