"""The Django admin: people, memberships, settings of benchmarks, guidelines and corpora are managed here; annotation
data can only be looked at.

It is for superusers alone. It shows every annotation of everybody, so it stands outside the blindness that the screens
keep: a superuser who also labels should not look up a partner's work here. Annotation data cannot be added, changed or
deleted, since that would go past the actions and their audit.
"""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest

from annotator import models
from annotator.core.actions.guidelines import publish_guidelines

# Roles live in memberships, so Django's own groups have nothing to say.
admin.site.unregister(Group)

admin.site.site_header = "Touchstone administration"
admin.site.site_title = "Touchstone"
admin.site.index_title = "People and settings to manage, annotation data to look at"


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
        ("What they may do", {"fields": ("is_active", "is_staff", "is_superuser")}),
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


@admin.register(models.Document)
class DocumentAdmin(ReadOnly):
    list_display = ("__str__", "public_id", "benchmark", "stage", "phase", "source", "model", "reference_date")
    list_select_related = ("benchmark",)
    list_filter = ("benchmark", "stage", "phase")
    search_fields = ("public_id", "external_id", "prompt")


@admin.register(models.Annotation)
class AnnotationAdmin(ReadOnly):
    list_display = ("document", "stage", "kind", "person", "state", "independent", "submitted_at", "active_seconds")
    list_select_related = ("document", "person")
    list_filter = ("document__benchmark", "stage", "kind", "state")
    search_fields = ("public_id", "document__public_id", "document__external_id", "person__username")


@admin.register(models.Sentence)
class SentenceAdmin(ReadOnly):
    list_display = ("__str__", "public_id", "annotation", "type", "type_origin", "importance", "removed")
    list_select_related = ("annotation__document", "annotation__person")
    list_filter = ("type", "removed")
    search_fields = ("public_id", "text", "annotation__document__public_id")


@admin.register(models.Claim)
class ClaimAdmin(ReadOnly):
    list_display = ("__str__", "public_id", "text_origin", "type", "worth_checking", "importance", "removed")
    list_filter = ("type", "text_origin", "removed")
    search_fields = ("public_id", "text", "sentence__annotation__document__public_id")


@admin.register(models.Evidence)
class EvidenceAdmin(ReadOnly):
    list_display = ("__str__", "public_id", "claim", "site", "published", "query", "removed")
    list_select_related = ("claim",)
    search_fields = ("public_id", "url", "title", "claim__public_id")


@admin.register(models.Stance)
class StanceAdmin(ReadOnly):
    list_display = ("evidence", "public_id", "label", "label_origin", "reliable", "sufficient")
    list_select_related = ("evidence",)
    list_filter = ("label", "label_origin")
    search_fields = ("public_id", "evidence__public_id")


@admin.register(models.Verdict)
class VerdictAdmin(ReadOnly):
    list_display = ("claim", "public_id", "factuality", "factuality_origin", "evidence_sufficient", "confidence")
    list_select_related = ("claim",)
    list_filter = ("factuality",)
    search_fields = ("public_id", "claim__public_id", "claim__text")


@admin.register(models.ClaimRevision)
class ClaimRevisionAdmin(ReadOnly):
    list_display = ("claim", "public_id", "handling", "text")
    list_select_related = ("claim",)
    list_filter = ("handling",)
    search_fields = ("public_id", "claim__public_id")


@admin.register(models.SentenceRevision)
class SentenceRevisionAdmin(ReadOnly):
    list_display = ("sentence", "public_id", "text", "text_origin", "deleted")
    list_select_related = ("sentence",)
    search_fields = ("public_id", "sentence__public_id")


@admin.register(models.ResponseRevision)
class ResponseRevisionAdmin(ReadOnly):
    list_display = ("annotation", "public_id", "text_origin", "follows_statements")
    list_select_related = ("annotation__document", "annotation__person")
    search_fields = ("public_id", "annotation__document__public_id")


@admin.register(models.Flag)
class FlagAdmin(ReadOnly):
    list_display = ("document", "by", "reason", "created_at", "cleared_at")
    list_select_related = ("document", "by")
    list_filter = ("reason",)


@admin.register(models.SentBack)
class SentBackAdmin(ReadOnly):
    list_display = ("claim", "document", "by", "reason", "created_at", "settled_at")
    list_select_related = ("claim", "document", "by")


@admin.register(models.Group)
class GroupAdmin(ReadOnly):
    list_display = ("name", "benchmark", "created_at")
    list_select_related = ("benchmark",)
    search_fields = ("name", "benchmark__slug")


@admin.register(models.GroupMember)
class GroupMemberAdmin(ReadOnly):
    list_display = ("user", "group", "seat", "active", "created_at")
    list_select_related = ("user", "group")
    list_filter = ("seat", "active")


@admin.register(models.Batch)
class BatchAdmin(ReadOnly):
    list_display = ("name", "benchmark", "group", "created_by", "created_at")
    list_select_related = ("benchmark", "group", "created_by")
    search_fields = ("name", "benchmark__slug")


@admin.register(models.Invitation)
class InvitationAdmin(ReadOnly):
    """Without the token: who may read this page need not be able to join."""

    exclude = ("token",)
    list_display = ("__str__", "benchmark", "created_by", "created_at", "expires_at", "withdrawn_at", "accepted_by")
    list_select_related = ("benchmark", "created_by", "accepted_by")


