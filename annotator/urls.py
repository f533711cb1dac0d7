"""Every address of the application, one line a screen."""

from __future__ import annotations

from django.urls import path

from annotator.screens import (
    benchmarks,
    decompose,
    documents,
    exports,
    guidelines,
    imports,
    revise,
    runs,
    saving,
    verify,
    work,
)

urlpatterns = [
    path("", work.home, name="home"),
    path("next/", work.next_document, name="next"),
    # benchmarks
    path("benchmarks/", benchmarks.index, name="benchmarks"),
    path("benchmarks/new/", benchmarks.create, name="benchmark-new"),
    path("b/<slug:slug>/", benchmarks.overview, name="benchmark"),
    path("b/<slug:slug>/documents/", documents.index, name="documents"),
    path("b/<slug:slug>/guidelines/", guidelines.show, name="guidelines"),
    path("b/<slug:slug>/import/", imports.upload, name="import"),
    path("b/<slug:slug>/import/<str:job_id>/", imports.progress, name="import-job"),
    path("b/<slug:slug>/export/", exports.show, name="export"),
    path("b/<slug:slug>/export/download/", exports.download, name="export-download"),
    path("b/<slug:slug>/runs/", runs.index, name="runs"),
    path("b/<slug:slug>/runs/start/", runs.start, name="run-start"),
    path("b/<slug:slug>/runs/<str:run_id>/", runs.show, name="run"),
    path("b/<slug:slug>/runs/<str:run_id>/<str:what>/", runs.change, name="run-change"),
    # documents
    path("d/<str:public_id>/", documents.show, name="document"),
    path("d/<str:public_id>/do/<str:what>/", documents.change, name="document-change"),
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
    # what all three do alike
    path("save/<str:key>/", saving.save, name="save"),
    path("history/<str:key>/<str:field>/", saving.history, name="history"),
    path("history/<str:key>/<str:field>/restore/", saving.restore, name="restore"),
    path("d/<str:public_id>/step/<str:stage>/<str:what>/", saving.undo, name="undo"),
    path("d/<str:public_id>/submit/<str:stage>/", saving.submit_stage, name="submit"),
]
