"""Batches: select documents, assign them to groups, see progress and open work. For owners and admins."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.models import Batch, Benchmark, Group
from annotator.core.queries.documents import DocumentFilter
from annotator.core.screens.benchmark_page import page_of_benchmark
from annotator.core.screens.common import benchmark_for, is_htmx, person, render_domain_errors, whole_number
from annotator.core.vocabulary import STAGES
from annotator.stages.actions.places import take_back_idle
from annotator.team.actions import batches as actions
from annotator.team.actions.batch_changes import AT_ONCE
from annotator.team.queries.batches import batches_of, fitting, load_of, sources_and_models
from annotator.team.queries.team import number, outside_lack, roles_outside

MAX_DOCUMENTS = 1_000_000
MAX_SEED = 2**31 - 1
IDLE_DAYS = 14
ORDER = [("next", "Next in order"), ("random", "At random")]

USUAL = ("name", "group", "number", "stage")  # fields of the form that are not folded


class CutForm(forms.Form):
    """Which documents, for whom, and the two shares in percent."""

    name = forms.CharField(
        required=False, max_length=actions.MAX_NAME, label="Name", help_text="Leave blank for the next number."
    )
    group = forms.ModelChoiceField(Group.objects.none(), required=False, empty_label="Everyone", label="For")
    number = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_DOCUMENTS,
        label="How many",
        help_text="Leave blank for all matching documents.",
    )
    order = forms.ChoiceField(choices=ORDER, initial="next", label="Which")
    stage = forms.ChoiceField(required=False, label="At stage")
    source = forms.ChoiceField(required=False, label="Source")
    model = forms.ChoiceField(required=False, label="Model")
    search = forms.CharField(
        required=False, max_length=200, label="With these words", help_text="In the prompt or response."
    )
    cross = forms.FloatField(
        min_value=0,
        max_value=100,
        initial=0,
        label="Cross-annotated, %",
        help_text="Annotated by more people than usual.",
    )
    cross_people = forms.IntegerField(
        min_value=1,
        max_value=actions.MAX_EXTRA,
        initial=1,
        label="Additional annotators per document",
        help_text="In a group’s batch, they come from outside the group.",
    )
    blind_first = forms.FloatField(
        min_value=0,
        max_value=100,
        initial=0,
        label="Blind first, %",
        help_text="People annotate first and see the suggestion afterward.",
    )
    seed = forms.IntegerField(
        min_value=0, max_value=MAX_SEED, label="Seed", help_text="The same number draws the same documents again."
    )

    def __init__(self, benchmark: Benchmark, data: Any = None) -> None:
        super().__init__(data, auto_id="cut_%s", initial={"seed": random.randrange(10_000)})
        cast("forms.ModelChoiceField[Group]", self.fields["group"]).queryset = benchmark.groups.all()
        sources, models = sources_and_models(benchmark)
        stages = [(stage.value, stage.label) for stage in STAGES]
        for field, options in (
            ("stage", stages),
            ("source", [(each, each) for each in sources]),
            ("model", [(each, each) for each in models]),
        ):
            cast(forms.ChoiceField, self.fields[field]).choices = [("", "Any"), *options]

    @property
    def usual(self) -> list[forms.BoundField]:
        """What every batch asks."""
        return [self[name] for name in USUAL]

    @property
    def rare(self) -> list[forms.BoundField]:
        """What few batches need; folded unless something in it is wrong."""
        return [self[name] for name in self.fields if name not in USUAL]

    @property
    def is_unfolded(self) -> bool:
        return any(field.errors for field in self.rare)

    @property
    def how(self) -> actions.How:
        """The documents that the valid form asks for."""
        data = self.cleaned_data
        words = data["search"].replace("\x00", "").strip()
        narrowed = DocumentFilter(stage=data["stage"], source=data["source"], model=data["model"], search=words)
        return actions.How(number=data["number"], at_random=data["order"] == "random", narrowed=narrowed)


def _benchmark(request: HttpRequest, slug: str) -> Benchmark:
    """The benchmark, for its managers."""
    benchmark = benchmark_for(request, slug)
    rules.check_manage(person(request), benchmark)
    return benchmark


@require_GET
@render_domain_errors
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The page. ``?part=preview`` says how many documents the form currently matches."""
    benchmark = _benchmark(request, slug)
    if is_htmx(request) and request.GET.get("part") == "preview":
        return render(request, "team/batches.html#preview", {"preview": _preview(benchmark, request.GET)})
    if is_htmx(request) and request.GET.get("part") == "list":
        return render(request, "team/batches.html#list", _list(request, benchmark))
    return _page(request, benchmark)


def _preview(benchmark: Benchmark, data: Any) -> str:
    """How many documents match, and what would happen to them, as a sentence; "" while the form isn't valid."""
    form = CutForm(benchmark, data)
    if not form.is_valid():
        return "; ".join(str(error) for errors in form.errors.values() for error in errors)
    how, chosen = form.how, form.cleaned_data
    fit = fitting(benchmark, how.narrowed).count()
    cut = min(how.number or fit, fit)
    words = [f"{fit:,} document{'s fit' if fit != 1 else ' fits'}, {cut:,} would be added"]
    crossed = actions.share_of(cut, chosen["cross"] / 100)
    blind = actions.share_of(cut, chosen["blind_first"] / 100)
    if crossed:
        words.append(f"{crossed:,} of them for {chosen['cross_people']} more")
    if blind:
        words.append(f"{blind:,} blind first")
    return ", ".join(words) + "." + _lack(chosen["group"], crossed, chosen["cross_people"])


