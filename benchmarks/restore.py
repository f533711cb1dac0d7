"""How long do a backup and its restore take with 100,000 documents?

Fills a private database, SQLite or PostgreSQL that writes to the disk as in earnest: documents with a suggested
decomposition each, of sentences and claims. Then runs the commands that an operator runs, in processes of their own,
and counts what has come back.

    .venv/bin/python benchmarks/restore.py [--documents 100000] [--postgres] [--json]

Times depend on the machine's load, which is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SENTENCES, CLAIMS = 4, 2  # suggested for each document, and for each of its sentences


def fill(count: int) -> None:
    """A benchmark with ``count`` documents and the suggestions for them."""
    from django.contrib.auth import get_user_model

    from annotator.core.actions.benchmarks import create_benchmark
    from annotator.core.models import ClaimSuggestion, Document, PipelineRun, SentenceSuggestion
    from annotator.core.vocabulary import Stage

    owner = get_user_model().objects.create_user("owner", is_staff=True)
    benchmark = create_benchmark(slug="restore", name="Restore", by=owner)
    run = PipelineRun.objects.create(benchmark=benchmark, stage=Stage.DECOMPOSE, strategy="offline")
    text = "Ada Lovelace wrote about a machine that nobody had built. "
    for start in range(0, count, 1000):
        documents = Document.objects.bulk_create(
            Document(
                benchmark=benchmark, order=number, identity=str(number), external_id=str(number),
                content_hash=f"{number:064}", prompt="Who was Ada Lovelace?", response=text * SENTENCES,
            )
            for number in range(start, min(start + 1000, count))
        )  # fmt: skip
        sentences = SentenceSuggestion.objects.bulk_create(
            SentenceSuggestion(run=run, document=document, order=order, text=text)
            for document in documents
            for order in range(SENTENCES)
        )
        ClaimSuggestion.objects.bulk_create(
            ClaimSuggestion(sentence=sentence, order=order, text=text)
            for sentence in sentences
            for order in range(CLAIMS)
        )


def timed(*command: str) -> float:
    """Seconds of one command of manage.py. Raises CalledProcessError."""
    began = time.perf_counter()
    subprocess.run([sys.executable, str(ROOT / "manage.py"), *command], check=True, stdout=subprocess.DEVNULL)
    return round(time.perf_counter() - began, 1)


def measure(count: int, folder: Path) -> dict[str, float]:
    """Seconds of each command, and the size of the backup in MB."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0, interactive=False)
    fill(count)
    connection.close()
    kept = folder / "kept"
    found = {"backup": timed("backup", str(kept))}
    (file,) = kept.glob("*.tar*")
    found["megabytes"] = round(file.stat().st_size / 1e6)
    found["verify"] = timed("backup", "--verify", str(file))
    found["restore"] = timed("restore", str(file), "--replace")
    from annotator.core.models import ClaimSuggestion, Document

    assert Document.objects.count() == count
    assert ClaimSuggestion.objects.count() == count * SENTENCES * CLAIMS
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL, not SQLite")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="touchstone-restore-"))
    os.environ |= {"TOUCHSTONE_VAR": str(folder / "var"), "DJANGO_SETTINGS_MODULE": "config.settings"}
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    try:
        if options.postgres:
            from tests import services

            with services.postgres(durable=True) as database:
                os.environ["DATABASE_URL"] = database
                found = measure(options.documents, folder)
        else:
            found = measure(options.documents, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result = {
        "documents": options.documents, "database": "PostgreSQL" if options.postgres else "SQLite",
        "load": [round(each, 1) for each in os.getloadavg()], **found,
    }  # fmt: skip
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        print(", ".join(f"{name} {value}" for name, value in result.items()), "(seconds)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
