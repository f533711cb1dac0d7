import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0016_studies"),
    ]

    operations = [
        migrations.CreateModel(
            name="PageArchive",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("record", models.BinaryField()),
                (
                    "snapshot",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="archive", to="annotator.pagesnapshot"
                    ),
                ),
            ],
        ),
    ]