def _lack(group: Group | None, crossed: int, people: int) -> str:
    """A warning if there aren't enough people outside the group for cross-annotation."""
    lack = outside_lack(roles_outside(group), people) if group and crossed else ""
    if not lack:
        return ""
    documents = "1 document" if crossed == 1 else f"{crossed:,} documents"
    more = "one person" if people == 1 else f"{number(people)} people"
    return f" {documents} would wait for {more} from outside {group}{lack}"


def _list(request: HttpRequest, benchmark: Benchmark) -> dict[str, Any]:
    """The list of batches, which polls while a worker is changing one."""
    rows = batches_of(benchmark)
    return page_of_benchmark(request, benchmark, "Batches") | {
        "rows": rows,
        "is_moving": any(row.change for row in rows),
        "groups": list(benchmark.groups.all()),
    }


def _page(
    request: HttpRequest, benchmark: Benchmark, *, problem: str = "", form: CutForm | None = None, status: int = 200
) -> HttpResponse:
    """The page. Errors are shown at the top, and an invalid form keeps what was typed."""
    first = CutForm(benchmark)
    as_shown = {name: first.get_initial_for_field(field, name) for name, field in first.fields.items()}
    context = _list(request, benchmark) | {
        "form": form or first,
        "preview": _preview(benchmark, form.data if form else as_shown),
        "load": load_of(benchmark, timezone.now()),
        "idle_days": IDLE_DAYS,
        "problem": problem,
    }
    return render(request, "team/batches.html", context, status=status)


def _done(
    request: HttpRequest, benchmark: Benchmark, action: Callable[[], str], form: CutForm | None = None
) -> HttpResponse:
    """Perform the action and return to the page, which shows any error."""
    try:
        message = action()
    except BadValueError as refusal:
        return _page(request, benchmark, problem=str(refusal), form=form, status=422)
    messages.success(request, message)
    return redirect("batches", slug=benchmark.slug)


@require_POST
@render_domain_errors
def cut(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a batch."""
    benchmark = _benchmark(request, slug)
    form = CutForm(benchmark, request.POST)
    if not form.is_valid():
        return _page(request, benchmark, form=form, status=422)

    def action() -> str:
        data = form.cleaned_data
        batch = actions.cut_batch(
            benchmark,
            by=person(request),
            name=data["name"],
            how=form.how,
            group=data["group"],
            cross_share=data["cross"] / 100,
            cross_people=data["cross_people"],
            blind_first_share=data["blind_first"] / 100,
            seed=data["seed"],
        )
        number = batch.cut["documents"]
        if number > AT_ONCE:
            return f"{batch} is being created with {number:,} documents. You can go on with your work."
        for_whom = f" for {batch.group}" if batch.group else ""
        return f"{batch} was created{for_whom}: {number:,} document{'' if number == 1 else 's'}."

    return _done(request, benchmark, action, form)


@require_POST
@render_domain_errors
def change(request: HttpRequest, slug: str, batch_id: str, what: str) -> HttpResponse:
    """Change a batch: assign, rename, delete."""
    benchmark, user = _benchmark(request, slug), person(request)
    batch = get_object_or_404(
        Batch.objects.select_related("benchmark", "group"), benchmark=benchmark, public_id=batch_id
    )

    def action() -> str:
        if what == "assign":
            chosen = request.POST.get("group", "")
            group = get_object_or_404(Group, benchmark=benchmark, public_id=chosen) if chosen else None
            actions.assign_batch(batch, group, by=user)
            return f"{batch} is now assigned to {group}." if group else f"{batch} is now open to everyone."
        if what == "rename":
            actions.rename(batch, request.POST.get("name", ""), by=user)
            return f"The batch was renamed to {batch}."
        if what == "dissolve":
            name = str(batch)
            actions.dissolve(batch, by=user)
            if Batch.objects.filter(pk=batch.pk).exists():
                return f"{name} is being deleted. You can go on with your work."
            return f"{name} was deleted. Its documents aren’t in a batch now, and work on them continues."
        raise Http404(f"There is no “{what}” here.")

    return _done(request, benchmark, action)


@require_POST
@render_domain_errors
def take_back(request: HttpRequest, slug: str) -> HttpResponse:
    """Withdraw idle work: everyone's, or one person's."""
    benchmark, user = _benchmark(request, slug), person(request)

    def action() -> str:
        chosen = request.POST.get("person", "")
        members = benchmark.memberships.select_related("user")
        whose = get_object_or_404(members, user__username=chosen).user if chosen else None
        number = take_back_idle(benchmark, days=whole_number(request, "days"), by=user, person=whose)
        if not number:
            return "Nothing was unassigned. No open work has been idle that long."
        return f"{number:,} idle piece{'' if number == 1 else 's'} of work unassigned. Work done so far is kept."

    return _done(request, benchmark, action)
