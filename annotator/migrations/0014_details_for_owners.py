"""What services said about a failure is for owners alone: the texts of runs that asked services move there."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models
from django.db.models import F

WITHHELD = "An owner of the benchmark can see why."
ADDING, OVER_BUDGET = "Documents are still being added", "of the budget of"  # these name no service


def withhold(apps: Any, schema_editor: Any) -> None:
    """Move the texts of failed documents and paused runs."""
    runs = apps.get_model("annotator", "PipelineRun").objects.filter(plan__has_key="services")
    items = apps.get_model("annotator", "RunItem").objects.filter(run__in=runs).exclude(error="")
    items.update(error_details=F("error"), error=WITHHELD)
    named = runs.exclude(halted="").exclude(halted__startswith=ADDING).exclude(halted__contains=OVER_BUDGET)
    named.update(halted_details=F("halted"), halted=WITHHELD)


def show(apps: Any, schema_editor: Any) -> None:
    """Move them back."""
    items = apps.get_model("annotator", "RunItem").objects.exclude(error_details="")
    items.update(error=F("error_details"))
    runs = apps.get_model("annotator", "PipelineRun").objects.exclude(halted_details="")
    runs.update(halted=F("halted_details"))


class Migration(migrations.Migration):
    dependencies = [("annotator", "0013_several_formats")]

    operations = [
        migrations.AddField(
            model_name="pipelinerun",
            name="halted_details",
            field=models.TextField(
                blank=True, default="", help_text="The same, naming services, for owners; blank if none."
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="runitem",
            name="error_details",
            field=models.TextField(
                blank=True, default="", help_text="The same, naming services, for owners; blank if none."
            ),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="runitem",
            name="error",
            field=models.TextField(blank=True, help_text="Why it failed. Names no service."),
        ),
        migrations.RunPython(withhold, show),
    ]
