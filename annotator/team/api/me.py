"""The current person, their benchmarks and notices."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core.actions import notices as actions
from annotator.core.models import Notice
from annotator.core.queries.membership import benchmarks_of
from annotator.core.queries.notices import notices_of, unread_count, wants_mail, with_places
from annotator.core.vocabulary import NoticeKind, Scope, Stage
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import Input, word
from annotator.integrations.api.paging import CursorPages, PageInput, paged
from annotator.integrations.api.schema import operation
from annotator.integrations.api.scopes import reached

TAG = "me"


class MeSerializer(serializers.Serializer):
    """The person of the session or token."""

    username = serializers.CharField()
    name = serializers.CharField(source="__str__")
    email = serializers.CharField()
    can_create_benchmarks = serializers.BooleanField(source="is_staff")
    wants_mail = serializers.SerializerMethodField()
    unread_notices = serializers.SerializerMethodField()
    benchmarks = serializers.SerializerMethodField()

    def get_wants_mail(self, user: Any) -> bool:
        return wants_mail(user)

    def get_unread_notices(self, user: Any) -> int:
        return unread_count(user)

    def get_benchmarks(self, user: Any) -> list[str]:
        rows = reached(self.context["request"], benchmarks_of(user), "pk")
        return list(rows.order_by("slug").values_list("slug", flat=True))


class MailInput(Input):
    """Whether notices are also mailed."""

    mail = serializers.BooleanField()


class MeView(ApiView):
    scope = {"PATCH": Scope.ANNOTATE}
    unbound = ("PATCH",)

    @operation("me_read", "Who you are", TAG, answer=MeSerializer)
    def get(self, request: Request) -> Response:
        """You, your benchmarks, and your unread notices (counted up to 100)."""
        return Response(MeSerializer(self.person, context={"request": request}).data)

    @operation("me_change", "Change email preferences", TAG, body=MailInput, answer=MeSerializer)
    def patch(self, request: Request) -> Response:
        """Whether notices are mailed to you."""
        actions.choose_mail(wanted=self.body(MailInput)["mail"], by=self.person)
        return self.get(request)


class NoticeSerializer(serializers.Serializer):
    """A notice and what it is about."""

    id = serializers.CharField(source="public_id")
    kind = word(NoticeKind)
    text = serializers.CharField()
    benchmark = serializers.CharField(source="benchmark.slug", allow_null=True, default=None)
    document = serializers.CharField(source="document.public_id", allow_null=True, default=None)
    stage = word(Stage, may_be_blank=True)
    created_at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True)


class ReadUpToInput(Input):
    """The newest notice that you have seen."""

    up_to = serializers.CharField(max_length=32)


class NoticesView(ApiView):
    scope = {"POST": Scope.ANNOTATE}
    unbound = ("POST",)

    @operation("notices_list", "Your notices", TAG, query=PageInput, answer=paged(NoticeSerializer))
    def get(self, request: Request) -> Response:
        """Newest first."""
        self.asked(PageInput)
        pages = CursorPages()
        found = pages.cut(with_places(reached(request, notices_of(self.person))), request, self)
        return pages.answer(NoticeSerializer(found, many=True).data)

    @operation("notices_read", "Read all notices", TAG, body=ReadUpToInput)
    def post(self, request: Request) -> Response:
        """Marks all notices up to one of yours as read; newer ones stay unread."""
        newest = get_object_or_404(notices_of(self.person), public_id=self.body(ReadUpToInput)["up_to"])
        actions.mark_all_read(by=self.person, up_to=newest)
        return Response(status=204)


class NoticeView(ApiView):
    scope = {"POST": Scope.ANNOTATE}

    @operation("notice_read", "Read one notice", TAG)
    def post(self, request: Request, notice_id: str) -> Response:
        """Marks the notice as read."""
        notice: Notice = get_object_or_404(reached(request, notices_of(self.person)), public_id=notice_id)
        actions.mark_read([notice], by=self.person)
        return Response(status=204)
