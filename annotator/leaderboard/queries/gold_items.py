"""A benchmark's gold as the items of a task, streamed in document order; at most six queries per task, independent of
the amount of gold.

Reads only adjudicated versions of gold documents (``annotator.core.queries.gold``), so nothing blind can be included.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from annotator.core.labels import claim_is_true, document_is_true_by_claims
from annotator.core.models import Benchmark, Claim, Document, Evidence, ResponseRevision, Sentence
from annotator.core.queries.gold import GoldScope, adjudicated, checked
from annotator.core.released_labels import is_remark
from annotator.core.vocabulary import SentenceType, Stage, StanceLabel
from annotator.leaderboard.scoring.items import GoldPassage, TaskItem, Verdicts, fingerprint
from annotator.leaderboard.scoring.label_sets import FALSE, NO, TRUE, YES, three
from annotator.leaderboard.scoring.passages import address_of
from annotator.leaderboard.scoring.tasks import Level, Options, Task, factuality

CHUNK = 2000  # rows per fetch

# The kind of row an id belongs to, in the words of a task's rows.
_KINDS: tuple[tuple[str, type[Any], str], ...] = (
    ("a document", Document, "benchmark"),
    ("a sentence", Sentence, "annotation__document__benchmark"),
    ("a claim", Claim, "sentence__annotation__document__benchmark"),
    ("a passage", Evidence, "claim__sentence__annotation__document__benchmark"),
)


def gold_items(benchmark: Benchmark, task: Task, options: Options, *, texts: bool = False) -> Iterator[TaskItem]:
    """The items of a task. ``texts``: include what they are about, for templates and for finding claims by their text.
    Revision and decomposition always include it, because their baselines are made from texts."""
    scope = GoldScope(benchmark)
    if task == Task.SENTENCE_CHECKWORTHINESS:
        return _sentences(scope, texts)
    if task == Task.CLAIM_CHECKWORTHINESS:
        return _claims(scope, texts)
    if task == Task.STANCE:
        return _stances(scope, options, texts)
    if task == Task.CLAIM_FACTUALITY:
        return _verdicts(scope, options, texts)
    if task == Task.DECOMPOSITION:
        return _decompositions(scope, options)
    if task == Task.EVIDENCE:
        return _evidence(scope, texts)
    return _responses(scope, task, options, texts)


def kinds_of(benchmark: Benchmark, ids: Sequence[str]) -> dict[str, str]:
    """What ids of this benchmark refer to, in words; unknown ids are left out (four queries)."""
    found: dict[str, str] = {}
    for words, model, path in _KINDS:
        rows = model.objects.filter(public_id__in=ids, **{path: benchmark}).values_list("public_id", flat=True)
        found.update(dict.fromkeys(rows, words))
    return found


# --- label tasks ----------------------------------------------------------------------------------


def _sentences(scope: GoldScope, texts: bool) -> Iterator[TaskItem]:
    for document, external, position, row in _numbered_sentences(scope, "public_id", "type", *_text(texts)):
        key, type, *text = row
        label = (YES if type == SentenceType.CHECKWORTHY else NO) if type else None
        yield TaskItem(key, document, external, position, label, *text)


def _claims(scope: GoldScope, texts: bool) -> Iterator[TaskItem]:
    for document, external, position, row in _numbered_claims(scope, "public_id", "type", *_text(texts)):
        key, type, *text = row
        yield TaskItem(key, document, external, position, type or None, *text)


def _verdicts(scope: GoldScope, options: Options, texts: bool) -> Iterator[TaskItem]:
    said = dict(scope.checked_verdicts().values_list("claim", "factuality").iterator(chunk_size=CHUNK))
    for document, external, position, row in _numbered_claims(
        scope, "pk", "public_id", *_text(texts), only_checked=True
    ):
        pk, key, *text = row
        yield TaskItem(key, document, external, position, factuality(said.get(pk, ""), options.undetermined), *text)


def _stances(scope: GoldScope, options: Options, texts: bool) -> Iterator[TaskItem]:
    said = _stances_said(scope)
    fields = ("pk", "public_id", *(("passage", "claim__text") if texts else ()))
    for document, external, position, row in _numbered_passages(scope, *fields):
        pk, key, *text = row
        label = said.get(pk, "")
        yield TaskItem(
            key, document, external, position, (three(label) if options.stance_labels == 3 else label) or None, *text
        )


def _text(wanted: bool) -> tuple[str, ...]:
    return ("text",) if wanted else ()


def _stances_said(scope: GoldScope) -> dict[int, str]:
    """The adjudicated stance of each retrieved passage, spelled as released. Equal strings are shared."""
    spelled = {word.value: word.value.replace("_", "-") for word in StanceLabel}
    rows = scope.stances().values_list("evidence", "label").iterator(chunk_size=CHUNK)
    return {evidence: spelled[label] for evidence, label in rows}


# --- texts and passages ---------------------------------------------------------------------------


def _decompositions(scope: GoldScope, options: Options) -> Iterator[TaskItem]:
    claims: dict[int, list[str]] = defaultdict(list)
    rows = scope.claims().order_by("order", "pk").values_list("sentence", "text")
    for sentence, text in rows.iterator(chunk_size=CHUNK):
        claims[sentence].append(text)
    sentences = _numbered_sentences(scope, "pk", "public_id", "text", "decontext")
    if options.level == Level.SENTENCE:
        for document, external, position, (pk, key, text, decontext) in sentences:
            yield TaskItem(key, document, external, position, tuple(claims.get(pk, ())), _one_line(decontext or text))
        return
    for (document, external), each in groupby(sentences, key=lambda found: (found[0], found[1])):
        rows_of = [row for *_, row in each]
        gold = tuple(claim for pk, *_ in rows_of for claim in claims.get(pk, ()))
        text = "\n".join(_one_line(decontext or text) for _, _, text, decontext in rows_of)
        yield TaskItem(document, document, external, "", gold, text)


def _one_line(text: str) -> str:
    """A sentence on one line, because the sentences of a response are separated by line breaks."""
    return " ".join(text.split())


def _evidence(scope: GoldScope, texts: bool) -> Iterator[TaskItem]:
    passages: dict[int, list[GoldPassage]] = defaultdict(list)
    said = _stances_said(scope)
    for rows, added in ((scope.retrieved(), False), (scope.added(), True)):
        found = rows.order_by("order", "pk").values_list("claim", "pk", "public_id", "passage", "url")
        for claim, pk, key, passage, url in found.iterator(chunk_size=CHUNK):
            if added and is_remark(passage, url):
                continue  # nothing to find
            stance = said.get(pk, "")
            passages[claim].append(GoldPassage(key, fingerprint(passage), address_of(url), stance, added))
    for document, external, position, row in _numbered_claims(
        scope, "pk", "public_id", *_text(texts), only_checked=True
    ):
        pk, key, *text = row
        yield TaskItem(key, document, external, position, tuple(passages.get(pk, ())), *text)


def _responses(scope: GoldScope, task: Task, options: Options, texts: bool) -> Iterator[TaskItem]:
    """The items of revision and end to end: responses."""
    claims: dict[int, list[tuple[str, str]]] = defaultdict(list)
    rows = scope.checked_verdicts().values_list(
        "annotation__document", "factuality", *(("claim__text",) if task == Task.END_TO_END else ())
    )
    for document, label, *text in rows.iterator(chunk_size=CHUNK):
        claims[document].append((text[0] if text else "", label))
    revised = ResponseRevision.objects.filter(
        adjudicated(Stage.REVISE, "annotation__"), annotation__document=OuterRef("pk")
    )
    fields = ["pk", "public_id", "external_id"]
    if texts or task == Task.REVISION:
        fields += ["response", "prompt"]
    documents = scope.documents().order_by("order", "pk")
    found: QuerySet[Document, tuple[Any, ...]] = (
        documents.annotate(revised=Subquery(revised.values("text")[:1])).values_list(*fields, "revised")
        if task == Task.REVISION
        else documents.values_list(*fields)
    )
    for row in found.iterator(chunk_size=CHUNK):
        pk, key, external, *rest = row
        is_true = document_is_true_by_claims(claim_is_true(label) for _, label in claims[pk])
        if task == Task.REVISION:
            response, prompt, text = rest
            is_asked = text is not None and (options.all_responses or is_true is False)
            yield TaskItem(key, key, external, "", text if is_asked else None, response, prompt)
        else:
            gold = None if is_true is None else Verdicts(TRUE if is_true else FALSE, tuple(claims[pk]))
            yield TaskItem(key, key, external, "", gold, *rest)


# --- positions ------------------------------------------------------------------------------------

_Found = Iterator[tuple[str, str, str, tuple[Any, ...]]]


def _numbered_sentences(scope: GoldScope, *fields: str) -> _Found:
    """Document, its external id, position, and the fields of every sentence (one query)."""
    path = "annotation__document"
    rows = (
        scope.sentences()
        .order_by(f"{path}__order", path, "order", "pk")
        .values_list(f"{path}__public_id", f"{path}__external_id", *fields)
    )
    for (document, external), each in _by_document(rows.iterator(chunk_size=CHUNK)):
        for number, row in enumerate(each, start=1):
            yield document, external, str(number), row[2:]


def _numbered_claims(scope: GoldScope, *fields: str, only_checked: bool = False) -> _Found:
    """The same for every claim, counted within its sentence (two queries). With ``only_checked``, claims that aren't
    checked are counted but left out."""
    places = _sentence_places(scope)
    path = "sentence__annotation__document"
    claims = scope.claims()
    kept = set(claims.filter(checked("")).values_list("pk", flat=True).iterator()) if only_checked else None
    rows = claims.order_by(f"{path}__order", path, "sentence__order", "sentence", "order", "pk").values_list(
        f"{path}__public_id", f"{path}__external_id", "sentence", "pk", *fields
    )
    for (document, external), each in _by_document(rows.iterator(chunk_size=CHUNK)):
        for sentence, claims_of in groupby(each, key=lambda row: row[2]):
            for number, row in enumerate(claims_of, start=1):
                if kept is None or row[3] in kept:
                    yield document, external, f"{places[sentence]}.{number}", row[4:]


def _numbered_passages(scope: GoldScope, *fields: str) -> _Found:
    """The same for every retrieved passage of checked claims, counted within its claim (four queries)."""
    places = {row[0]: position for _, _, position, row in _numbered_claims(scope, "pk", only_checked=True)}
    path = "claim__sentence__annotation__document"
    rows = (
        scope.retrieved()
        .filter(checked("claim__"))
        .order_by(
            f"{path}__order", path, "claim__sentence__order", "claim__sentence", "claim__order", "claim", "order", "pk"
        )
        .values_list(f"{path}__public_id", f"{path}__external_id", "claim", *fields)
    )
    for (document, external), each in _by_document(rows.iterator(chunk_size=CHUNK)):
        for claim, passages in groupby(each, key=lambda row: row[2]):
            for number, row in enumerate(passages, start=1):
                yield document, external, f"{places[claim]}.{number}", row[3:]


def _sentence_places(scope: GoldScope) -> dict[int, str]:
    return {row[0]: position for _, _, position, row in _numbered_sentences(scope, "pk")}


def _by_document(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[tuple[str, str], Iterator[tuple[Any, ...]]]]:
    """Rows grouped by their document's two ids, the first columns."""
    return groupby(rows, key=lambda row: (row[0], row[1]))
