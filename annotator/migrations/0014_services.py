import annotator.core.models.base
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0013_batch_change"),
    ]

    operations = [
        migrations.CreateModel(
            name="Service",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.core.models.base.new_public_id, editable=False, max_length=32, unique=True
                    ),
                ),
                ("kind", models.CharField(choices=[("chat", "Language model"), ("search", "Search")], max_length=16)),
                ("provider", models.CharField(max_length=20)),
                ("url", models.CharField(blank=True, help_text="Blank: the provider's own address.", max_length=500)),
                ("model", models.CharField(blank=True, max_length=200)),
                ("encrypted_key", models.TextField(blank=True)),
                ("price_prompt", models.FloatField(default=0)),
                ("price_answer", models.FloatField(default=0)),
                ("price_query", models.FloatField(default=0)),
                (
                    "test",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="{waiting} or {at, lines: [{works, text}]}: what the last test found.",
                    ),
                ),
                ("changed_at", models.DateTimeField(auto_now=True)),
                (
                    "benchmark",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="services", to="annotator.benchmark"
                    ),
                ),
                (
                    "changed_by",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["kind"],
                "constraints": [
                    models.UniqueConstraint(fields=("benchmark", "kind"), name="annotator_service_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["chat", "search"])), name="annotator_service_kind_word"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("price_answer__gte", 0), ("price_prompt__gte", 0), ("price_query__gte", 0)),
                        name="annotator_service_prices",
                    ),
                ],
            },
        ),
    ]
