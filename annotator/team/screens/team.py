"""The team of a benchmark: people, groups, invitations, and how many label a document. Members read it, owners and
admins manage it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.validators import validate_email
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.actions import benchmarks as protocol
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Benchmark, Group, Invitation, Membership, User
from annotator.core.models.base import choices
from annotator.core.queries.membership import practice_sources
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, person, render_domain_errors
from annotator.core.vocabulary import Role, Seat, TwoStep
from annotator.team import rules as team_rules
from annotator.team.actions import groups as group_actions
from annotator.team.actions import team as actions
from annotator.team.queries.team import Person, pending_invitations, team_of

ROLES_IN_WORDS = {
    Role.OWNER: "everything, including the annotation protocol and who owns the benchmark",
    Role.ADMIN: "imports, exports, batches and the team; can annotate",
    Role.ANNOTATOR: "annotates documents without seeing a partner’s work, then adjudicates with them",
    Role.THIRD_RATER: "adjudicates when two annotators can’t agree",
    Role.RESEARCHER: "views gold and statistics; doesn’t annotate",
}


WHOLE_GROUP = "group"  # instead of a role


class InviteForm(forms.Form):
    """Role, group, e-mail addresses, and for how many days and people the link holds."""

    role = forms.ChoiceField(label="Role")
    group = forms.ModelChoiceField(Group.objects.none(), required=False, empty_label="None yet", label="Group")
    email = forms.CharField(
        required=False,
        label="Email addresses",
        help_text="One or many, as you paste them. Each person gets a link that works once. "
        "Without an address, anyone with the link can join.",
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off"}),
    )
    note = forms.CharField(
        required=False, max_length=actions.MAX_NOTE, label="Note", widget=forms.Textarea(attrs={"rows": 2}),
        help_text="For the people you invite; it is in the email and on the page where they join.",
    )  # fmt: skip
    max_uses = forms.IntegerField(
        required=False, min_value=1, max_value=actions.MAX_USES, label="Limit of uses",
        help_text="For a link without an address: how many people can join with it.",
    )  # fmt: skip
    days = forms.IntegerField(min_value=1, max_value=actions.MAX_DAYS, initial=actions.DAYS, label="Valid for (days)")

    def __init__(self, benchmark: Benchmark, roles: list[Role], data: Any = None) -> None:
        super().__init__(data, auto_id="invite_%s")
        offered = [*choices(roles), (WHOLE_GROUP, _whole_group(benchmark))]
        cast(forms.ChoiceField, self.fields["role"]).choices = offered
        self.fields["role"].initial = Role.ANNOTATOR
        cast("forms.ModelChoiceField[Group]", self.fields["group"]).queryset = benchmark.groups.all()

    def clean_email(self) -> list[str]:
        """The addresses, each once; separated by spaces, commas, semicolons or lines, with or without names."""
        pasted = re.split(r"[,;\n]+", self.cleaned_data["email"])
        found = [word.strip("<>") for part in pasted for word in part.split() if "@" in word]
        left = [part.strip() for part in pasted if part.strip() and "@" not in part]
        if left:
            raise forms.ValidationError(f"“{left[0][:60]}” isn’t an email address.")
        for address in found:
            try:
                validate_email(address)
            except forms.ValidationError:
                raise forms.ValidationError(f"“{address[:60]}” isn’t an email address.") from None
        return list({address.lower(): address for address in found}.values())


def _whole_group(benchmark: Benchmark) -> str:
    number = "one annotator" if benchmark.overlap == 1 else f"{benchmark.overlap} annotators"
    return f"A whole group: {number} and an adjudicator, whose address is last"


class ProtocolForm(forms.Form):
    """How the benchmark works."""

    overlap = forms.IntegerField(min_value=1, max_value=protocol.MAX_PEOPLE, label="People per document")
    practice_documents = forms.IntegerField(
        min_value=0,
        max_value=protocol.MAX_PRACTICE,
        label="Practice documents",
        help_text="Gold documents a new annotator practices on first; 0 for none.",
    )
    practice_from = forms.ModelChoiceField(
        Benchmark.objects.none(),
        required=False,
        to_field_name="slug",
        empty_label="This benchmark’s own gold",
        label="Practice on the gold of",
        help_text="New annotators see its prompts and responses, and after each stage its labels.",
    )
    third_rater_at_verify = forms.BooleanField(required=False, label="The adjudicator signs off on every verify stage")

    def __init__(self, benchmark: Benchmark, user: User, data: Any = None) -> None:
        initial = {name: getattr(benchmark, name) for name in self.base_fields}
        super().__init__(data, initial=initial, auto_id="protocol_%s")
        sources = practice_sources(user, benchmark)
        cast("forms.ModelChoiceField[Benchmark]", self.fields["practice_from"]).queryset = sources
        if not rules.can_change_overlap(benchmark):
            self.fields["overlap"].disabled = True
            self.fields["overlap"].help_text = "Someone has started a document, so this number can’t change."
        else:
            self.fields[
                "overlap"
            ].help_text = "They annotate independently, then adjudicate. You can’t change this once someone starts."


@require_GET
@render_domain_errors
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """The people and groups; for owners and admins also invitations, load and the forms."""
    return _page(request, benchmark_for(request, slug))


def _page(
    request: HttpRequest,
    benchmark: Benchmark,
    *,
    problem: str = "",
    invite_form: InviteForm | None = None,
    protocol_form: ProtocolForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page; a refusal stands on top of it, and a form that was refused keeps what was typed."""
    user = person(request)
    roles = [role for role in Role if team_rules.can_give_role(user, benchmark, role)]
    context = page_of_benchmark(request, benchmark, "Team")
    team = team_of(benchmark, with_load=context["can_manage"])
    context |= {
        "team": team,
        "rows": [_row(row, roles, user.pk) for row in team.people],
        "former": [{"membership": row, "may_return": row.role in roles} for row in team.former],
        "roles": [(role, ROLES_IN_WORDS[role]) for role in Role],
        "can_change_protocol": rules.can_change_protocol(user, benchmark),
        "two_step_choices": choices(TwoStep),
        "problem": problem,
        "mail_is_on": settings.MAIL_IS_ON,
    }
    if roles:
        context |= {
            "invite_form": invite_form or InviteForm(benchmark, roles),
            "invitations": _invitations(request, benchmark, roles),
            "protocol_form": protocol_form or ProtocolForm(benchmark, user),
        }
    return render(request, "team/team.html", context, status=status)


