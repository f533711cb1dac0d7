"""Write the descriptions in docs/ that are generated from code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from annotator.exchange.native.touchstone_schema import brought_up_to_date
from annotator.exchange.tables.table_columns import json_schema


class Command(BaseCommand):
    help = "Update the API description and the schemas of the native format and the tables in docs/."

    def handle(self, **options: Any) -> None:
        docs = Path(settings.BASE_DIR) / "docs"
        native = docs / "formats" / "touchstone.schema.json"
        _write(native, brought_up_to_date(json.loads(native.read_text("utf-8"))))
        _write(docs / "formats" / "tables.schema.json", json_schema())
        call_command("spectacular", validate=True, fail_on_warn=True, file=str(docs / "api" / "openapi.yaml"))


def _write(path: Path, schema: dict[str, Any]) -> None:
    path.write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", "utf-8")
