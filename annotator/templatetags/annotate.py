"""What the screens' templates need beyond Django: options of a label, places to cut a text, values as sent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from annotator.core.actions.recorder import annotation_of
from annotator.core.fields import Field, Kind, field_of, fields_of, reason_for
from annotator.core.queries.protocols import added_questions
from annotator.core.screens.questions import Control as AskedControl
from annotator.core.screens.questions import added_controls
from annotator.core.texts.markdown import Leaf, Stretch, Tag, reading, words_of
from annotator.core.vocabulary import Factuality, Labelled, StanceLabel

register = template.Library()

# A glyph beside each color, so that nothing depends on color.
GLYPHS: dict[str, tuple[str, str]] = {
    StanceLabel.COMPLETELY_SUPPORT: ("✓", "support"),
    StanceLabel.PARTIALLY_SUPPORT: ("◐", "partial"),
    StanceLabel.REFUTE: ("✕", "refute"),
    StanceLabel.IRRELEVANT: ("–", "neutral"),
    Factuality.TRUE: ("✓", "support"),
    Factuality.FALSE: ("✕", "refute"),
    Factuality.NOT_ENOUGH_EVIDENCE: ("?", "neutral"),
}


@register.filter
def options(words: Iterable[Labelled], keys: str = "") -> list[dict[str, str]]:
    """The words of a vocabulary as options for components/segment.html. ``keys``: one key a word ("tfu")."""
    found = []
    for position, word in enumerate(words):
        glyph, tone = GLYPHS.get(word.value, ("", ""))
        key = keys[position] if position < len(keys) else ""
        found.append({"value": word.value, "label": word.label, "glyph": glyph, "tone": tone, "key": key})
    return found


@register.filter
def block(tag: Tag) -> SafeString:
    """The start or the end of a block of a response. Headings are no headings of the page: its own outline stays."""
    if tag.name == "h":
        return mark_safe("</p>") if tag.is_end else format_html('<p class="md-h{}">', min(tag.number, 3))
    if tag.name == "hr":
        return mark_safe("<hr>")
    if tag.name == "ol" and not tag.is_end:
        return format_html('<ol start="{}">', tag.number)
    return format_html("</{}>" if tag.is_end else "<{}>", tag.name)


@register.filter
def read(stretch: Stretch) -> SafeString:
    """The words of a stretch with their emphasis. A link's words are underlined and lead nowhere."""
    return mark_safe("".join(_leaf(leaf) for leaf in stretch.leaves))


def _leaf(leaf: Leaf) -> str:
    html: str = conditional_escape(leaf.text)
    for mark in reversed(leaf.marks):
        html = f"<{mark}>{html}</{mark}>"
    return html


@register.filter
def formatted(text: str) -> list[Tag | Stretch]:
    """A response as its Markdown reads, for components/reading.html."""
    return reading(text)


@register.filter
def unformatted(text: str) -> str:
    """The first words of a response on one line, for a preview."""
    return words_of(text[:2000])


@register.filter
def exact(text: str) -> SafeString:
    """The text so that the browser has it character by character. A browser reads a carriage return and a line feed as
    one character, unless the carriage return is written as a reference; imported passages keep theirs."""
    return mark_safe(conditional_escape(text).replace("\r", "&#13;"))


@register.filter
def yes_no(value: bool | None) -> str:
    """A yes/no answer as the form sends it; "" for not answered."""
    return {True: "yes", False: "no", None: ""}[value]


@dataclass(frozen=True, slots=True)
class Control:
    """A choice of a declared field, for components/segment.html. ``reason``: the one that a "no" asks for."""

    field: Field
    options: list[dict[str, str]]
    reason: Control | None = None

    @property
    def legend(self) -> str:
        return self.field.legend or self.field.label


@register.filter
def controls(kind: str) -> list[Control]:
    """The choices of a kind of record: labels, then yes/no questions."""
    chosen = [each for each in fields_of(kind) if each.is_choice and not each.reason_of]
    return [_control(each) for each in sorted(chosen, key=lambda each: each.kind == Kind.YES_NO)]


@register.filter
def control(key: str) -> Control:
    """The choice of one field: "stance:label"."""
    return _control(field_of(*key.split(":")))


def _control(declared: Field) -> Control:
    if declared.words is not None:
        return Control(declared, options(declared.words))
    reason = reason_for(declared)
    answers = [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}]
    return Control(declared, answers, _control(reason) if reason else None)


@register.filter
def asked_more(record: Any, kind: str) -> list[AskedControl]:
    """The questions that the benchmark's protocol adds to a record of the stages."""
    return added_controls(record, kind, annotation_of(record).document.benchmark)


@register.filter
def has_more(record: Any, kind: str) -> bool:
    """Does the protocol add questions to records of this kind, whether they come up or not?"""
    return bool(added_questions(annotation_of(record).document.benchmark, kind))


@register.filter
def chosen(record: Any, name: str) -> str:
    """The value of a choice, as the form sends it."""
    value = getattr(record, name)
    return value if isinstance(value, str) else yes_no(value)


@register.filter
def suggested(record: Any, name: str) -> str:
    """What a suggestion proposes for a field, as the form would send it; "" where nothing is proposed."""
    value = getattr(record.suggestion, name, "") if record.suggestion_id else ""
    return value if isinstance(value, str) else yes_no(value)


@register.filter
def cuts(text: str) -> list[dict[str, Any]]:
    """The words of a text with their offsets in code points: places where it can be cut in two."""
    return [{"at": match.start(), "word": match.group()} for match in re.finditer(r"\S+", text)]


@register.filter
def shown_origin(record: Any, name: str) -> str:
    """The origin of a field for components/origin.html: "suggested" while a suggestion waits for a decision."""
    origin: str = getattr(record, f"{name}_origin")
    if not origin and getattr(record, "suggestion_id", None):
        return "suggested"
    return origin


@register.filter
def glyph(value: Any) -> str:
    """The glyph of a label; "" where it has none."""
    return GLYPHS.get(str(value), ("", ""))[0]


@register.filter
def tone(value: Any) -> str:
    """The tone of a label: support, partial, refute or neutral; "" where it has none."""
    return GLYPHS.get(str(value), ("", ""))[1]
