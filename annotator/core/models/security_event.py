"""What happened at the door: sign-ins, failures, changed passwords and second steps."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models

from annotator.core.models.activity import AppendOnlyError
from annotator.core.models.base import choice_constraint, choices
from annotator.core.vocabulary import SecurityEventKind


class SecurityEvent(models.Model):
    """One event. ``name`` is what was typed at a failed sign-in, where it is nobody's; ``address`` is the client's.

    Rows are never changed. They are deleted by the retention rule alone (``forget_old_events``).
    """

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    kind = models.CharField(max_length=24, choices=choices(SecurityEventKind))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="security_events"
    )
    name = models.CharField(max_length=150, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    detail = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["user", "-id"], name="annotator_security_user")]
        constraints: ClassVar = [choice_constraint("kind", SecurityEventKind)]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.user or self.name}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None and not self._state.adding:
            raise AppendOnlyError("Security events are never changed.")
        super().save(*args, **kwargs)
