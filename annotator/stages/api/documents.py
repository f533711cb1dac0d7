"""Documents: the list of a benchmark, one document, and actions on it as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.models import Annotation, Document
from annotator.core.queries.documents import DocumentFilter, page_of, prefilling_of, shelf_for
from annotator.core.queries.history import lines_of, visible_activities, visible_flags
from annotator.core.vocabulary import AnnotationKind, AnnotationState, DiscardReason, FlagReason, Phase, Scope, Stage
from annotator.integrations.api.base import ApiView, versioned
from annotator.integrations.api.fields import DiscardInput, Input, PersonSerializer, ReasonInput, text, word
from annotator.integrations.api.paging import CursorPages, DocumentPages, PageInput, paged
from annotator.integrations.api.schema import operation
from annotator.stages.actions import documents as actions
from annotator.stages.actions.places import close_extra_places, reopen_annotation, take_back
from annotator.stages.queries.places import places_of

TAG = "documents"

# --- the list -------------------------------------------------------------------------------------


class DocumentRowSerializer(serializers.Serializer):
    """A document in a list, with the beginning of its texts."""

    id = serializers.CharField(source="public_id")
    version = serializers.IntegerField()
    external_id = serializers.CharField()
    prompt = serializers.CharField(source="first_words")
    response = serializers.CharField(source="answer_words")
    source = serializers.CharField()  # type: ignore[assignment]
    model = serializers.CharField()
    stage = word(Stage)
    phase = word(Phase)
    is_gold = serializers.BooleanField()
    is_begun = serializers.BooleanField(help_text="Whether anyone is assigned to it at its current stage.")
    is_flagged = serializers.BooleanField()


class DocumentsQuery(PageInput):
    """Filters for the list."""

    stage = word(Stage, may_be_blank=True, default="")
    phase = word(Phase, may_be_blank=True, default="")
    source = serializers.CharField(max_length=200, allow_blank=True, default="")  # type: ignore[assignment]
    model = serializers.CharField(max_length=200, allow_blank=True, default="")
    batch = serializers.CharField(max_length=32, allow_blank=True, default="", help_text="For admins: a batch id.")
    search = serializers.CharField(
        max_length=200, allow_blank=True, default="", help_text="Text in the prompt, response or external id."
    )
    flagged = serializers.BooleanField(default=False)
    copies = serializers.BooleanField(default=False, help_text="For admins: practice and hidden gold copies instead.")


class DocumentsView(ApiView):
    @operation("documents_list", "Documents", TAG, query=DocumentsQuery, answer=paged(DocumentRowSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """The documents you can see in the benchmark, in import order."""
        benchmark, asked = self.benchmark(slug), self.asked(DocumentsQuery)
        can_manage = rules.can_manage(self.person, benchmark)
        narrowed = DocumentFilter(
            **{name: asked[name] for name in ("stage", "phase", "source", "model", "search", "flagged")},
            twins=asked["copies"] and can_manage,
        )
        shelf = shelf_for(self.person, benchmark, twins=narrowed.twins)
        if asked["batch"]:
            rules.check_manage(self.person, benchmark)
            shelf = replace(shelf, documents=shelf.documents.filter(batch__public_id=asked["batch"]))
        pages = DocumentPages()
        after, before = pages.keys(request)
        size = asked.get("size") or pages.page_size
        pages.found = page_of(benchmark, narrowed, shelf, after=after, before=before, size=size)
        return pages.answer(DocumentRowSerializer(pages.found.rows, many=True).data)


# --- one document ---------------------------------------------------------------------------------


class PrefillingSerializer(serializers.Serializer):
    """The run that a document is waiting for."""

    done = serializers.IntegerField()
    total = serializers.IntegerField()
    running = serializers.BooleanField()
    paused = serializers.BooleanField()
    problem = serializers.CharField()


class FlagSerializer(serializers.Serializer):
    """Someone flagged the document."""

    id = serializers.IntegerField(source="pk")
    by = PersonSerializer()
    reason = word(FlagReason)
    note = serializers.CharField()
    created_at = serializers.DateTimeField()


class DocumentSerializer(serializers.Serializer):
    """A document and its status."""

    id = serializers.CharField(source="public_id")
    version = serializers.IntegerField()
    benchmark = serializers.CharField(source="benchmark.slug")
    external_id = serializers.CharField()
    prompt = serializers.CharField()
    response = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    model = serializers.CharField()
    metadata = serializers.DictField()
    reference_date = serializers.DateField(allow_null=True)
    stage = word(Stage)
    phase = word(Phase)
    is_gold = serializers.BooleanField()
    discard_reason = serializers.CharField()
    discard_code = word(DiscardReason, may_be_blank=True)
    batch = serializers.CharField(
        source="batch.public_id", allow_null=True, default=None, help_text="For admins; null for others."
    )
    people_needed = serializers.IntegerField()
    blind_first = serializers.BooleanField()
    prefilling = PrefillingSerializer()
    flags = FlagSerializer(many=True)


class FlagInput(Input):
    """Why you skip the document."""

    reason = word(FlagReason)
    note = text(most=500, allow_blank=True, default="")


class ReopenInput(ReasonInput):
    """The stage to reopen; later stages reopen too."""

    stage = word(Stage)


class DocumentAnswer(ApiView):
    """A view that answers with the document as it now stands."""

    scope: Any = {"GET": Scope.READ, "POST": Scope.MANAGE, "DELETE": Scope.MANAGE, "PUT": Scope.MANAGE}

    def shown(self, public_id: str) -> Response:
        document: Any = self.document(public_id)
        flags = visible_flags(document, self.person)
        found = {name: getattr(document, name) for name in _PLAIN}
        if not rules.can_manage(self.person, document.benchmark):
            found["batch"] = None  # it would reveal that this is a copy that measures people
        found |= {"prefilling": prefilling_of(document), "flags": flags, "benchmark": document.benchmark}
        return versioned(DocumentSerializer(found).data, document.version)


_PLAIN = (
    "public_id", "version", "external_id", "prompt", "response", "source", "model", "metadata", "reference_date",
    "stage", "phase", "is_gold", "discard_reason", "discard_code", "batch", "people_needed", "blind_first",
)  # fmt: skip


class DocumentView(DocumentAnswer):
    @operation("document_read", "One document", TAG, answer=DocumentSerializer)
    def get(self, request: Request, public_id: str) -> Response:
        """The document and its status, without anyone's work on it."""
        return self.shown(public_id)


