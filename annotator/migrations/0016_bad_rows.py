"""The rows with errors of an import, to download."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotator", "0015_practice_from")]

    operations = [
        migrations.AddField("importjob", "bad_rows", models.FileField(blank=True, upload_to="imports/")),
    ]
