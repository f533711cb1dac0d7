"""Filters of the import, export and run pages."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def thousands(number: int) -> str:
    """12345 as 12,345."""
    return f"{number:,}"
