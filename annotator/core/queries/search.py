"""Full-text search over documents, and what the index of it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_

from django.db import connection
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import RawSQL

from annotator.core.models import Annotation, Claim, Document, Evidence, Verdict
from annotator.core.texts.search_words import postgresql_query, sqlite_match, terms_of
from annotator.core.vocabulary import AnnotationKind, AnnotationState, Factuality, Stage

MAX_TEXT = 400_000  # characters of a document that are searched; PostgreSQL's text index takes one megabyte


def found_by(search: str) -> Q:
    """The documents that contain all words and phrases of a search, in any order, or whose id contains it.

    Looks in prompt, response, and what is adjudicated: claims, evidence, reasons of verdicts. Of a document that is not
    in the index yet, only prompt and response are read, as they stand.
    """
    in_id = Q(twin_of__isnull=True, external_id__icontains=search) | Q(twin_of__external_id__icontains=search)
    terms = terms_of(search)
    if not terms:
        return in_id | Q(prompt__icontains=search) | Q(response__icontains=search)
    not_indexed = reduce(
        and_,
        (Q(prompt__icontains=text) | Q(response__icontains=text) for text in (" ".join(each.words) for each in terms)),
        Q(search_entry__isnull=True),
    )
    if connection.vendor == "postgresql":
        sql = "SELECT document_id FROM annotator_searchentry WHERE words @@ to_tsquery('simple', %s)"
        indexed = RawSQL(sql, [postgresql_query(terms)])  # noqa: S611 (a constant, its values apart)
    else:
        sql = "SELECT rowid FROM annotator_searchentry_words WHERE annotator_searchentry_words MATCH %s"
        indexed = RawSQL(sql, [sqlite_match(terms)])  # noqa: S611
    return Q(pk__in=indexed) | not_indexed | in_id


def outdated() -> QuerySet[Document]:
    """The documents that the index lacks, or knows from before their last change, in no order."""
    changed = ~Q(search_entry__version=F("version"))
    return Document.objects.filter(Q(search_entry__isnull=True) | changed).order_by()


@dataclass(slots=True)
class DocumentTexts:
    """What is looked up of one document. ``claims`` and ``false_claims``: None before their stage is complete."""

    version: int
    texts: list[str] = field(default_factory=list)
    claims: int | None = None
    false_claims: int | None = None


def texts_of(keys: Sequence[int]) -> dict[int, DocumentTexts]:
    """Prompt, response and adjudicated texts of these documents (primary keys), by key: five queries."""
    rows = Document.objects.filter(pk__in=keys).values_list("pk", "version", "prompt", "response")
    found = {pk: DocumentTexts(version, [prompt, response]) for pk, version, prompt, response in rows}
    complete = Annotation.objects.filter(
        document__in=keys, kind=AnnotationKind.CONSOLIDATED, state=AnnotationState.SUBMITTED
    ).values_list("stage", "pk", "document")
    decompose = {pk: document for stage, pk, document in complete if stage == Stage.DECOMPOSE}
    verify = {pk: document for stage, pk, document in complete if stage == Stage.VERIFY}
    for document in decompose.values():
        found[document].claims = 0
    for document in verify.values():
        found[document].false_claims = 0
    claims = Claim.objects.filter(sentence__annotation__in=decompose, sentence__removed="", removed="")
    for annotation, text in claims.order_by().values_list("sentence__annotation", "text"):
        entry = found[decompose[annotation]]
        entry.texts.append(text)
        entry.claims = (entry.claims or 0) + 1
    for annotation, reason, factuality in Verdict.objects.filter(annotation__in=verify).values_list(
        "annotation", "reason", "factuality"
    ):
        entry = found[verify[annotation]]
        entry.texts.append(reason)
        entry.false_claims = (entry.false_claims or 0) + (factuality == Factuality.FALSE)
    evidence = Evidence.objects.filter(
        Q(annotation__isnull=True) | Q(annotation__in=verify),
        claim__sentence__annotation__in=decompose,
        removed="",
    )
    for annotation, title, passage in evidence.order_by().values_list(
        "claim__sentence__annotation", "title", "passage"
    ):
        found[decompose[annotation]].texts += (title, passage)
    return found
