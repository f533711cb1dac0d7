"""People and what they may do in a benchmark."""

from __future__ import annotations

import secrets
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q

from annotator.core.models.base import choice_constraint, choices, new_public_id
from annotator.core.vocabulary import Role, Seat


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
            choice_constraint("role", Role),
        ]

    def __str__(self) -> str:
        return f"{self.user}, {Role(self.role).label.lower()}"


class Group(models.Model):
    """Two annotators (or as many as the benchmark's overlap asks for) and an adjudicator, responsible for batches
    (Factcheck-Bench section 3.2)."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="groups")
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["benchmark", "name"], name="annotator_group_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class GroupMember(models.Model):
    """A person's seat in a group. People who leave become inactive, so that their finished work still counts."""

    group = models.ForeignKey(Group, models.CASCADE, related_name="members")
    user = models.ForeignKey(User, models.PROTECT, related_name="group_seats")
    seat = models.CharField(max_length=16, choices=choices(Seat))
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["seat", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["group", "user"], name="annotator_groupmember_once"),
            models.UniqueConstraint(
                fields=["group"],
                condition=Q(seat=Seat.THIRD_RATER, active=True),
                name="annotator_groupmember_one_third_rater",
            ),
            choice_constraint("seat", Seat),
        ]

    def __str__(self) -> str:
        return f"{self.user}, {Seat(self.seat).label.lower()} of {self.group}"


def new_token() -> str:
    """A token that nobody can guess (192 bits), safe in a URL."""
    return secrets.token_urlsafe(24)


class Invitation(models.Model):
    """A link by which people join a benchmark. With an e-mail address it is for one person and works once; without,
    it works for anyone with the link, at most ``max_uses`` times (null: as often as one likes), until it expires or is
    withdrawn. ``note`` is for whoever is invited, and stands in the mail."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    token = models.CharField(max_length=64, unique=True, default=new_token, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=16, choices=choices(Role), default=Role.ANNOTATOR)
    group = models.ForeignKey(Group, models.SET_NULL, null=True, blank=True, related_name="invitations")
    email = models.EmailField(blank=True)
    note = models.TextField(blank=True)
    max_uses = models.PositiveIntegerField(null=True, blank=True)
    uses = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="invitations")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="accepted_invitations"
    )
    accepted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            choice_constraint("role", Role),
            models.CheckConstraint(
                condition=Q(accepted_by__isnull=True, accepted_at__isnull=True)
                | (Q(accepted_by__isnull=False, accepted_at__isnull=False) & ~Q(email="")),
                name="annotator_invitation_accepted_together",
            ),
        ]

    def __str__(self) -> str:
        return f"{Role(self.role).label}, {self.email or 'by link'}"
