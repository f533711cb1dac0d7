"""The team of a benchmark: people, invitations, groups."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.models import Benchmark, Group, Invitation, Membership
from annotator.core.vocabulary import Role, Scope, Seat
from annotator.integrations.api.base import ApiView
from annotator.integrations.api.fields import Input, PersonSerializer, word
from annotator.integrations.api.schema import operation
from annotator.team import rules as team_rules
from annotator.team.actions import groups as group_actions
from annotator.team.actions import team as actions
from annotator.team.actions.gold_copies import excuse_from_practice
from annotator.team.queries.team import pending_invitations, team_of

TAG = "team"

# --- people ---------------------------------------------------------------------------------------


class MemberSerializer(serializers.Serializer):
    """A member. Their load is for managers; for others it is null."""

    username = serializers.CharField(source="membership.user.username")
    name = serializers.CharField(source="membership.user")
    role = word(Role, source="membership.role")
    active = serializers.BooleanField(source="membership.active")
    groups = serializers.ListField(child=serializers.CharField())
    in_work = serializers.IntegerField(allow_null=True)
    waiting = serializers.IntegerField(allow_null=True)
    finished = serializers.IntegerField(allow_null=True)
    last_seen = serializers.DateTimeField(allow_null=True)


class GroupSerializer(serializers.Serializer):
    """A group with its seats; ``free`` counts missing annotators."""

    id = serializers.CharField(source="group.public_id")
    name = serializers.CharField(source="group.name")
    annotators = serializers.SerializerMethodField()
    third_rater = serializers.SerializerMethodField()
    free = serializers.IntegerField()
    batches = serializers.IntegerField()
    missing = serializers.CharField()

    def get_annotators(self, card: Any) -> list[str]:
        return [row.user.username for row in card.annotators]

    def get_third_rater(self, card: Any) -> str | None:
        return card.third_rater.user.username if card.third_rater else None


class TeamSerializer(serializers.Serializer):
    """The people, their groups, and what the team needs before documents can be adjudicated."""

    people = MemberSerializer(many=True)
    former = MemberSerializer(many=True)
    groups = GroupSerializer(many=True)
    missing = serializers.ListField(child=serializers.CharField())


class MemberInput(Input):
    """Omitted fields stay. ``active`` false: they leave, and their finished work stays and counts."""

    role = word(Role, required=False)
    active = serializers.BooleanField(required=False)


class GroupInput(Input):
    """A group's name. Without a name, a new group gets the next number."""

    name = serializers.CharField(max_length=group_actions.MAX_NAME, allow_blank=True)


class SeatInput(Input):
    """A person's seat in the group."""

    seat = word(Seat)


def shown(benchmark: Benchmark, *, with_load: bool) -> dict[str, Any]:
    """The team for the API description."""
    team = team_of(benchmark, with_load=with_load)
    hidden = {} if with_load else dict.fromkeys(("in_work", "waiting", "finished", "last_seen"))
    people: list[Any] = [
        {"membership": row.membership, "groups": row.groups, "in_work": row.in_work, "waiting": row.waiting}
        | {"finished": row.finished, "last_seen": row.last_seen}
        | hidden
        for row in team.people
    ]
    nothing = dict.fromkeys(("in_work", "waiting", "finished", "last_seen"))
    former = [{"membership": row, "groups": []} | nothing for row in team.former]
    return {"people": people, "former": former, "groups": team.groups, "missing": team.missing}


class TeamAnswer(ApiView):
    """A view that returns the current team."""

    def team(self, slug: str, status: int = 200) -> Response:
        benchmark = self.benchmark(slug)
        found = shown(benchmark, with_load=rules.can_manage(self.person, benchmark))
        return Response(TeamSerializer(found).data, status=status)

    def member(self, benchmark: Benchmark, username: str) -> Membership:
        rows = Membership.objects.select_related("benchmark", "user")
        return get_object_or_404(rows, benchmark=benchmark, user__username=username)

    def group(self, slug: str, group_id: str) -> Group:
        rows = Group.objects.select_related("benchmark")
        return get_object_or_404(rows, benchmark=self.managed(slug), public_id=group_id)


