"""Every address of the application, one line a screen."""

from __future__ import annotations

from django.urls import path

from annotator.exchange.screens import exports, imports, release_form, releases
from annotator.home.screens import benchmarks, documents, operation, overview, work
from annotator.integrations.screens import tokens, webhooks
from annotator.leaderboard.screens import answers, score, scores
from annotator.measures.screens import agreement, automation, practice, statistics, suggestion_quality
from annotator.stages.screens import adjudicate, decompose, revise, saving, verify
from annotator.studies.screens import protocols, studies
from annotator.studies.screens import work as study_work
from annotator.suggestions.screens import costs, prompts, run_form, runs, services, suggesters
from annotator.team.screens import batches, guidelines, invitation, notices, team

urlpatterns = [
    path("", work.home, name="home"),
    path("metrics", operation.metrics, name="metrics"),
    path("next/", work.next_document, name="next"),
    path("notices/", notices.index, name="notices"),
    path("notices/unread/", notices.unread, name="notices-unread"),
    path("notices/read/", notices.read_all, name="notices-read"),
    path("notices/mail/", notices.mail, name="notices-mail"),
    path("notices/<str:notice_id>/open/", notices.open_notice, name="notice"),
    path("account/tokens/", tokens.show, name="tokens"),
    path("account/tokens/new/", tokens.create, name="tokens-new"),
    path("account/tokens/<str:token_id>/revoke/", tokens.revoke, name="token-revoke"),
    # open to whoever has the link
    path("invitation/<str:token>/", invitation.show, name="invitation"),
    # benchmarks
    path("benchmarks/", benchmarks.index, name="benchmarks"),
    path("benchmarks/new/", benchmarks.create, name="benchmark-new"),
    path("b/<slug:slug>/", overview.show, name="benchmark"),
    path("b/<slug:slug>/burn-up.csv", overview.burn_up, name="burn-up"),
    path("b/<slug:slug>/documents/", documents.index, name="documents"),
    path("b/<slug:slug>/guidelines/", guidelines.show, name="guidelines"),
    path("b/<slug:slug>/guidelines/versions/", guidelines.versions, name="guidelines-versions"),
    path("b/<slug:slug>/guidelines/read/", guidelines.read, name="guidelines-read"),
    path("b/<slug:slug>/guidelines/<str:stage>/", guidelines.definitions, name="definitions"),
    path("b/<slug:slug>/team/", team.show, name="team"),
    path("b/<slug:slug>/team/invite/", team.invite, name="team-invite"),
    path("b/<slug:slug>/team/invitation/<str:invitation_id>/withdraw/", team.withdraw, name="team-withdraw"),
    path("b/<slug:slug>/team/member/<str:username>/<str:what>/", team.change_member, name="team-member"),
    path("b/<slug:slug>/team/protocol/", team.change_protocol, name="team-protocol"),
    path("b/<slug:slug>/team/group/", team.create_group, name="team-group-new"),
    path("b/<slug:slug>/team/group/<str:group_id>/<str:what>/", team.change_group, name="team-group"),
    path("b/<slug:slug>/webhooks/", webhooks.show, name="webhooks"),
    path("b/<slug:slug>/webhooks/new/", webhooks.add, name="webhook-new"),
    path("b/<slug:slug>/webhooks/delivery/<str:delivery_id>/again/", webhooks.redeliver, name="webhook-redeliver"),
    path("b/<slug:slug>/webhooks/<str:webhook_id>/<str:what>/", webhooks.change, name="webhook-change"),
    path("b/<slug:slug>/agreement/", agreement.show, name="agreement"),
    path("b/<slug:slug>/agreement/download/", agreement.download, name="agreement-download"),
    path("b/<slug:slug>/statistics/", statistics.show, name="statistics"),
    path("b/<slug:slug>/statistics/download/", statistics.download, name="statistics-download"),
    path("b/<slug:slug>/scores/", scores.index, name="scores"),
    path("b/<slug:slug>/scores/new/", scores.new, name="score-new"),
    path("b/<slug:slug>/scores/template/", scores.template, name="score-template"),
    path("b/<slug:slug>/scores/<str:evaluation_id>/", score.show, name="score"),
    path("b/<slug:slug>/scores/<str:evaluation_id>/download/", score.download, name="score-download"),
    path("b/<slug:slug>/scores/<str:evaluation_id>/<str:what>/", score.change, name="score-change"),
    path("b/<slug:slug>/answers/", answers.show, name="answers"),
    path("b/<slug:slug>/my-agreement/", agreement.own, name="my-agreement"),
    path("b/<slug:slug>/import/", imports.upload, name="import"),
    path("b/<slug:slug>/import/<str:job_id>/", imports.progress, name="import-job"),
    path("b/<slug:slug>/export/", exports.show, name="export"),
    path("b/<slug:slug>/export/download/", exports.download, name="export-download"),
    path("b/<slug:slug>/releases/", releases.index, name="releases"),
    path("b/<slug:slug>/releases/new/", release_form.new, name="release-new"),
    path("b/<slug:slug>/releases/<str:release_id>/", releases.show, name="release"),
    path("b/<slug:slug>/releases/<str:release_id>/download/", releases.download, name="release-download"),
    path("b/<slug:slug>/runs/", runs.index, name="runs"),
    path("b/<slug:slug>/runs/start/", runs.start, name="run-start"),
    path("b/<slug:slug>/runs/new/", run_form.new, name="run-new"),
    path("b/<slug:slug>/runs/keep/", run_form.keep, name="run-keep"),
    path("b/<slug:slug>/runs/costs/", costs.show, name="run-costs"),
    path("b/<slug:slug>/runs/<str:run_id>/", runs.show, name="run"),
    path("b/<slug:slug>/runs/<str:run_id>/<str:what>/", runs.change, name="run-change"),
    path("b/<slug:slug>/suggestions/quality/", suggestion_quality.show, name="prefill-quality"),
    path("b/<slug:slug>/automation/", automation.show, name="automation"),
    path("b/<slug:slug>/prompts/", prompts.index, name="prompts"),
    path("b/<slug:slug>/prompts/<str:strategy>/<str:step>/", prompts.show, name="prompt"),
    path("b/<slug:slug>/services/", services.index, name="services"),
    path("b/<slug:slug>/services/<str:kind>/", services.change, name="services-change"),
    path("b/<slug:slug>/suggesters/", suggesters.show, name="suggesters"),
    path("b/<slug:slug>/suggesters/<str:what>/", suggesters.change, name="suggesters-change"),
    path("b/<slug:slug>/batches/", batches.index, name="batches"),
    path("b/<slug:slug>/batches/cut/", batches.cut, name="batch-cut"),
    path("b/<slug:slug>/batches/take-back/", batches.take_back, name="batches-take-back"),
    path("b/<slug:slug>/batches/<str:batch_id>/<str:what>/", batches.change, name="batch-change"),
    path("b/<slug:slug>/practice/", practice.index, name="practice-list"),
    path("b/<slug:slug>/practice/excuse/", practice.excuse, name="practice-excuse"),
    path("b/<slug:slug>/practice/mix-in/", practice.mix_in, name="practice-mix-in"),
    # studies
    path("b/<slug:slug>/studies/", studies.index, name="studies"),
    path("b/<slug:slug>/studies/new/", studies.new, name="study-new"),
    path("b/<slug:slug>/studies/<str:study_id>/", studies.show, name="study"),
    path("b/<slug:slug>/studies/<str:study_id>/next/", study_work.next_item, name="study-next"),
    path("b/<slug:slug>/studies/<str:study_id>/download/<str:what>/", studies.download, name="study-download"),
    path("b/<slug:slug>/studies/<str:study_id>/do/<str:what>/", studies.change, name="study-change"),
    path("b/<slug:slug>/protocols/", protocols.index, name="protocols"),
    path("b/<slug:slug>/protocols/import/", protocols.bring, name="protocol-import"),
    path("b/<slug:slug>/protocols/<slug:name>/", protocols.show, name="protocol"),
    path("b/<slug:slug>/protocols/<slug:name>/file/", protocols.file, name="protocol-file"),
    path("b/<slug:slug>/protocols/<slug:name>/edit/", protocols.edit, name="protocol-edit"),
    path("b/<slug:slug>/protocols/<slug:name>/copy/", protocols.copy, name="protocol-copy"),
    path("study-item/<str:public_id>/", study_work.show, name="study-item"),
    path("study-item/<str:public_id>/save/", study_work.save, name="study-save"),
    path("study-item/<str:public_id>/submit/", study_work.submit, name="study-submit"),
    path("study-item/<str:public_id>/do/<str:what>/", study_work.change, name="study-item-change"),
    # documents
    path("d/<str:public_id>/", documents.show, name="document"),
    path("d/<str:public_id>/do/<str:what>/", documents.change, name="document-change"),
    path("d/<str:public_id>/start/<str:stage>/", work.start, name="start"),
    path("d/<str:public_id>/practice/", practice.show, name="practice"),
    # the three screens
    path("d/<str:public_id>/decompose/", decompose.show, name="decompose"),
    path(
        "d/<str:public_id>/decompose/sentence/<str:sentence_id>/<str:what>/",
        decompose.change_sentence,
        name="decompose-sentence",
    ),
    path(
        "d/<str:public_id>/decompose/claim/<str:claim_id>/<str:what>/",
        decompose.change_claim,
        name="decompose-claim",
    ),
    path("d/<str:public_id>/verify/", verify.show, name="verify"),
    path("d/<str:public_id>/verify/claim/<str:claim_id>/<str:what>/", verify.change_claim, name="verify-claim"),
    path("d/<str:public_id>/revise/", revise.show, name="revise"),
    path("d/<str:public_id>/revise/<str:what>/", revise.change_response, name="revise-response"),
    path("d/<str:public_id>/revise/sentence/<str:row_id>/<str:what>/", revise.change_sentence, name="revise-sentence"),
    # what several people settle together
    path("d/<str:public_id>/agree/<str:stage>/", adjudicate.show, name="agree"),
    path("d/<str:public_id>/agree/<str:stage>/<str:what>/", adjudicate.change, name="agree-change"),
    # what all three do alike
    path("save/<str:key>/", saving.save, name="save"),
    path("history/<str:key>/<str:field>/", saving.history, name="history"),
    path("history/<str:key>/<str:field>/restore/", saving.restore, name="restore"),
    path("d/<str:public_id>/step/<str:stage>/<str:what>/", saving.undo, name="undo"),
    path("note/<str:public_id>/", saving.note, name="note"),
    path("d/<str:public_id>/submit/<str:stage>/", saving.submit_stage, name="submit"),
]
