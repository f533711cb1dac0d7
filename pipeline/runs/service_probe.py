"""Testing a service that an owner added, in a worker: what it can do stands on the page of services."""

from __future__ import annotations

import asyncio

from django.utils import timezone

from annotator.suggestions.models.service import CHAT, Service
from annotator.suggestions.queries.services import settings_with
from pipeline.clients.probe import probe_chat, probe_search


def probe_service(service_id: int) -> None:
    """Make the few calls of a test, and write what they found. Does nothing for a service that was removed."""
    row = Service.objects.filter(pk=service_id).first()
    if row is None:
        return
    settings = settings_with({row.kind: row})
    found = asyncio.run((probe_chat if row.kind == CHAT else probe_search)(settings))
    lines = [{"works": each.works, "text": each.text} for each in found]
    Service.objects.filter(pk=row.pk).update(test={"at": timezone.now().isoformat(), "lines": lines})
