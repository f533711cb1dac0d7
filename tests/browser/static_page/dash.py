"""Three ways of writing a record's name, for the test pages."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def dash(record: str) -> str:
    """claim:c1 -> claim-c1"""
    return record.replace(":", "-")


@register.filter
def path(record: str) -> str:
    """claim:c1 -> claim/c1"""
    return record.replace(":", "/")


@register.filter
def number(record: str) -> str:
    """claim:c1 -> c1"""
    return record.split(":")[1]
