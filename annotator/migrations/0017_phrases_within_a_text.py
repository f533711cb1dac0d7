"""The search index is written anew, because phrases now end where a text ends. The worker does it in small steps."""

from __future__ import annotations

from typing import Any

from django.db import migrations


def mark_outdated(apps: Any, schema_editor: Any) -> None:
    apps.get_model("annotator", "SearchEntry").objects.update(version=0)


class Migration(migrations.Migration):
    dependencies = [("annotator", "0016_bad_rows")]

    operations = [migrations.RunPython(mark_outdated, migrations.RunPython.noop)]
