"""The first visit to a work screen, with static files collected as in earnest: how many requests, how many bytes."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotator.core.vocabulary import Stage
from annotator.stages.actions.annotate import open_annotation
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, with_corpus

FILES = re.compile(r'<(?:script|img)[^>]*\ssrc="([^"]+)"|<link[^>]*\shref="([^"]+)"')


@pytest.fixture
def collected(settings: Any, tmp_path: Path) -> Path:
    """Where the files lie after collectstatic; pages name them as in earnest."""
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "config.static_bundles.BundledStaticFilesStorage"},
    }
    settings.STATIC_ROOT = tmp_path / "static"
    call_command("collectstatic", verbosity=0, interactive=False)
    return tmp_path / "static"


def test_every_part_of_a_bundle_is_there() -> None:
    for parts in settings.STATIC_BUNDLES.values():
        for part in parts:
            assert finders.find(part), part


@pytest.mark.django_db
@pytest.mark.parametrize("stage", [Stage.DECOMPOSE, Stage.VERIFY])
def test_a_first_visit_takes_eight_requests_and_120_kibibytes(client: Client, collected: Path, stage: Stage) -> None:
    benchmark = BenchmarkFactory()
    with_corpus(benchmark)
    person = member(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    if stage == Stage.VERIFY:
        decomposed(document, person)
        document.refresh_from_db()
    open_annotation(document, stage, by=person)
    client.force_login(person)
    page = client.get(reverse(stage, args=[document.public_id]), headers={"accept-encoding": "gzip"})
    assert page["Content-Encoding"] == "gzip"
    names = {script or link for script, link in FILES.findall(gzip.decompress(page.content).decode())}
    sizes = [len(page.content)]
    for name in names:
        path = collected / name.removeprefix(settings.STATIC_URL)
        compressed = path.with_name(f"{path.name}.gz")
        sizes.append((compressed if compressed.exists() else path).stat().st_size)
    assert len(sizes) <= 8, sorted(names)
    assert sum(sizes) <= 120 * 1024, sizes


def test_a_bundle_holds_its_parts_in_their_order(collected: Path) -> None:
    for name, parts in settings.STATIC_BUNDLES.items():
        whole = (collected / name).read_text(encoding="utf-8")
        places = []
        for part in parts:
            found = finders.find(part)
            assert found
            places.append(whole.index(Path(found).read_text(encoding="utf-8")))
        assert places == sorted(places), name
