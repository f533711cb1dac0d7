"""Import pages to retrieve evidence from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.file_problems import FileError
from annotator.core.models import Corpus
from annotator.exchange.actions.corpora import create_corpus, import_corpus, use_corpus
from annotator.management.importing import find_benchmark, tell


class Command(BaseCommand):
    help = "Import a corpus: JSON lines (url, title, text, site, published), or a folder of text and HTML files."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", type=Path, metavar="FILE_OR_FOLDER")
        parser.add_argument("--corpus", required=True, metavar="SLUG")
        parser.add_argument("--create", action="store_true", help="create the corpus if it doesn't exist")
        parser.add_argument("--benchmark", metavar="SLUG", help="use the corpus as this benchmark's evidence source")

    def handle(self, **options: Any) -> None:
        slug: str = options["corpus"]
        benchmark = find_benchmark(options["benchmark"]) if options["benchmark"] else None
        corpus = Corpus.objects.filter(slug=slug).first()
        if corpus is None:
            if not options["create"]:
                raise CommandError(f"There is no corpus “{slug}”. Add --create to create it.")
            corpus = create_corpus(slug=slug, name=slug.replace("-", " ").capitalize())
        try:
            report = import_corpus(corpus=corpus, path=options["path"])
        except FileError as error:
            raise CommandError(str(error)) from None
        if benchmark is not None:
            use_corpus(benchmark=benchmark, corpus=corpus)
        tell(report, self.stdout, self.stderr)
