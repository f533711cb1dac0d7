"""My work: the next task with one button, and short lists of what is in progress, waiting and done."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotator.core import rules
from annotator.core.models import User
from annotator.core.queries.membership import benchmarks_of
from annotator.core.screens.common import document_for, person, render_domain_errors
from annotator.core.vocabulary import Role, Stage
from annotator.measures.queries.pace import PAPER_MINUTES, own_pace
from annotator.stages.actions.annotate import open_annotation
from annotator.studies.queries.work import open_studies
from annotator.team.actions.next_task import take_next
from annotator.team.queries.work import MyWork, WorkItem, my_work, next_task

TEMPLATE = "home/work.html"

WHY = {
    "continue": "You have started it.",
    "repair": "One of your claims was sent back for correction.",
    "consolidate": "Everyone has submitted.",
    "practice": "This is a practice document. You’ll see your results afterward.",
    "follow": "You decomposed it.",
    "new": "Nobody has started it yet.",
    "join": "Someone else is working on it, and another annotator is needed.",
}
VERBS = {
    "continue": "Continue",
    "repair": "Correct",
    "consolidate": "Adjudicate",
    "practice": "Practice",
}  # otherwise: Start


@dataclass(frozen=True, slots=True)
class Nothing:
    """Why there is nothing to do, and what helps."""

    title: str
    text: str
    url: str = ""
    action: str = ""


@require_GET
@render_domain_errors
def home(request: HttpRequest) -> HttpResponse:
    """The start page. If suggestions are being generated and there is nothing else to do, it polls."""
    user = person(request)
    task = next_task(user)
    work = my_work(user)
    pace = own_pace(user)
    context = {
        "task": task,
        "task_verb": VERBS.get(task.why, "Start") if task else "",
        "task_why": _why(task) if task else "",
        "nothing": None if task else nothing_to_do(user, work),
        "work": work,
        "in_work": [row for row in work.in_work if task is None or row.document_id != task.document.pk],
        "to_agree": [row for row in work.to_agree if task is None or row.document.pk != task.document.pk],
        "pace": pace,
        "is_annotator": bool(task or work.in_work or work.waiting or work.done),
        "is_newcomer": pace is None,
        "studies": open_studies(user),
        "paper": PAPER_MINUTES,
        "benchmarks": list(benchmarks_of(user).order_by("name")[:20]),
        "guidelines_url": reverse("guidelines", args=[task.document.benchmark.slug]) if task else "",
    }
    part = request.GET.get("part") == "next" and getattr(request, "htmx", False)
    return render(request, f"{TEMPLATE}#next" if part else TEMPLATE, context)


def _why(task: WorkItem) -> str:
    """Why this is next. Adjudicators see who asked."""
    if not task.asked_by:
        return WHY[task.why]
    asks = "asks" if len(task.asked_by) == 1 else "ask"
    return f"{' and '.join(task.asked_by)} {asks} you about {task.stage.label.lower()}."


def nothing_to_do(user: User, work: MyWork) -> Nothing:
    """The empty state: the reason, and who or what can help. At most five queries."""
    mine = benchmarks_of(user)
    first = mine.order_by("-pk").first()
    if first is None and rules.can_create_benchmark(user):
        return Nothing(
            "No benchmark yet",
            "A benchmark holds language model responses and the people who fact-check them. "
            "Create one, then import responses.",
            reverse("benchmark-new"),
            "Create a benchmark",
        )
    if first is None:
        return Nothing(
            "You aren't in a benchmark yet",
            f"The benchmark's owner can add you. Your username is {user.username}.",
        )
    overview = reverse("benchmark", args=[first.slug])
    if work.prefilling:
        number = "one document" if work.prefilling == 1 else f"{work.prefilling:,} documents"
        return Nothing(
            "Generating suggestions",
            f"Generating suggestions for {number}. This page updates automatically.",
            overview,
            "Go to the overview",
        )
    if not mine.filter(documents__isnull=False).exists():
        if rules.can_manage(user, first):
            return Nothing(
                "No documents yet",
                f"Import language model responses into {first} to start annotating.",
                reverse("import", args=[first.slug]),
                "Import documents",
            )
        return Nothing("No documents yet", f"The owner of {first} hasn’t imported any. Check back later.")
    if not benchmarks_of(user, rules.LABEL_ROLES).exists():
        if benchmarks_of(user, [Role.THIRD_RATER]).exists():
            return Nothing(
                "You’re all caught up",
                "You adjudicate when two annotators can’t agree. Nothing needs you right now.",
                overview,
                "Go to the overview",
            )
        return Nothing(
            "Nothing to annotate",
            "Your role can view gold and statistics. The owner can change your role.",
            reverse("benchmarks"),
            "Your benchmarks",
        )
    return Nothing(
        "You’re all caught up",
        "No documents are available. The rest are assigned to others, waiting for others, or flagged by you.",
        overview,
        "Go to the overview",
    )


@require_POST
@render_domain_errors
def next_document(request: HttpRequest) -> HttpResponse:
    """Assign the next document and open its screen. If someone else gets the last place, the one after is assigned."""
    task = take_next(by=person(request))
    if task is None:
        messages.info(request, "No documents are available right now.")
        return redirect("home")
    if task.why == "consolidate":
        return redirect("agree", task.document.public_id, task.stage.value)
    return redirect(task.stage.value, task.document.public_id)


@require_POST
@render_domain_errors
def start(request: HttpRequest, public_id: str, stage: str) -> HttpResponse:
    """Assign this document and open its screen."""
    document = document_for(request, public_id)
    if stage not in set(Stage):
        raise Http404(f"There is no stage “{stage}”.")
    open_annotation(document, Stage(stage), by=person(request))
    return redirect(stage, public_id=document.public_id)