class DiscardView(DocumentAnswer):
    @operation("document_discard", "Discard", TAG, body=DiscardInput, answer=DocumentSerializer)
    def post(self, request: Request, public_id: str) -> Response:
        """Removes it from the benchmark with a reason. Nothing is deleted."""
        given = self.body(DiscardInput)
        actions.discard(self.document(public_id), given["reason"], by=self.person, code=given["code"])
        return self.shown(public_id)


class BringBackView(DocumentAnswer):
    @operation("document_bring_back", "Bring back", TAG, answer=DocumentSerializer)
    def post(self, request: Request, public_id: str) -> Response:
        """Undoes a discard."""
        actions.bring_back(self.document(public_id), by=self.person)
        return self.shown(public_id)


class ReopenView(DocumentAnswer):
    @operation("document_reopen", "Reopen a stage", TAG, body=ReopenInput, answer=DocumentSerializer)
    def post(self, request: Request, public_id: str) -> Response:
        """Reopens an adjudicated stage and all later ones. Work from then on is marked as not independent."""
        document, given = self.document(public_id), self.body(ReopenInput)
        actions.reopen(document, Stage(given["stage"]), given["reason"], by=self.person)
        return self.shown(public_id)


class FlagsView(DocumentAnswer):
    scope = Scope.ANNOTATE

    @operation("document_flag", "Skip and flag", TAG, body=FlagInput, answer=DocumentSerializer)
    def post(self, request: Request, public_id: str) -> Response:
        """The document leaves your queue until an admin clears the flag."""
        document, given = self.document(public_id), self.body(FlagInput)
        actions.flag(document, given["reason"], by=self.person, note=given["note"])
        return self.shown(public_id)


