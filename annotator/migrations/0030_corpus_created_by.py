from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotator", "0029_service_limits")]

    operations = [
        migrations.AddField(
            model_name="corpus",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=models.deletion.SET_NULL,
                related_name="corpora",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
