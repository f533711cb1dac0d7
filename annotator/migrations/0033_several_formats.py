from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0032_crowd_links"),
    ]

    operations = [
        migrations.AlterField(
            model_name="download",
            name="format",
            field=models.CharField(max_length=200),
        ),
    ]