@admin.register(models.ApiToken)
class ApiTokenAdmin(ReadOnly):
    """Without the digest: nothing of a secret is for anybody's eyes. Who is not active any more opens nothing."""

    exclude = ("digest",)
    list_display = ("name", "prefix", "user", "benchmark", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_select_related = ("user", "benchmark")
    search_fields = ("name", "prefix", "user__username")


@admin.register(models.Webhook)
class WebhookAdmin(ReadOnly):
    """Without the secret: it is for the one who runs the receiver."""

    exclude = ("secret",)
    list_display = ("url", "benchmark", "active", "failing_since", "created_by", "created_at")
    list_select_related = ("benchmark", "created_by")


@admin.register(models.WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnly):
    list_display = ("event", "webhook", "state", "attempts", "response_status", "created_at", "delivered_at")
    list_select_related = ("webhook",)
    list_filter = ("state", "event")


@admin.register(models.Decision)
class DecisionAdmin(ReadOnly):
    list_display = ("key", "annotation", "choice", "reason", "by", "is_settled", "is_final")
    list_select_related = ("annotation__document", "annotation__person", "by")
    list_filter = ("reason", "is_final")
    search_fields = ("annotation__document__public_id",)


@admin.register(models.Comment)
class CommentAdmin(ReadOnly):
    list_display = ("__str__", "annotation", "key", "created_at")
    list_select_related = ("annotation__document", "annotation__person", "by")
    search_fields = ("annotation__document__public_id", "text")


@admin.register(models.Question)
class QuestionAdmin(ReadOnly):
    list_display = ("annotation", "key", "by", "created_at", "answered_by", "answered_at")
    list_select_related = ("annotation__document", "annotation__person", "by", "answered_by")


@admin.register(models.SignOff)
class SignOffAdmin(ReadOnly):
    list_display = ("annotation", "by", "as_third_rater", "created_at")
    list_select_related = ("annotation__document", "annotation__person", "by")


@admin.register(models.Tally)
class TallyAdmin(ReadOnly):
    list_display = ("annotation", "people", "created_at")
    list_select_related = ("annotation__document", "annotation__person")


@admin.register(models.Notice)
class NoticeAdmin(ReadOnly):
    list_display = ("to", "kind", "text", "created_at", "read_at", "mailed_at")
    list_select_related = ("to",)
    list_filter = ("kind",)


@admin.register(models.Activity)
class ActivityAdmin(ReadOnly):
    list_display = ("at", "by", "action", "benchmark", "document", "reason", "active_seconds")
    list_select_related = ("by", "benchmark", "document")
    list_filter = ("action",)
    search_fields = ("public_id", "document__public_id", "by__username")


@admin.register(models.PipelineRun)
class PipelineRunAdmin(ReadOnly):
    list_display = ("public_id", "benchmark", "stage", "strategy", "state", "requested_by", "created_at", "finished_at")
    list_select_related = ("benchmark", "requested_by")
    list_filter = ("state", "stage", "strategy")
    search_fields = ("public_id", "benchmark__slug")


@admin.register(models.RunItem)
class RunItemAdmin(ReadOnly):
    list_display = ("run", "document", "state", "attempts", "error", "finished_at")
    list_select_related = ("run", "document")
    list_filter = ("state",)
    search_fields = ("run__public_id", "document__public_id")


@admin.register(models.PromptVersion)
class PromptVersionAdmin(ReadOnly):
    list_display = ("name", "number", "benchmark", "created_by", "created_at")
    list_select_related = ("benchmark", "created_by")
    list_filter = ("benchmark", "name")


@admin.register(
    models.StepUse,
    models.CachedAnswer,
    models.PageSnapshot,
    models.VerdictSuggestion,
    models.RevisionSuggestion,
    models.TrainedSuggester,
)
class MachineAdmin(ReadOnly):
    """What machines made or used, found through its run or document."""

    list_display = ("__str__", "pk")
    list_select_related = True


@admin.register(models.ImportJob)
class ImportJobAdmin(ReadOnly):
    list_display = ("filename", "benchmark", "by", "state", "imported", "unchanged", "bad", "created_at")
    list_select_related = ("benchmark", "by")
    list_filter = ("state",)


@admin.register(models.Download)
class DownloadAdmin(ReadOnly):
    list_display = ("format", "benchmark", "by", "started_at", "done", "total")
    list_select_related = ("benchmark", "by")
    list_filter = ("format",)


@admin.register(models.Evaluation)
class EvaluationAdmin(ReadOnly):
    list_display = ("system", "task", "benchmark", "by", "scored", "faults", "scored_at", "hidden")
    list_select_related = ("benchmark", "by")
    list_filter = ("task", "hidden")
    search_fields = ("public_id", "system", "benchmark__slug")


@admin.register(models.Release)
class ReleaseAdmin(ReadOnly):
    list_display = ("version", "title", "benchmark", "by", "state", "documents_count", "mends", "created_at")
    list_select_related = ("benchmark", "by", "mends")
    list_filter = ("state",)


@admin.register(models.ReleaseDocument)
class ReleaseDocumentAdmin(ReadOnly):
    list_display = ("public_id", "release", "split", "group")
    list_select_related = ("release",)
    list_filter = ("split",)
    search_fields = ("public_id", "release__public_id")


@admin.register(models.SentenceSuggestion)
class SentenceSuggestionAdmin(ReadOnly):
    list_display = ("__str__", "document", "run", "type", "importance")
    list_select_related = ("document", "run")
    search_fields = ("public_id", "text", "document__public_id")


@admin.register(models.ClaimSuggestion)
class ClaimSuggestionAdmin(ReadOnly):
    list_display = ("__str__", "public_id", "type", "worth_checking", "importance")
    search_fields = ("public_id", "text")


@admin.register(models.StanceSuggestion)
class StanceSuggestionAdmin(ReadOnly):
    list_display = ("evidence", "run", "label")
    list_select_related = ("evidence", "run")
    list_filter = ("label",)
