import django.db.models.deletion
from django.db import migrations, models
from django.utils import timezone


def keep_what_is_reserved(apps, schema_editor):
    """What documents in hand have reserved is part of what their runs have spent: it stays counted, as the cost of
    calls whose worker is lost. No worker runs while the database is migrated."""
    PendingCall, RunItem = apps.get_model("annotator", "PendingCall"), apps.get_model("annotator", "RunItem")
    reserved = RunItem.objects.filter(models.Q(reserved_tokens__gt=0) | models.Q(reserved_money__gt=0))
    now = timezone.now()
    PendingCall.objects.bulk_create(
        [
            PendingCall(item_id=pk, step="unknown", kind="chat", tokens=tokens, money=max(money, 0.0), lost_at=now)
            for pk, tokens, money in reserved.values_list("pk", "reserved_tokens", "reserved_money")
        ],
        batch_size=1000,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0001_version_0_1"),
    ]

    operations = [
        migrations.CreateModel(
            name="PendingCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        blank=True, help_text="SHA-256 of the request; blank: anybody may repeat it.", max_length=64
                    ),
                ),
                ("step", models.CharField(max_length=40)),
                ("kind", models.CharField(max_length=16)),
                ("tokens", models.PositiveBigIntegerField(default=0)),
                ("money", models.FloatField(default=0)),
                ("began_at", models.DateTimeField(auto_now_add=True)),
                (
                    "lost_at",
                    models.DateTimeField(blank=True, help_text="When its worker was found to be lost.", null=True),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pending_calls",
                        to="annotator.runitem",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("lost_at__isnull", True), models.Q(("key", ""), _negated=True)),
                        fields=("key",),
                        name="annotator_pendingcall_once",
                    )
                ],
            },
        ),
        migrations.RunPython(keep_what_is_reserved, migrations.RunPython.noop),
        migrations.RemoveField(
            model_name="runitem",
            name="reserved_money",
        ),
        migrations.RemoveField(
            model_name="runitem",
            name="reserved_tokens",
        ),
    ]
