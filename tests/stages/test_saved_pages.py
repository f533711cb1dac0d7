"""The saved copy of the page that a passage was cut from."""

from __future__ import annotations

import re
from hashlib import sha256

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.models import Annotation, Evidence, PageSnapshot, User
from annotator.core.vocabulary import Role, Stage
from annotator.stages.actions.annotate import open_annotation
from annotator.stages.actions.verify import add_evidence
from annotator.stages.queries.verification import claims_to_verify
from tests.factories import BenchmarkFactory, DocumentFactory, decomposed, member, prefill, retrieve, with_corpus

pytestmark = pytest.mark.django_db

TEXT = (
    "<script>alert(1)</script> News\n\nAda Lovelace was born in London\non 10 December 1815. She died in 1852.\n\n"
    "Subscribe & follow."
)


def saved(evidence: Evidence, text: str = TEXT) -> PageSnapshot:
    """The evidence, cut from a page with this text."""
    page = PageSnapshot.objects.create(
        url=f"https://pages.example/{evidence.pk}",
        title="Ada & others",
        text=text,
        content_hash=sha256(text.encode()).hexdigest(),
        retrieved_at=timezone.now(),
    )
    Evidence.objects.filter(pk=evidence.pk).update(
        snapshot=page, url=page.url, passage="Ada Lovelace was born in London on 10 December 1815."
    )
    return page


@pytest.fixture
def verifying() -> Annotation:
    benchmark = BenchmarkFactory()
    with_corpus(benchmark)
    ada = member(benchmark)
    document = prefill(DocumentFactory(benchmark=benchmark))
    decomposed(document, ada)
    retrieve(document)
    return open_annotation(document, Stage.VERIFY, by=ada)


def person_of(annotation: Annotation) -> User:
    assert annotation.person is not None
    return annotation.person


def test_the_page_opens_at_its_quote_without_scripts_or_other_hosts(client: Client, verifying: Annotation) -> None:
    evidence = claims_to_verify(verifying)[0].cards[0].evidence
    saved(evidence)
    client.force_login(person_of(verifying))
    url = reverse("saved-page", args=[evidence.public_id])
    page = client.get(url).content.decode()
    assert '<mark id="quote">Ada Lovelace was born in London\non 10 December 1815</mark>' in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    shown = client.get(reverse("verify", args=[verifying.document.public_id])).content.decode()
    assert f'href="{url}#quote"' in shown


def test_a_passage_that_is_not_in_the_text_is_said_so(client: Client, verifying: Annotation) -> None:
    evidence = claims_to_verify(verifying)[0].cards[0].evidence
    saved(evidence, "Another page altogether.")
    client.force_login(person_of(verifying))
    page = client.get(reverse("saved-page", args=[evidence.public_id])).content.decode()
    assert "isn’t in the saved text" in page
    assert 'id="quote"' not in page


def test_without_a_copy_there_is_no_page(client: Client, verifying: Annotation) -> None:
    evidence = claims_to_verify(verifying)[0].cards[0].evidence
    client.force_login(person_of(verifying))
    assert client.get(reverse("saved-page", args=[evidence.public_id])).status_code == 404
    shown = client.get(reverse("verify", args=[verifying.document.public_id])).content.decode()
    assert "saved copy" not in shown


def test_the_page_that_a_person_added_is_theirs_until_all_have_submitted(client: Client, verifying: Annotation) -> None:
    benchmark, ada = verifying.document.benchmark, person_of(verifying)
    evidence = add_evidence(verifying, claims_to_verify(verifying)[0].claim, by=ada, url="https://a.example/")
    saved(evidence)
    url = reverse("saved-page", args=[evidence.public_id])
    expected = {ada: 200, member(benchmark): 404, member(benchmark, Role.OWNER): 404, member(BenchmarkFactory()): 404}
    for person, status in expected.items():
        client.force_login(person)
        assert client.get(url).status_code == status
