"""The suite's own rule about templates: a name that the view does not pass fails in our templates only."""

from __future__ import annotations

from typing import Any

import pytest
from django.template import Context, Engine, Origin, Template

from tests.undefined import TEMPLATES, Undefined, UndefinedVariableError

ENGINE = Engine(string_if_invalid=Undefined("%s"))


def rendered(source: str, where: str, **context: Any) -> str:
    return Template(source, Origin(name=where), engine=ENGINE).render(Context(context))


OURS = f"{TEMPLATES}/decompose/page.html"


@pytest.mark.parametrize("source", ["{{ claim }}", "{{ claim.text }}", '{{ claim|default:"-" }}'])
def test_an_undefined_name_fails_and_says_where(source: str) -> None:
    with pytest.raises(UndefinedVariableError, match=r"decompose/page\.html uses claim"):
        rendered(source, OURS)


def test_a_name_may_be_asked_for() -> None:
    assert rendered("{% if claim %}{{ claim }}{% else %}none{% endif %}", OURS) == "none"


def test_none_and_blank_are_values() -> None:
    assert rendered("[{{ a }}|{{ b }}]", OURS, a=None, b="") == "[None|]"


def test_templates_of_others_are_let_alone() -> None:
    assert rendered("[{{ claim }}]", "/lib/django/contrib/admin/templates/admin/base.html") == "[]"
