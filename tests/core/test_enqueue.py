"""A task is asked for after the commit; a broker that is down takes nothing back."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from annotator.core.actions import enqueue
from annotator.core.models import User
from tests.factories import UserFactory


class Broken:
    """A broker that cannot be reached."""

    def signature(self, *args: Any, **kwargs: Any) -> Broken:
        return self

    def apply_async(self, **kwargs: Any) -> None:
        raise OSError("no route to the broker")


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_down_undoes_nothing_and_stops_no_other_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enqueue, "current_app", Broken())
    heard: list[str] = []
    with transaction.atomic():
        person = UserFactory()
        enqueue.after_commit("annotator.anything", person.pk)
        transaction.on_commit(lambda: heard.append("the next hook"))
    assert User.objects.filter(pk=person.pk).exists()
    assert heard == ["the next hook"]