def _row(row: Person, roles: list[Role], own: int) -> dict[str, Any]:
    """A member and what the viewer may make of them; nothing for those whom only an owner changes."""
    held = Role(row.membership.role)
    is_own = row.membership.user_id == own
    may_change = bool(roles) and (held in roles or is_own)
    return {
        "person": row,
        "membership": row.membership,
        "is_own": is_own,
        "may_change": may_change,
        "roles": [role for role in Role if role in roles or role == held],
    }


def _invitations(request: HttpRequest, benchmark: Benchmark, roles: list[Role]) -> list[dict[str, Any]]:
    """The pending invitations. A link to a role that the viewer cannot give is not shown: they could take it."""
    fresh = request.GET.get("invited", "")
    return [
        {
            "invitation": row,
            "link": request.build_absolute_uri(reverse("invitation", args=[row.token])) if row.role in roles else "",
            "is_fresh": row.public_id == fresh,
        }
        for row in pending_invitations(benchmark, timezone.now())
    ]


def _done(request: HttpRequest, benchmark: Benchmark, action: Callable[[], str]) -> HttpResponse:
    """Do it and come back to the page; a refusal is said there."""
    try:
        message = action()
    except rules.NotAllowedError as refusal:
        return _page(request, benchmark, problem=str(refusal), status=403)
    except BadValueError as refusal:
        return _page(request, benchmark, problem=str(refusal), status=422)
    messages.success(request, message)
    return redirect("team", slug=benchmark.slug)


# --- invitations ----------------------------------------------------------------------------------


