import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0014_details_for_owners"),
    ]

    operations = [
        migrations.AddField(
            model_name="benchmark",
            name="practice_from",
            field=models.ForeignKey(
                blank=True,
                help_text="The benchmark whose gold new annotators practice on; blank for its own.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="annotator.benchmark",
            ),
        ),
    ]
