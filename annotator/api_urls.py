"""Every address of the API, one line a view."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path
from drf_spectacular.views import SpectacularAPIView

from annotator.exchange.api import exports, imports, releases
from annotator.home.api import benchmarks, figures, work
from annotator.integrations.api import webhooks
from annotator.integrations.api.base import ApiView, NowhereView
from annotator.leaderboard.api import answers, crossed, evaluations
from annotator.stages.api import adjudication, decompose, documents, revise, stages, verify
from annotator.studies.api import studies
from annotator.suggestions.api import prompts, runs
from annotator.team.api import batches, guidelines, me, team
from annotator.team.api import batches as api_batches

app_name = "api"


def at(route: str, view: type[ApiView]) -> URLPattern:
    """An address with its view, named by the view's module and name: "team.groups"."""
    module = view.__module__.rsplit(".", 1)[-1]
    return path(route, view.as_view(), name=f"{module}.{view.__name__.removesuffix('View').lower()}")


urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    # the person
    at("me/", me.MeView),
    at("notices/", me.NoticesView),
    at("notices/<id:notice_id>/read/", me.NoticeView),
    at("invitations/<token:token>/accept/", team.AcceptView),
    at("work/", work.WorkView),
    at("work/next/", work.NextView),
    # benchmarks
    at("strategies/", benchmarks.StrategiesView),
    at("corpora/", benchmarks.CorporaView),
    at("benchmarks/", benchmarks.BenchmarksView),
    at("benchmarks/<slug:slug>/", benchmarks.BenchmarkView),
    at("benchmarks/<slug:slug>/protocol/", benchmarks.ProtocolView),
    at("benchmarks/<slug:slug>/strategy/", benchmarks.StrategyView),
    at("benchmarks/<slug:slug>/guidelines/", guidelines.GuidelinesView),
    at("benchmarks/<slug:slug>/guidelines/versions/", guidelines.VersionsView),
    at("benchmarks/<slug:slug>/guidelines/read/", guidelines.ReadView),
    at("benchmarks/<slug:slug>/guidelines/<stage:stage>/", guidelines.DefinitionsView),
    # the team and its batches
    at("benchmarks/<slug:slug>/team/", team.TeamView),
    at("benchmarks/<slug:slug>/members/<name:username>/", team.MemberView),
    at("benchmarks/<slug:slug>/members/<name:username>/excuse/", team.ExcuseView),
    at("benchmarks/<slug:slug>/groups/", team.GroupsView),
    at("benchmarks/<slug:slug>/groups/<id:group_id>/", team.GroupView),
    at("benchmarks/<slug:slug>/groups/<id:group_id>/members/<name:username>/", team.SeatView),
    at("benchmarks/<slug:slug>/invitations/", team.InvitationsView),
    at("benchmarks/<slug:slug>/invitations/many/", team.InvitationsOfManyView),
    at("benchmarks/<slug:slug>/invitations/<id:invitation_id>/", team.InvitationView),
    at("benchmarks/<slug:slug>/batches/", batches.BatchesView),
    at("benchmarks/<slug:slug>/batches/preview/", batches.FittingView),
    at("benchmarks/<slug:slug>/batches/<id:batch_id>/", batches.BatchView),
    at("benchmarks/<slug:slug>/batches/<id:batch_id>/mix-in/", batches.MixInView),
    at("benchmarks/<slug:slug>/load/", batches.LoadView),
    at("benchmarks/<slug:slug>/take-back/", batches.BatchTakeBackView),
    # other programs
    at("benchmarks/<slug:slug>/webhooks/", webhooks.WebhooksView),
    at("benchmarks/<slug:slug>/webhooks/deliveries/", webhooks.DeliveriesView),
    at("benchmarks/<slug:slug>/webhooks/deliveries/<id:delivery_id>/again/", webhooks.RedeliverView),
    at("benchmarks/<slug:slug>/webhooks/<id:webhook_id>/", webhooks.WebhookView),
    at("benchmarks/<slug:slug>/webhooks/<id:webhook_id>/test/", webhooks.TestView),
    at("benchmarks/<slug:slug>/webhooks/<id:webhook_id>/secret/", webhooks.SecretView),
    at("benchmarks/<slug:slug>/practice/", figures.PractisingView),
    # documents in and gold out
    at("benchmarks/<slug:slug>/documents/", documents.DocumentsView),
    at("benchmarks/<slug:slug>/documents/import/", imports.DocumentsImportView),
    at("benchmarks/<slug:slug>/imports/", imports.ImportsView),
    at("benchmarks/<slug:slug>/imports/<id:job_id>/", imports.ImportView),
    at("benchmarks/<slug:slug>/imports/<id:job_id>/cancel/", imports.ImportCancelView),
    at("benchmarks/<slug:slug>/exports/", exports.ExportsView),
    at("benchmarks/<slug:slug>/exports/download/", exports.ExportView),
    at("benchmarks/<slug:slug>/releases/", releases.ReleasesView),
    at("benchmarks/<slug:slug>/releases/<id:release_id>/", releases.ReleaseView),
    at("benchmarks/<slug:slug>/releases/<id:release_id>/cancel/", releases.ReleaseCancelView),
    at("benchmarks/<slug:slug>/releases/<id:release_id>/download/", releases.DownloadView),
    # fact-checkers scored
    at("benchmarks/<slug:slug>/leaderboard/", evaluations.LeaderboardView),
    at("benchmarks/<slug:slug>/evaluations/", evaluations.EvaluationsView),
    at("benchmarks/<slug:slug>/evaluations/template/", evaluations.TemplateView),
    at("benchmarks/<slug:slug>/evaluations/<id:evaluation_id>/", evaluations.EvaluationView),
    at("benchmarks/<slug:slug>/evaluations/<id:evaluation_id>/again/", evaluations.AgainView),
    at("benchmarks/<slug:slug>/evaluations/<id:evaluation_id>/errors/", evaluations.WrongView),
    at("benchmarks/<slug:slug>/evaluations/<id:evaluation_id>/comparison/", evaluations.ComparisonView),
    at("benchmarks/<slug:slug>/evaluations/<id:evaluation_id>/crossed/", crossed.CrossedView),
    at("benchmarks/<slug:slug>/items/<slug:task>/<id:item_id>/", crossed.ItemView),
    at("benchmarks/<slug:slug>/answers/", answers.AnswersView),
    # the pipeline
    at("benchmarks/<slug:slug>/runs/", runs.RunsView),
    at("benchmarks/<slug:slug>/runs/forecast/", runs.ForecastView),
    at("benchmarks/<slug:slug>/runs/costs/", runs.CostsView),
    at("benchmarks/<slug:slug>/runs/<id:run_id>/", runs.RunView),
    at("benchmarks/<slug:slug>/runs/<id:run_id>/pause/", runs.PauseView),
    at("benchmarks/<slug:slug>/runs/<id:run_id>/resume/", runs.ResumeView),
    at("benchmarks/<slug:slug>/runs/<id:run_id>/cancel/", runs.RunCancelView),
    at("benchmarks/<slug:slug>/runs/<id:run_id>/retry/", runs.RetryView),
    at("benchmarks/<slug:slug>/suggestions/", runs.SuggestView),
    at("benchmarks/<slug:slug>/prompts/", prompts.PromptsView),
    at("benchmarks/<slug:slug>/prompts/<slug:strategy>/<slug:step>/", prompts.PromptView),
    at("benchmarks/<slug:slug>/prompts/<slug:strategy>/<slug:step>/wordings/", prompts.WordingsView),
    at("benchmarks/<slug:slug>/suggesters/", prompts.SuggestersView),
    at("benchmarks/<slug:slug>/suggesters/train/", prompts.TrainView),
    # figures
    at("benchmarks/<slug:slug>/overview/", figures.OverviewView),
    at("benchmarks/<slug:slug>/agreement/", figures.AgreementView),
    at("benchmarks/<slug:slug>/agreement/own/", figures.OwnAgreementView),
    at("benchmarks/<slug:slug>/statistics/", figures.StatisticsView),
    at("benchmarks/<slug:slug>/suggestions/quality/", figures.SuggestionQualityView),
    at("benchmarks/<slug:slug>/automation/", figures.AutomationView),
    # one document
    at("documents/<id:public_id>/", documents.DocumentView),
    at("documents/<id:public_id>/discard/", documents.DiscardView),
    at("documents/<id:public_id>/bring-back/", documents.BringBackView),
    at("documents/<id:public_id>/reopen/", documents.ReopenView),
    at("documents/<id:public_id>/flags/", documents.FlagsView),
    at("documents/<id:public_id>/flags/<number:flag_id>/", documents.FlagView),
    at("documents/<id:public_id>/batch/", api_batches.MoveView),
    at("documents/<id:public_id>/places/", documents.PlacesView),
    at("documents/<id:public_id>/places/close-extra/", documents.ClosePlacesView),
    at("documents/<id:public_id>/places/<id:annotation_id>/take-back/", documents.PlaceTakeBackView),
    at("documents/<id:public_id>/places/<id:annotation_id>/reopen/", documents.ReopenPlaceView),
    at("documents/<id:public_id>/history/", documents.HistoryView),
    at("documents/<id:public_id>/practice/", figures.PracticeView),
    at("documents/<id:public_id>/annotations/", stages.AnnotationsView),
    # the three stages
    at("documents/<id:public_id>/decompose/", decompose.DecomposeView),
    at("documents/<id:public_id>/verify/", verify.VerifyView),
    at("documents/<id:public_id>/revise/", revise.ReviseView),
    at("documents/<id:public_id>/revise/merge-again/", revise.MergeAgainView),
    at("documents/<id:public_id>/revise/keep/", revise.KeepView),
    at("documents/<id:public_id>/revise/take-answer/", revise.TakeAnswerView),
    at("documents/<id:public_id>/<stage:stage>/start/", stages.StartView),
    at("documents/<id:public_id>/<stage:stage>/undo/", stages.UndoView),
    at("documents/<id:public_id>/<stage:stage>/redo/", stages.RedoView),
    at("documents/<id:public_id>/<stage:stage>/submit/", stages.SubmitView),
    at("records/<kind:kind>/<id:record_id>/", stages.RecordView),
    at("records/<kind:kind>/<id:record_id>/restore/", stages.RestoreView),
    at("records/<kind:kind>/<id:record_id>/history/<slug:field>/", stages.FieldHistoryView),
    at("sentences/<id:sentence_id>/take-over/", decompose.TakeOverSentenceView),
    at("sentences/<id:sentence_id>/claims/", decompose.AddClaimView),
    at("sentences/<id:sentence_id>/split/", decompose.SplitSentenceView),
    at("sentences/<id:sentence_id>/merge/", decompose.MergeSentenceView),
    at("claims/<id:claim_id>/take-over/", decompose.TakeOverClaimView),
    at("claims/<id:claim_id>/remove/", decompose.RemoveClaimView),
    at("claims/<id:claim_id>/restore/", decompose.RestoreClaimView),
    at("claims/<id:claim_id>/split/", decompose.SplitClaimView),
    at("claims/<id:claim_id>/merge/", decompose.MergeClaimView),
    at("claims/<id:claim_id>/move/", decompose.MoveClaimView),
    at("evidence/<id:evidence_id>/", verify.EvidenceView),
    at("verdicts/<id:verdict_id>/evidence/", verify.AddEvidenceView),
    at("verdicts/<id:verdict_id>/rests-on/<id:evidence_id>/", verify.RestsOnView),
    at("verdicts/<id:verdict_id>/search/", verify.SearchView),
    at("verdicts/<id:verdict_id>/opinions/", verify.OpinionsView),
    at("verdicts/<id:verdict_id>/edits/", verify.EditsView),
    at("verdicts/<id:verdict_id>/edits/<id:edit_id>/", verify.EditView),
    at("verdicts/<id:verdict_id>/revised-claim/", verify.RevisedClaimView),
    at("verdicts/<id:verdict_id>/take-correction/", verify.TakeCorrectionView),
    at("verdicts/<id:verdict_id>/send-back/", verify.SendBackView),
    at("sentence-revisions/<id:row_id>/deleted/", revise.DeletedView),
    at("sentence-revisions/<id:row_id>/confirm/", revise.ConfirmView),
    at("sentence-revisions/<id:row_id>/carry/", revise.CarryView),
    # what several people settle
    at("documents/<id:public_id>/consolidation/<stage:stage>/", adjudication.ConsolidationView),
    at("documents/<id:public_id>/consolidation/<stage:stage>/decisions/<key:key>/", adjudication.DecisionView),
    at("documents/<id:public_id>/consolidation/<stage:stage>/comments/", adjudication.CommentsView),
    at("documents/<id:public_id>/consolidation/<stage:stage>/questions/", adjudication.QuestionsView),
    at(
        "documents/<id:public_id>/consolidation/<stage:stage>/questions/<number:question_id>/answer/",
        adjudication.AnswerView,
    ),
    at("documents/<id:public_id>/consolidation/<stage:stage>/signature/", adjudication.SignatureView),
    at("documents/<id:public_id>/consolidation/<stage:stage>/give-up/", adjudication.DiscardTogetherView),
    # studies
    at("benchmarks/<slug:slug>/studies/", studies.StudiesView),
    at("benchmarks/<slug:slug>/studies/<id:study_id>/figures/", studies.FiguresView),
    at("benchmarks/<slug:slug>/studies/<id:study_id>/next/", studies.NextItemView),
    at("study-items/<id:assignment_id>/", studies.StudyItemView),
    at("study-items/<id:assignment_id>/answers/<key:answer_key>/", studies.ItemAnswerView),
    at("study-items/<id:assignment_id>/submit/", studies.ItemSubmitView),
    re_path(r"^.*$", NowhereView.as_view(), name="nowhere"),
]
