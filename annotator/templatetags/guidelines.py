"""The note about changed guidelines, for pages whose views don't need to know about it."""

from __future__ import annotations

from django import template

from annotator.core.models import Benchmark, User
from annotator.core.queries.guidelines import News, news_for

register = template.Library()


@register.simple_tag
def guidelines_news(user: User, benchmark: Benchmark | None = None) -> list[News]:
    """Changes to guidelines that this person hasn't read: of one benchmark, or of all. One query."""
    return news_for(user, benchmark)
