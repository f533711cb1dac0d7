from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0012_search_entry"),
    ]

    operations = [
        migrations.AlterField(
            model_name="download",
            name="format",
            field=models.CharField(max_length=200),
        ),
    ]
