"""The note about changed guidelines, for pages whose views need not know of it."""

from __future__ import annotations

from django import template

from annotator.core.models import Benchmark, User
from annotator.core.queries.guidelines import News, news_for

register = template.Library()


@register.simple_tag
def guidelines_news(user: User, benchmark: Benchmark | None = None) -> list[News]:
    """Changes of guidelines that this person has not read: of one benchmark, or without it of all. One query."""
    return news_for(user, benchmark)
