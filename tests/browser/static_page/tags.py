"""Stand-ins for Django's static and url tags: this page runs without the project's settings, apps and addresses."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString, mark_safe

from config.bundles import BUNDLES

register = template.Library()


@register.simple_tag
def static(path: str) -> str:
    return f"/static/{path}"


@register.simple_tag
def url(name: str) -> str:
    return f"/{name}"


@register.simple_tag
def bundle(name: str) -> SafeString:
    """The parts one by one, as while developing."""
    tag = '<link rel="stylesheet" href="{}">' if name.endswith(".css") else '<script src="{}" defer></script>'
    return mark_safe("\n".join(tag.format(static(part)) for part in BUNDLES[name]))