class FlagView(DocumentAnswer):
    @operation("flag_clear", "Clear a flag", TAG)
    def delete(self, request: Request, public_id: str, flag_id: str) -> Response:
        """The document returns to the person's queue."""
        actions.clear_flag(get_object_or_404(self.document(public_id).flags, pk=int(flag_id)), by=self.person)
        return Response(status=204)


# --- who is at work -------------------------------------------------------------------------------


class PlaceSerializer(serializers.Serializer):
    """An annotator's place on a document: whether they have submitted, never what."""

    annotation = serializers.CharField(source="annotation.public_id")
    person = PersonSerializer(source="annotation.person")
    stage = word(Stage, source="annotation.stage")
    state = word(AnnotationState, source="annotation.state")
    can_take_back = serializers.BooleanField()
    can_reopen = serializers.BooleanField()


class PlacesView(DocumentAnswer):
    @operation("places_list", "Places on a document", TAG, answer=PlaceSerializer(many=True))
    def get(self, request: Request, public_id: str) -> Response:
        """For owners and admins."""
        document = self.document(public_id)
        rules.check_manage(self.person, document.benchmark)
        found = places_of(document, list(document.annotations.select_related("person")))
        return Response(PlaceSerializer(found.seats, many=True).data)


class PlaceAnswer(DocumentAnswer):
    def place(self, public_id: str, annotation_id: str) -> Annotation:
        document = self.document(public_id)
        rules.check_manage(self.person, document.benchmark)
        rows = document.annotations.select_related("person", "document__benchmark")
        return get_object_or_404(rows, public_id=annotation_id, kind=AnnotationKind.INDIVIDUAL)


class PlaceTakeBackView(PlaceAnswer):
    @operation("place_take_back", "Take back open work", TAG, body=ReasonInput)
    def post(self, request: Request, public_id: str, annotation_id: str) -> Response:
        """Frees the place; the work is kept."""
        place = self.place(public_id, annotation_id)
        take_back(place, by=self.person, reason=self.body(ReasonInput)["reason"])
        return Response(status=204)


class ReopenPlaceView(PlaceAnswer):
    @operation("place_reopen", "Reopen submitted work", TAG, body=ReasonInput)
    def post(self, request: Request, public_id: str, annotation_id: str) -> Response:
        """Returns submitted work to one annotator until the stage is adjudicated."""
        place = self.place(public_id, annotation_id)
        reopen_annotation(place, self.body(ReasonInput)["reason"], by=self.person)
        return Response(status=204)


class ClosePlacesView(DocumentAnswer):
    @operation("places_close", "Give up extra places", TAG, answer=DocumentSerializer)
    def post(self, request: Request, public_id: str) -> Response:
        """The document continues with its current annotators."""
        close_extra_places(self.document(public_id), by=self.person)
        return self.shown(public_id)


# --- history --------------------------------------------------------------------------------------


class HistoryLineSerializer(serializers.Serializer):
    """One line of the history, in words."""

    at = serializers.DateTimeField()
    who = serializers.CharField()
    what = serializers.CharField()
    reason = serializers.CharField()
    details = serializers.ListField(child=serializers.CharField())
    independent = serializers.BooleanField()


class HistoryView(ApiView):
    @operation("history_list", "History", TAG, query=PageInput, answer=paged(HistoryLineSerializer))
    def get(self, request: Request, public_id: str) -> Response:
        """Newest first: changes to the document, yours, and others' once you may see their work."""
        self.asked(PageInput)
        document: Document = self.document(public_id)
        annotations = list(document.annotations.select_related("person"))
        pages = CursorPages()
        rows = pages.cut(visible_activities(document, self.person, annotations), request, self)
        return pages.answer(HistoryLineSerializer(lines_of(rows), many=True).data)
