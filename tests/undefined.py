"""Makes a template fail that names a variable which the view does not pass."""

from __future__ import annotations

import sys
from pathlib import Path

from django.template.base import Node

TEMPLATES = str(Path(__file__).resolve().parent.parent / "templates")


class UndefinedVariableError(Exception):
    """A template of ours used a name that is not in its context."""


class Undefined(str):
    """For the engine's string_if_invalid: Undefined("%s"). Django puts in the name by `%`, where this fails.

    Only in our own templates: those of the admin count on undefined names being empty. `{% if name %}` and
    `{% firstof %}` never come here, so a name that may be missing can be asked for; `{{ name|default:"" }}`
    does: pass the name.
    """

    __slots__ = ()

    def __mod__(self, name: object) -> str:
        template = _template_being_rendered()
        if template.startswith(TEMPLATES):
            raise UndefinedVariableError(f"{template[len(TEMPLATES) + 1 :]} uses {name}, which is undefined there.")
        return ""


def _template_being_rendered() -> str:
    """File name of the template whose node is being rendered now; empty when there is none."""
    frame = sys._getframe(2)
    while frame is not None:
        node = frame.f_locals.get("self")
        origin = getattr(node, "origin", None) if isinstance(node, Node) else None
        if origin is not None:
            return str(origin.name)
        frame = frame.f_back  # type: ignore[assignment]
    return ""