class TeamView(TeamAnswer):
    @operation("team_read", "The team", TAG, answer=TeamSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """For members. Each person's load is for owners and admins."""
        return self.team(slug)


class MemberView(TeamAnswer):
    scope = Scope.MANAGE

    @operation("member_change", "Change a member", TAG, body=MemberInput, answer=TeamSerializer)
    def patch(self, request: Request, slug: str, username: str) -> Response:
        """Changes the role, deactivates or reactivates. Open work that they may not continue is withdrawn."""
        membership, given = self.member(self.managed(slug), username), self.body(MemberInput)
        if given.get("active") is True and not membership.active:
            actions.reactivate(membership, by=self.person)
        if "role" in given and given["role"] != membership.role:
            actions.change_role(membership, Role(given["role"]), by=self.person)
        if given.get("active") is False:
            actions.deactivate(membership, by=self.person)
        return self.team(slug)


class ExcuseView(TeamAnswer):
    scope = Scope.MANAGE

    @operation("member_excuse", "Excuse a new annotator from practice", TAG)
    def post(self, request: Request, slug: str, username: str) -> Response:
        """Lets them start real work."""
        benchmark = self.managed(slug)
        excuse_from_practice(benchmark, self.member(benchmark, username).user, by=self.person)
        return Response(status=204)


# --- groups ---------------------------------------------------------------------------------------


class GroupsView(TeamAnswer):
    scope = Scope.MANAGE

    @operation("group_create", "Create a group", TAG, body=GroupInput, answer=TeamSerializer, status=201)
    def post(self, request: Request, slug: str) -> Response:
        """A group without members. Returns the team with it."""
        benchmark = self.managed(slug)
        group_actions.create_group(benchmark, by=self.person, name=self.body(GroupInput)["name"])
        return self.team(slug, 201)


class GroupView(TeamAnswer):
    scope = Scope.MANAGE

    @operation("group_rename", "Rename a group", TAG, body=GroupInput, answer=TeamSerializer)
    def patch(self, request: Request, slug: str, group_id: str) -> Response:
        """Renames the group."""
        group_actions.rename_group(self.group(slug, group_id), self.body(GroupInput)["name"], by=self.person)
        return self.team(slug)

    @operation("group_delete", "Delete a group", TAG)
    def delete(self, request: Request, slug: str, group_id: str) -> Response:
        """Only a group without batches can be deleted."""
        group_actions.delete_group(self.group(slug, group_id), by=self.person)
        return Response(status=204)


class SeatView(TeamAnswer):
    scope = Scope.MANAGE

    @operation("seat_give", "Add a group member", TAG, body=SeatInput, answer=TeamSerializer)
    def put(self, request: Request, slug: str, group_id: str, username: str) -> Response:
        """Existing members keep their seat."""
        group = self.group(slug, group_id)
        person = self.member(group.benchmark, username).user
        group_actions.add_member(group, person, by=self.person, seat=Seat(self.body(SeatInput)["seat"]))
        return self.team(slug)

    @operation("seat_free", "Remove a group member", TAG)
    def delete(self, request: Request, slug: str, group_id: str, username: str) -> Response:
        """They leave the group; their open work in its batches is withdrawn."""
        group = self.group(slug, group_id)
        group_actions.remove_member(group, self.member(group.benchmark, username).user, by=self.person)
        return Response(status=204)


# --- invitations ----------------------------------------------------------------------------------


class InvitationSerializer(serializers.Serializer):
    """An invitation. The link is null if it grants a role that you can't assign."""

    id = serializers.CharField(source="public_id")
    role = word(Role)
    group = serializers.CharField(source="group.public_id", allow_null=True, default=None)
    email = serializers.CharField()
    note = serializers.CharField()
    max_uses = serializers.IntegerField(allow_null=True, help_text="How many people can join by the link; null: any.")
    uses = serializers.IntegerField()
    by = PersonSerializer(source="created_by")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    link = serializers.SerializerMethodField()

    def get_link(self, invitation: Any) -> str | None:
        if invitation.role not in self.context["roles"]:
            return None
        return f"{settings.SITE_URL}{reverse('invitation', args=[invitation.token])}"


class InvitationInput(Input):
    """With an e-mail address, the link is for one person and works once; without, for anyone who has it."""

    role = word(Role, default=Role.ANNOTATOR.value)
    group = serializers.CharField(max_length=32, allow_null=True, default=None, help_text="The id of a group.")
    email = serializers.EmailField(allow_blank=True, default="")
    days = serializers.IntegerField(min_value=1, max_value=actions.MAX_DAYS, default=actions.DAYS)
    note = serializers.CharField(
        max_length=actions.MAX_NOTE, allow_blank=True, default="", help_text="In the mail and on the page to join."
    )
    max_uses = serializers.IntegerField(
        min_value=1, max_value=actions.MAX_USES, allow_null=True, default=None,
        help_text="Without an address: how many people can join by the link.",
    )  # fmt: skip


class InvitationsInput(Input):
    """Many addresses, each with a link of its own that works once."""

    emails = serializers.ListField(
        child=serializers.EmailField(), min_length=1, max_length=actions.MAX_ADDRESSES,
        help_text="With a null role: the annotators of a group, then its adjudicator.",
    )  # fmt: skip
    role = word(Role, allow_null=True, default=Role.ANNOTATOR.value, help_text="Null: a whole group.")
    group = serializers.CharField(max_length=32, allow_null=True, default=None, help_text="The id of a group.")
    days = serializers.IntegerField(min_value=1, max_value=actions.MAX_DAYS, default=actions.DAYS)
    note = serializers.CharField(max_length=actions.MAX_NOTE, allow_blank=True, default="")


class JoinedSerializer(serializers.Serializer):
    """Your role in the benchmark you joined."""

    benchmark = serializers.CharField(source="benchmark.slug")
    role = word(Role)


class InvitationAnswer(ApiView):
    scope = Scope.MANAGE

    def shown(self, benchmark: Benchmark, rows: Any, *, many: bool) -> Any:
        """Invitations as this person sees them."""
        roles = {role for role in Role if team_rules.can_give_role(self.person, benchmark, role)}
        return InvitationSerializer(rows, many=many, context={"roles": roles}).data


class InvitationsView(InvitationAnswer):
    @operation("invitations_list", "Pending invitations", TAG, answer=InvitationSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The valid invitations, newest first."""
        benchmark = self.managed(slug)
        return Response(self.shown(benchmark, pending_invitations(benchmark, timezone.now()), many=True))

    @operation("invitation_create", "Invite", TAG, body=InvitationInput, answer=InvitationSerializer, status=201)
    def post(self, request: Request, slug: str) -> Response:
        """A link to join; mailed if an address is given and mail is configured."""
        benchmark, given = self.managed(slug), self.body(InvitationInput)
        group = get_object_or_404(benchmark.groups, public_id=given["group"]) if given["group"] else None
        invitation = actions.invite(
            benchmark,
            by=self.person,
            role=Role(given["role"]),
            group=group,
            email=given["email"],
            days=given["days"],
            site=settings.SITE_URL,
            note=given["note"],
            max_uses=given["max_uses"],
        )
        return Response(self.shown(benchmark, invitation, many=False), status=201)


class InvitationsOfManyView(InvitationAnswer):
    @operation(
        "invitations_create", "Invite many", TAG,
        body=InvitationsInput, answer=InvitationSerializer(many=True), status=201,
    )  # fmt: skip
    def post(self, request: Request, slug: str) -> Response:
        """An invitation for each address, all or none; mailed if mail is configured."""
        benchmark, given = self.managed(slug), self.body(InvitationsInput)
        group = get_object_or_404(benchmark.groups, public_id=given["group"]) if given["group"] else None
        invitations = actions.invite_each(
            benchmark,
            given["emails"],
            by=self.person,
            role=Role(given["role"]) if given["role"] else None,
            group=group,
            days=given["days"],
            site=settings.SITE_URL,
            note=given["note"],
        )
        return Response(self.shown(benchmark, invitations, many=True), status=201)


class AcceptView(ApiView):
    unbound = ("POST",)
    scope = Scope.MANAGE

    @operation("invitation_accept", "Accept an invitation", "me", answer=JoinedSerializer)
    def post(self, request: Request, token: str) -> Response:
        """You join, or your role is raised. New people create their account on the pages."""
        rows = Invitation.objects.select_related("benchmark", "created_by", "group")
        membership = actions.accept(get_object_or_404(rows, token=token), by=self.person)
        return Response(JoinedSerializer(membership).data)


class InvitationView(ApiView):
    scope = Scope.MANAGE

    @operation("invitation_withdraw", "Withdraw an invitation", TAG)
    def delete(self, request: Request, slug: str, invitation_id: str) -> Response:
        """The link stops working."""
        rows = Invitation.objects.select_related("benchmark")
        invitation = get_object_or_404(rows, benchmark=self.managed(slug), public_id=invitation_id)
        actions.withdraw(invitation, by=self.person)
        return Response(status=204)
