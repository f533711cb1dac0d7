"""Static files that pages ask for together: one request each once they are collected (config/static_bundles.py)."""

from __future__ import annotations

# fmt: off
BUNDLES: dict[str, tuple[str, ...]] = {
    # tokens.css declares the order of the layers.
    "bundles/site.css": (
        "css/tokens.css", "css/base.css",
        "css/components/frame.css", "css/components/controls.css", "css/components/texts.css",
        "css/components/cards.css", "css/components/figures.css", "css/components/saving.css",
        "css/components/popovers.css", "css/components/rows.css", "css/components/reading.css",
        "css/components/windows.css",
        "css/utilities.css",
    ),
    "bundles/work.css": (
        "css/stages/shared.css", "css/stages/decompose.css", "css/stages/opinions.css", "css/stages/verify.css",
        "css/stages/revise.css", "css/stages/adjudicate.css", "css/stages/guidelines.css", "css/stages/windows.css",
    ),
    "bundles/site.js": (
        "django_htmx/htmx-2.min.js", "js/active-time.js", "js/outbox-store.js", "js/fields.js", "js/outbox-send.js",
        "js/outbox.js", "js/requests.js", "js/save-state.js", "js/keys.js", "js/rows.js", "js/notes.js",
        "js/notices.js",
    ),
    "bundles/work.js": ("js/guide.js", "js/in-view.js", "vendor/jsdiff-9.0.0/diff-arrays.min.js", "js/diff.js"),
    "bundles/verify.js": ("js/select-edit.js", "js/rationale.js", "js/drafts.js", "js/verify.js"),
    "bundles/adjudicate.js": ("js/drafts.js", "js/consolidate.js"),
}
# fmt: on
