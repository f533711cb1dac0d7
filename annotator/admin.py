"""The Django admin: people, memberships, settings of benchmarks, guidelines and corpora are managed here; annotation
data can only be looked at.

It is for superusers alone. It shows every annotation of everyone, so it stands outside the blindness that the screens
keep: a superuser who also labels should not look up a partner's work here. Annotation data cannot be added, changed or
deleted, since that would go past the actions and their audit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import ForeignKey, Model
from django.http import HttpRequest

from annotator import models
from annotator.core.actions.guidelines import publish_guidelines

# Roles live in memberships, so Django's own groups have nothing to say.
admin.site.unregister(Group)

admin.site.site_header = "Touchstone administration"
admin.site.site_title = "Touchstone"
admin.site.index_title = "Manage people and settings, and view annotation data"


class SuperusersOnly:
    """Rights given to staff do not count here: what is shown would undo their blindness."""

    may_add = True
    may_change = True
    may_delete = True

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.is_superuser

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may_add and request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may_change and request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may_delete and request.user.is_superuser


class ReadOnly(SuperusersOnly, admin.ModelAdmin):
    """Annotation data: to be looked at."""

    may_add = False
    may_change = False
    may_delete = False
    list_per_page = 50
    show_full_result_count = False  # no second count over a large table


# --- managed --------------------------------------------------------------------------------------


@admin.register(models.User)
class PersonAdmin(SuperusersOnly, UserAdmin):
    """People. Whoever has done work cannot be deleted: take “active” away instead."""

    list_display = ("username", "display_name", "email", "is_active", "is_staff", "is_superuser", "last_login")
    search_fields = ("username", "display_name", "email")
    fieldsets = (
        (None, {"fields": ("username", "password", "display_name", "email")}),
        ("Permissions", {"fields": ("is_active", "is_staff", "is_superuser")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")


class MembershipInline(SuperusersOnly, admin.TabularInline):
    """The people of a benchmark. A membership is made inactive rather than deleted, so that work keeps a name."""

    model = models.Membership
    fields = ("user", "role", "active")
    autocomplete_fields = ("user",)
    may_delete = False
    extra = 1


@admin.register(models.Benchmark)
class BenchmarkAdmin(SuperusersOnly, admin.ModelAdmin):
    """Settings and people of a benchmark. It is made on its own page, and never deleted with its annotations."""

    may_add = False
    may_delete = False
    list_display = ("name", "slug", "overlap", "strategy", "corpus", "created_at")
    list_select_related = ("corpus",)
    search_fields = ("name", "slug")
    fields = (
        "name",
        "slug",
        "description",
        "overlap",
        "asks_reliable",
        "asks_sufficient",
        "strategy",
        "corpus",
        "public_id",
    )
    # The overlap decides what submitting means: it does not change under work that is going on.
    readonly_fields = ("slug", "public_id", "overlap")
    inlines = (MembershipInline,)


@admin.register(models.Membership)
class MembershipAdmin(SuperusersOnly, admin.ModelAdmin):
    may_delete = False
    list_display = ("user", "benchmark", "role", "active", "created_at")
    list_filter = ("role", "active", "benchmark")
    list_select_related = ("user", "benchmark")
    search_fields = ("user__username", "user__display_name", "benchmark__name")
    autocomplete_fields = ("user", "benchmark")


@admin.register(models.Guidelines)
class GuidelinesAdmin(SuperusersOnly, admin.ModelAdmin):
    """Versions of guidelines: a new one is added, none is changed, since annotations name the version they followed."""

    may_change = False
    may_delete = False
    fields = ("benchmark", "text")
    list_display = ("benchmark", "number", "created_at", "created_by")
    list_select_related = ("benchmark", "created_by")
    search_fields = ("benchmark__name", "text")
    autocomplete_fields = ("benchmark",)

    def save_model(self, request: HttpRequest, obj: models.Guidelines, form: Any, change: bool) -> None:
        published = publish_guidelines(benchmark=obj.benchmark, text=obj.text, by=cast(models.User, request.user))
        obj.pk, obj.number = published.pk, published.number


@admin.register(models.Corpus)
class CorpusAdmin(SuperusersOnly, admin.ModelAdmin):
    list_display = ("name", "slug", "revision", "created_at")
    search_fields = ("name", "slug")
    readonly_fields = ("revision",)


@admin.register(models.CorpusPage)
class CorpusPageAdmin(SuperusersOnly, admin.ModelAdmin):
    """Pages come by import; one that should not be there can be deleted."""

    may_add = False
    may_change = False
    list_display = ("title", "url", "corpus", "published")
    list_select_related = ("corpus",)
    list_filter = ("corpus",)
    search_fields = ("title", "url")
    show_full_result_count = False


# --- to be looked at ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadOnlyAdmin:
    """The list of a model: its columns, filters and searched fields, each as words in one text; ``without``: fields of
    a record that nobody is shown."""

    columns: str
    filters: str = ""
    search: str = ""
    without: str = ""


LOOKS: dict[type[Model], ReadOnlyAdmin] = {
    models.Document: ReadOnlyAdmin(
        "__str__ public_id benchmark stage phase source model reference_date",
        filters="benchmark stage phase",
        search="public_id external_id prompt",
    ),
    models.Annotation: ReadOnlyAdmin(
        "document stage kind person state independent submitted_at active_seconds",
        filters="document__benchmark stage kind state",
        search="public_id document__public_id document__external_id person__username",
    ),
    models.Sentence: ReadOnlyAdmin(
        "__str__ public_id annotation type type_origin importance removed",
        filters="type removed",
        search="public_id text annotation__document__public_id",
    ),
    models.Claim: ReadOnlyAdmin(
        "__str__ public_id text_origin type worth_checking importance removed",
        filters="type text_origin removed",
        search="public_id text sentence__annotation__document__public_id",
    ),
    models.Evidence: ReadOnlyAdmin(
        "__str__ public_id claim site published query removed", search="public_id url title claim__public_id"
    ),
    models.Stance: ReadOnlyAdmin(
        "evidence public_id label label_origin reliable sufficient",
        filters="label label_origin",
        search="public_id evidence__public_id",
    ),
    models.Verdict: ReadOnlyAdmin(
        "claim public_id factuality factuality_origin evidence_sufficient confidence",
        filters="factuality",
        search="public_id claim__public_id claim__text",
    ),
    models.ClaimRevision: ReadOnlyAdmin(
        "claim public_id handling text", filters="handling", search="public_id claim__public_id"
    ),
    models.SentenceRevision: ReadOnlyAdmin(
        "sentence public_id text text_origin deleted", search="public_id sentence__public_id"
    ),
    models.ResponseRevision: ReadOnlyAdmin(
        "annotation public_id text_origin follows_statements", search="public_id annotation__document__public_id"
    ),
    models.Flag: ReadOnlyAdmin("document by reason created_at cleared_at", filters="reason"),
    models.SentBack: ReadOnlyAdmin("claim document by reason created_at settled_at"),
    models.Group: ReadOnlyAdmin("name benchmark created_at", search="name benchmark__slug"),
    models.GroupMember: ReadOnlyAdmin("user group seat active created_at", filters="seat active"),
    models.Batch: ReadOnlyAdmin("name benchmark group created_by created_at", search="name benchmark__slug"),
    # Without the token: who may read this page need not be able to join.
    models.Invitation: ReadOnlyAdmin(
        "__str__ benchmark created_by created_at expires_at withdrawn_at accepted_by", without="token"
    ),
    # Without the digest: nothing of a secret is shown.
    models.ApiToken: ReadOnlyAdmin(
        "name prefix user benchmark created_at expires_at last_used_at revoked_at",
        search="name prefix user__username",
        without="digest",
    ),
    # Without the secret: it is for the one who runs the receiver.
    models.Webhook: ReadOnlyAdmin("url benchmark active failing_since created_by created_at", without="secret"),
    models.WebhookDelivery: ReadOnlyAdmin(
        "event webhook state attempts response_status created_at delivered_at", filters="state event"
    ),
    models.Decision: ReadOnlyAdmin(
        "key annotation choice reason by is_settled is_final",
        filters="reason is_final",
        search="annotation__document__public_id",
    ),
    models.Comment: ReadOnlyAdmin("__str__ annotation key created_at", search="annotation__document__public_id text"),
    models.Question: ReadOnlyAdmin("annotation key by created_at answered_by answered_at"),
    models.SignOff: ReadOnlyAdmin("annotation by as_third_rater created_at"),
    models.Tally: ReadOnlyAdmin("annotation people created_at"),
    models.Notice: ReadOnlyAdmin("to kind text created_at read_at mailed_at", filters="kind"),
    models.Activity: ReadOnlyAdmin(
        "at by action benchmark document reason active_seconds",
        filters="action",
        search="public_id document__public_id by__username",
    ),
    models.PipelineRun: ReadOnlyAdmin(
        "public_id benchmark stage strategy state requested_by created_at finished_at",
        filters="state stage strategy",
        search="public_id benchmark__slug",
    ),
    models.RunItem: ReadOnlyAdmin(
        "run document state attempts error finished_at", filters="state", search="run__public_id document__public_id"
    ),
    models.PromptVersion: ReadOnlyAdmin("name number benchmark created_by created_at", filters="benchmark name"),
    models.ImportJob: ReadOnlyAdmin("filename benchmark by state imported unchanged bad created_at", filters="state"),
    models.Download: ReadOnlyAdmin("format benchmark by started_at done total", filters="format"),
    models.Evaluation: ReadOnlyAdmin(
        "system task benchmark by scored faults scored_at hidden",
        filters="task hidden",
        search="public_id system benchmark__slug",
    ),
    models.Release: ReadOnlyAdmin("version title benchmark by state documents_count mends created_at", filters="state"),
    models.ReleaseDocument: ReadOnlyAdmin(
        "public_id release split group", filters="split", search="public_id release__public_id"
    ),
    models.SentenceSuggestion: ReadOnlyAdmin(
        "__str__ document run type importance", search="public_id text document__public_id"
    ),
    models.ClaimSuggestion: ReadOnlyAdmin("__str__ public_id type worth_checking importance", search="public_id text"),
    models.StanceSuggestion: ReadOnlyAdmin("evidence run label", filters="label"),
    models.ProtocolVersion: ReadOnlyAdmin("name number benchmark frozen_at sha256", search="name benchmark__slug"),
    models.Study: ReadOnlyAdmin("name benchmark version started_at", search="public_id name benchmark__slug"),
    models.StudyItem: ReadOnlyAdmin(
        "external_id study stratum dropped", filters="dropped", search="external_id public_id"
    ),
    models.StudyPart: ReadOnlyAdmin("public_id item kind source removed", search="public_id source item__external_id"),
    models.StudyRater: ReadOnlyAdmin("person study number", search="person__username study__name"),
    models.StudyAssignment: ReadOnlyAdmin(
        "public_id study item person round submitted_at", filters="round", search="public_id item__external_id"
    ),
    models.StudyAnswer: ReadOnlyAdmin("public_id assignment question origin", filters="question", search="public_id"),
    models.StudyActivity: ReadOnlyAdmin("activity assignment", search="assignment__public_id"),
}
# What machines made or used, found through its run or document.
LOOKS |= dict.fromkeys(
    (
        models.PendingCall,
        models.StepUse,
        models.CachedAnswer,
        models.PageArchive,
        models.PageCheck,
        models.Recheck,
        models.PageSnapshot,
        models.VerdictSuggestion,
        models.RevisionSuggestion,
        models.TrainedSuggester,
    ),
    ReadOnlyAdmin("__str__ pk"),
)


def _related(model: type[Model], columns: Sequence[str]) -> list[str]:
    """What the rows of a list name of other records, so that it is read with them. An annotation is named by its
    document and person."""
    keys = [field.name for field in model._meta.get_fields() if isinstance(field, ForeignKey)]
    shown = [name for name in keys if name in columns or (name == "by" and "__str__" in columns) or "pk" in columns]
    return [*shown, *(f"annotation__{name}" for name in ("document", "person") if "annotation" in shown)]


for model, look in LOOKS.items():
    columns = look.columns.split()
    attributes = {
        "list_display": columns,
        "list_select_related": _related(model, columns) or False,
        "list_filter": look.filters.split(),
        "search_fields": look.search.split(),
        "exclude": look.without.split(),
    }
    admin.site.register(model, type(f"{model.__name__}Admin", (ReadOnly,), attributes))
