"""Services that owners add on a page, beside those of the environment."""

from __future__ import annotations

import base64
from typing import ClassVar

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import models
from django.utils.encoding import force_bytes

from annotator.core.models.base import new_public_id

CHAT, SEARCH = "chat", "search"
KINDS = ((CHAT, "Language model"), (SEARCH, "Search"))


class UnreadableKeyError(Exception):
    """A key was encrypted with a SECRET_KEY that is no longer known."""


def _fernet() -> MultiFernet:
    """The newest secret encrypts, those before still decrypt."""
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_derived(secret)) for secret in secrets])


def _derived(secret: str | bytes) -> bytes:
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"touchstone service keys")
    return base64.urlsafe_b64encode(derived.derive(force_bytes(secret)))


class Service(models.Model):
    """A model or search that owners added. One of the installation has no benchmark; one of a benchmark is used instead
    of it there. The key is encrypted at rest with a key derived from SECRET_KEY, and never shown again. Prices are for
    a million tokens, or for a query. Limits hold for all workers together."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey(
        "annotator.Benchmark",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="services",
        help_text="Blank: of the installation.",
    )
    kind = models.CharField(max_length=16, choices=KINDS)
    provider = models.CharField(max_length=20)
    url = models.CharField(max_length=500, blank=True, help_text="Blank: the provider's own address.")
    model = models.CharField(max_length=200, blank=True)
    encrypted_key = models.TextField(blank=True)
    price_prompt = models.FloatField(default=0)
    price_answer = models.FloatField(default=0)
    price_query = models.FloatField(default=0)
    calls_per_minute = models.PositiveIntegerField(null=True, blank=True, help_text="Blank: no limit.")
    money_per_month = models.FloatField(null=True, blank=True, help_text="By calendar month, UTC. Blank: no limit.")
    next_call_at = models.DateTimeField(null=True, blank=True, help_text="When the limit allows the next call.")
    test = models.JSONField(
        default=dict, blank=True, help_text="{waiting} or {at, lines: [{works, text}]}: what the last test found."
    )
    changed_at = models.DateTimeField(auto_now=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["kind"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["benchmark", "kind"], name="annotator_service_once"),
            models.UniqueConstraint(
                fields=["kind"],
                condition=models.Q(benchmark__isnull=True),
                name="annotator_service_of_installation_once",
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=[kind for kind, _ in KINDS]), name="annotator_service_kind_word"
            ),
            models.CheckConstraint(
                condition=models.Q(price_prompt__gte=0, price_answer__gte=0, price_query__gte=0),
                name="annotator_service_prices",
            ),
            models.CheckConstraint(
                condition=models.Q(calls_per_minute__isnull=True) | models.Q(calls_per_minute__gt=0),
                name="annotator_service_calls_per_minute",
            ),
            models.CheckConstraint(
                condition=models.Q(money_per_month__isnull=True) | models.Q(money_per_month__gt=0),
                name="annotator_service_money_per_month",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.model}".strip()

    def set_key(self, key: str) -> None:
        """Keep a key, encrypted; blank: none."""
        self.encrypted_key = _fernet().encrypt(key.encode()).decode() if key else ""

    def key(self) -> str:
        """The key, for a call. Raises UnreadableKeyError."""
        if not self.encrypted_key:
            return ""
        try:
            return _fernet().decrypt(self.encrypted_key.encode()).decode()
        except InvalidToken:
            raise UnreadableKeyError from None

    @property
    def is_limited(self) -> bool:
        """Whether its calls are limited by the minute or by their cost."""
        return self.calls_per_minute is not None or self.money_per_month is not None


class ServiceUse(models.Model):
    """What a benchmark's runs used of a service on one day (UTC). Calls answered from the store are not counted.
    ``name`` tells the service also where it was set by the environment, or has been removed."""

    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="service_uses")
    service = models.CharField(max_length=32, blank=True, help_text="Its public id. Blank: set by the environment.")
    kind = models.CharField(max_length=16)
    name = models.CharField(max_length=300)
    day = models.DateField()
    calls = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    answer_tokens = models.PositiveBigIntegerField(default=0)
    money = models.FloatField(default=0)

    class Meta:
        ordering: ClassVar = ["day", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["benchmark", "service", "kind", "name", "day"], name="annotator_serviceuse_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.day}: {self.calls} calls"
