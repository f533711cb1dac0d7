"""The settings under test, with one more label of a claim."""

from __future__ import annotations

from annotator.core.fields import Field, FieldQuestion, Kind, declare
from annotator.core.vocabulary import Labelled
from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS


class Tone(Labelled):
    """How a claim is worded."""

    PLAIN = "plain", "Plain words"
    LOADED = "loaded", "Loaded words"


declare(
    Field(
        record="claim",
        name="tone",
        kind=Kind.LABEL,
        words=Tone,
        label="Tone",
        title="Tone of claim",
        question=FieldQuestion(
            "tone",
            ("Tone",),
            "How the claim is worded.",
            {Tone.PLAIN: "Nothing in it judges.", Tone.LOADED: "It judges with its words."},
        ),
        has_origin=True,
        is_suggested=True,
        is_compared=True,
        is_measured=True,
        column="tone",
        meaning="how the claim is worded",
    )
)

INSTALLED_APPS = [*INSTALLED_APPS, "tests.core.new_label"]
MIGRATION_MODULES = {"annotator": "new_label_migrations"}  # see test_new_label