@require_POST
@render_domain_errors
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Make an invitation; its link is shown on the page, and mailed where an address and a mail server are there."""
    benchmark, user = benchmark_for(request, slug), person(request)
    rules.check_manage(user, benchmark)
    # All roles: who may not give one is told so by the rule, not that the role does not exist.
    form = InviteForm(benchmark, list(Role), request.POST)
    if not form.is_valid():
        return _page(request, benchmark, invite_form=form, status=422)
    data = form.cleaned_data
    role = None if data["role"] == WHOLE_GROUP else Role(data["role"])
    shared = {name: data[name] for name in ("group", "days", "note")} | {"by": user, "role": role}
    try:
        if data["email"] or role is None:
            site = request.build_absolute_uri("/").rstrip("/")
            made = actions.invite_each(benchmark, data["email"], site=site, **shared)[-1]
        else:
            made = actions.invite(benchmark, max_uses=data["max_uses"], **shared)
    except rules.NotAllowedError as refusal:
        return _page(request, benchmark, problem=str(refusal), status=403)
    except BadValueError as refusal:
        return _page(request, benchmark, problem=str(refusal), invite_form=form, status=422)
    return redirect(f"{reverse('team', args=[benchmark.slug])}?invited={made.public_id}#invitations")


@require_POST
@render_domain_errors
def withdraw(request: HttpRequest, slug: str, invitation_id: str) -> HttpResponse:
    """The link lets nobody in any more."""
    benchmark = benchmark_for(request, slug)
    rules.check_manage(person(request), benchmark)
    invitation = get_object_or_404(
        Invitation.objects.select_related("benchmark"), benchmark=benchmark, public_id=invitation_id
    )

    def action() -> str:
        actions.withdraw(invitation, by=person(request))
        return "The invitation was withdrawn. People who joined with it stay."

    return _done(request, benchmark, action)


# --- members --------------------------------------------------------------------------------------


@require_POST
@render_domain_errors
def change_member(request: HttpRequest, slug: str, username: str, what: str) -> HttpResponse:
    """Give a member another role, take them out, bring them back: role, deactivate, reactivate."""
    benchmark, user = benchmark_for(request, slug), person(request)
    rules.check_manage(user, benchmark)
    membership = get_object_or_404(
        Membership.objects.select_related("benchmark", "user"), benchmark=benchmark, user__username=username
    )

    def action() -> str:
        if what == "role":
            role = request.POST.get("role", "")
            if role not in set(Role):
                raise BadValueError("Choose one of the roles.")
            actions.change_role(membership, Role(role), by=user)
            return f"{membership.user} is {Role(role).label.lower()} now."
        if what == "deactivate":
            actions.deactivate(membership, by=user)
            return f"{membership.user} has left. Their finished work is kept and counts."
        if what == "reactivate":
            actions.reactivate(membership, by=user)
            return f"{membership.user} is back. Add them to a group if they had one."
        raise Http404(f"There is no “{what}” here.")

    answer = _done(request, benchmark, action)
    # Who has just taken themselves out has no team page to come back to.
    is_out = membership.user_id == user.pk and not rules.allowed(rules.check_see_benchmark, user, benchmark)
    return redirect("home") if is_out else answer


# --- groups ---------------------------------------------------------------------------------------


@require_POST
@render_domain_errors
def create_group(request: HttpRequest, slug: str) -> HttpResponse:
    """A new group; without a name it gets the next number."""
    benchmark, user = benchmark_for(request, slug), person(request)
    rules.check_manage(user, benchmark)

    def action() -> str:
        return f"{group_actions.create_group(benchmark, by=user, name=request.POST.get('name', ''))} was created."

    return _done(request, benchmark, action)


@require_POST
@render_domain_errors
def change_group(request: HttpRequest, slug: str, group_id: str, what: str) -> HttpResponse:
    """Change a group: rename, add, remove, delete."""
    benchmark, user = benchmark_for(request, slug), person(request)
    rules.check_manage(user, benchmark)
    group = get_object_or_404(Group.objects.select_related("benchmark"), benchmark=benchmark, public_id=group_id)

    def action() -> str:
        if what == "rename":
            group_actions.rename_group(group, request.POST.get("name", ""), by=user)
            return f"The group is {group} now."
        if what == "delete":
            group_actions.delete_group(group, by=user)
            return f"{group} is deleted."
        if what not in ("add", "remove"):
            raise Http404(f"There is no “{what}” here.")
        membership = benchmark.memberships.filter(user__username=request.POST.get("person", "")).first()
        if membership is None:
            raise BadValueError("Choose someone from the list.")
        if what == "remove":
            group_actions.remove_member(group, membership.user, by=user)
            return f"{membership.user} has left {group}."
        seat = request.POST.get("seat", "")
        if seat not in set(Seat):
            raise BadValueError("Choose one of the seats.")
        group_actions.add_member(group, membership.user, by=user, seat=Seat(seat))
        return f"{membership.user} is {Seat(seat).label.lower()} of {group}."

    return _done(request, benchmark, action)


# --- how the benchmark works ----------------------------------------------------------------------


@require_POST
@render_domain_errors
def change_protocol(request: HttpRequest, slug: str) -> HttpResponse:
    """People per document, the adjudicator at verify, practice."""
    benchmark, user = benchmark_for(request, slug), person(request)
    rules.check_change_protocol(user, benchmark)
    form = ProtocolForm(benchmark, user, request.POST)
    if form.fields["overlap"].disabled and request.POST.get("overlap", "") not in ("", str(benchmark.overlap)):
        rules.check_change_overlap(benchmark)  # says why it stays, rather than leaving it in silence
    if not form.is_valid():
        return _page(request, benchmark, protocol_form=form, status=422)

    def action() -> str:
        protocol.change_protocol(benchmark, by=user, **form.cleaned_data)
        return "Settings saved."

    return _done(request, benchmark, action)


@require_POST
@render_domain_errors
def change_two_step(request: HttpRequest, slug: str) -> HttpResponse:
    """Who must sign in with a second step."""
    benchmark, user = benchmark_for(request, slug), person(request)
    wanted = request.POST.get("two_step", "")
    if wanted not in list(TwoStep):
        raise BadValueError("Choose who must sign in with a second step.")

    def action() -> str:
        protocol.change_two_step(benchmark, two_step=TwoStep(wanted), by=user)
        return "Settings saved."

    return _done(request, benchmark, action)
