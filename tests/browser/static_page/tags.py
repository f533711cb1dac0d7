"""Stand-ins for Django's static and url tags: this page runs without the project's settings, apps and addresses."""

from __future__ import annotations

from django import template

register = template.Library()


@register.simple_tag
def static(path: str) -> str:
    return f"/static/{path}"


@register.simple_tag
def url(name: str) -> str:
    return f"/{name}"
