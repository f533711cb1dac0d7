"""People and what they may do in a benchmark."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models

from annotator.models.base import choices, one_of
from annotator.vocabulary import Role


class User(AbstractUser):
    """A person. ``preferences`` holds small choices of the screens: notes dismissed, keys on or off."""

    display_name = models.CharField(max_length=120, blank=True)
    preferences = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return self.display_name or self.username

    @property
    def initials(self) -> str:
        """One or two letters for the round mark in the bar."""
        words = str(self).split()
        return "".join(word[0] for word in words[:2]).upper() if words else "?"


class Membership(models.Model):
    """A person's role in one benchmark. Deactivated rather than deleted, so that their work keeps a name."""

    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=16, choices=choices(Role))
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["benchmark", "user"], name="annotator_membership_once"),
            one_of("role", Role),
        ]

    def __str__(self) -> str:
        return f"{self.user}, {Role(self.role).label.lower()}"
