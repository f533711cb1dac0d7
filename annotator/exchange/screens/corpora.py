"""Corpora: the pages that evidence is retrieved from. Upload, list, trial search, attach to the benchmark."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, Corpus, User
from annotator.core.queries.membership import corpora_for
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import managed_benchmark, person, render_domain_errors
from annotator.exchange.actions import corpora as actions
from annotator.exchange.actions import import_jobs
from annotator.exchange.models import ImportJob
from annotator.exchange.queries.corpora import corpus_rows

INDEX = "exchange/corpora/index.html"
CORPUS = "exchange/corpora/show.html"
PAGES_SHOWN = 50
MAX_QUERY = 500


class NewCorpusForm(forms.Form):
    """A name, the first file, and whether the benchmark searches it from now on."""

    name = forms.CharField(max_length=actions.MAX_NAME, label="Name")
    file = forms.FileField(
        label="Pages",
        help_text="JSON Lines with “url” and “text” and, if known, “title”, “site” and “published” (2024-05-31).",
        error_messages={"required": "Choose a file first.", "empty": "The file is empty."},
    )
    use = forms.BooleanField(required=False, initial=True, label="Retrieve this benchmark’s evidence from it")


@require_http_methods(["GET", "POST"])
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The corpora that the benchmark may search, and the form for a new one."""
    benchmark = managed_benchmark(request, slug)
    user = person(request)
    form = NewCorpusForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            corpus = actions.make_corpus(benchmark, name=form.cleaned_data["name"], by=user)
            if form.cleaned_data["use"]:
                actions.use_corpus(benchmark=benchmark, corpus=corpus, by=user)
            job = _import(benchmark, corpus, form.cleaned_data["file"], user)
        return redirect("import-job", slug, job.public_id)
    context = page_of_benchmark(request, benchmark, "Corpora")
    context |= {"form": form, "rows": corpus_rows(user)}
    return render(request, INDEX, context, status=422 if form.errors else 200)


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    """The pages of a corpus, a trial search, and the available actions."""
    benchmark = managed_benchmark(request, slug)
    corpus = _corpus(request, corpus_slug)
    return render(request, CORPUS, _page(request, benchmark, corpus))


@require_GET
@render_domain_errors
def search(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    """The best passages for a query, found in the same way as evidence for a claim. While a worker searches, the page
    polls once a second (htmx)."""
    benchmark = managed_benchmark(request, slug)
    corpus = _corpus(request, corpus_slug)
    query = " ".join(request.GET.get("q", "").replace("\x00", "").split())[:MAX_QUERY]
    found = actions.ask_corpus(corpus, query) if query else []
    context = {"benchmark": benchmark, "corpus": corpus, "asked": query, "found": found, "is_searching": found is None}
    if getattr(request, "htmx", False):
        return render(request, f"{CORPUS}#found", context)
    return render(request, CORPUS, _page(request, benchmark, corpus) | context)


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, corpus_slug: str, what: str) -> HttpResponse:
    """Add pages, or attach the corpus to the benchmark or detach it."""
    benchmark = managed_benchmark(request, slug)
    user = person(request)
    corpus = _corpus(request, corpus_slug)
    if what == "add":
        upload = request.FILES.get("file")
        if not isinstance(upload, UploadedFile):
            raise BadValueError("Choose a file first.")
        job = _import(benchmark, corpus, upload, user)
        return redirect("import-job", slug, job.public_id)
    if what == "use":
        actions.use_corpus(benchmark=benchmark, corpus=corpus, by=user)
        messages.success(request, f"Evidence is now retrieved from {corpus}.")
    elif what == "leave":
        if benchmark.corpus_id == corpus.pk:
            actions.use_corpus(benchmark=benchmark, corpus=None, by=user)
        messages.success(request, f"Evidence is no longer retrieved from {corpus}. Existing evidence stays.")
    else:
        raise Http404(f"A corpus cannot “{what}”.")
    return redirect("corpus", slug, corpus_slug)


def _corpus(request: HttpRequest, slug: str) -> Corpus:
    return get_object_or_404(corpora_for(person(request)), slug=slug)


def _page(request: HttpRequest, benchmark: Benchmark, corpus: Corpus) -> dict[str, Any]:
    pages = Paginator(corpus.pages.defer("text").order_by("pk"), PAGES_SHOWN).get_page(request.GET.get("page"))
    context = page_of_benchmark(request, benchmark, "Corpora")
    context |= {"corpus": corpus, "page_obj": pages, "query": "", "is_used": benchmark.corpus_id == corpus.pk}
    return context | {"asked": "", "found": [], "is_searching": False}


def _import(benchmark: Benchmark, corpus: Corpus, upload: UploadedFile, by: User) -> ImportJob:
    return import_jobs.start_import(
        benchmark=benchmark,
        by=by,
        file=import_jobs.keep_upload(upload),
        filename=upload.name or "file",
        format=import_jobs.CORPUS,
        mapping={"corpus": corpus.slug},
    )
