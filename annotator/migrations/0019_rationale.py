from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0018_search_entry"),
    ]

    operations = [
        migrations.AddField(
            model_name="stance",
            name="rationale",
            field=models.JSONField(
                blank=True, default=list, help_text="Words of the passage that decide: [start, end] in code points."
            ),
        ),
    ]
