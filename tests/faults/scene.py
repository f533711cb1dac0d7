"""The data of the fault tests, made in a process of its own: python -m tests.faults.scene PEOPLE

Prints JSON: the cookies of an owner and of each annotator, and for each annotator the claim that they save again and
again.
"""

from __future__ import annotations

import json
import sys
from typing import Any

RESPONSE = "The lighthouse at Hook Head was built by William Marshal. It has guided ships since 1245."


def make(people: int) -> dict[str, Any]:
    """A benchmark with one annotator per document; each annotator has a document of their own open at decompose."""
    from annotator.core.actions.benchmarks import create_benchmark
    from annotator.core.models import Batch, Document, Membership, User
    from annotator.core.vocabulary import Role, Stage
    from annotator.stages.actions.annotate import open_annotation
    from annotator.stages.actions.decompose import accept_sentence
    from annotator.stages.queries.decomposition import present_claims, sentences_of
    from annotator.suggestions.actions.proposals import ProposedClaim, ProposedSentence, propose_sentences

    owner = User.objects.create_user("owner", is_staff=True)
    benchmark = create_benchmark(slug="faults", name="Faults", by=owner, strategy="offline", overlap=1)
    batch = Batch.objects.create(benchmark=benchmark, name="Batch 1", created_by=owner)
    workers = []
    for number in range(people):
        person = User.objects.create_user(f"annotator-{number}")
        Membership.objects.create(benchmark=benchmark, user=person, role=Role.ANNOTATOR)
        document = Document.objects.create(
            benchmark=benchmark, batch=batch, order=number, identity=f"open-{number}", external_id=f"open-{number}",
            content_hash=f"open-{number}", prompt="Who built it?", response=RESPONSE,
        )  # fmt: skip
        propose_sentences(
            document, [ProposedSentence(RESPONSE, 0, len(RESPONSE), RESPONSE, claims=[ProposedClaim(RESPONSE)])]
        )
        annotation = open_annotation(document, Stage.DECOMPOSE, by=person)
        (sentence,) = sentences_of(annotation)
        accept_sentence(sentence, by=person)
        (claim,) = present_claims(sentence)
        workers.append({"cookie": cookie(person), "claim": claim.public_id, "version": claim.version})
    return {"owner": cookie(owner), "workers": workers}


def cookie(person: Any) -> str:
    """A session as signing in gives one, made without hashing a password."""
    from django.conf import settings
    from django.test import Client

    from tests.faults.house import CSRF

    client = Client()
    client.force_login(person)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    return f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={CSRF}"


if __name__ == "__main__":
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    print(json.dumps(make(int(sys.argv[1]))))
