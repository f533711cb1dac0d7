"""The API does what its description says, and only that: schemathesis asks every operation what the description allows,
and what it does not allow. ``SCHEMATHESIS_EXAMPLES=200`` asks that much of each; the suite asks a little.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, assume, given, settings
from schemathesis import GenerationMode
from schemathesis.config import SchemathesisConfig

from annotator.core.vocabulary import Scope
from annotator.integrations.actions.tokens import create_token
from tests.api import Scene, scene

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "3"))
# What is well formed can still not fit the state of things: then the answer says so.
STATE = ["2xx", "401", "403", "404", "409", "412", "422"]
REFUSED = ["400", "401", "403", "404", "405", "406", "412", "415", "422", "428"]
CONFIG = {
    "checks": {
        "positive_data_acceptance": {"expected-statuses": STATE},
        "negative_data_rejection": {"expected-statuses": REFUSED},
        "missing_required_header": {"expected-statuses": ["428"]},
        # Every request carries the token; who comes without is asked about in tests/guards/test_api.py.
        "ignored_auth": {"enabled": False},
    }
}


def operations() -> Iterator[Any]:
    """Every operation of the description, in process."""
    raw = SchemaGenerator().get_schema(request=None, public=True)
    schema = schemathesis.openapi.from_dict(raw, config=SchemathesisConfig.from_dict(CONFIG))
    schema.app = get_wsgi_application()
    for found in schema.get_all_operations():
        yield found.ok()  # type: ignore[union-attr]  # an Err says what is wrong with the description


def addresses(operation: Any, here: Scene) -> dict[str, str]:
    """Rows that exist, for the address of an operation."""
    ids = dict(here.ids)
    if "/consolidation/" in operation.path:
        ids |= {"public_id": here.shared.public_id, "stage": "decompose"}
    return {each.name: ids[each.name] for each in operation.path_parameters}


@pytest.fixture
def one_connection() -> Iterator[None]:
    """Requests stay in the test's transaction, as with Django's own client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


class _Undo(Exception):
    """Takes back what an operation did, so that the next one meets the scene as it was."""


@pytest.mark.usefixtures("one_connection")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
def test_every_operation_answers_as_described(mode: GenerationMode, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    here = scene()
    here.ada.is_staff = True
    here.ada.save()
    token = create_token(by=here.ada, name="schemathesis", scopes=list(Scope)).whole
    headers = {"Authorization": f"Bearer {token}"}
    failures: list[str] = []
    asked = 0
    for operation in operations():
        strategy = operation.as_strategy(mode, path_parameters=addresses(operation, here))

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=strategy)
        def ask(case: Any) -> None:
            # The mapping of an import is JSON as text: in a form an object arrives as that text, and nothing is wrong.
            assume(not (isinstance(case.body, dict) and isinstance(case.body.get("mapping"), dict)))
            case.call_and_validate(headers=headers)

        try:
            with transaction.atomic():
                ask()
                raise _Undo
        except _Undo:
            asked += 1
        except (Exception, BaseExceptionGroup) as failure:
            said = "\n".join(str(each) for each in getattr(failure, "exceptions", [failure]))
            failures.append(f"{operation.label}\n{failure}\n{said}\n{caplog.text}")
        caplog.clear()
    assert not failures, "\n\n".join(failures)
    assert asked > 100
