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
    """A model or search that a benchmark uses instead of the installation's. The key is encrypted at rest with a key
    that is derived from SECRET_KEY, and never shown again. Prices: money for a million tokens, or for a query."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey("annotator.Benchmark", models.CASCADE, related_name="services")
    kind = models.CharField(max_length=16, choices=KINDS)
    provider = models.CharField(max_length=20)
    url = models.CharField(max_length=500, blank=True, help_text="Blank: the provider's own address.")
    model = models.CharField(max_length=200, blank=True)
    encrypted_key = models.TextField(blank=True)
    price_prompt = models.FloatField(default=0)
    price_answer = models.FloatField(default=0)
    price_query = models.FloatField(default=0)
    test = models.JSONField(
        default=dict, blank=True, help_text="{waiting} or {at, lines: [{works, text}]}: what the last test found."
    )
    changed_at = models.DateTimeField(auto_now=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["kind"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["benchmark", "kind"], name="annotator_service_once"),
            models.CheckConstraint(
                condition=models.Q(kind__in=[kind for kind, _ in KINDS]), name="annotator_service_kind_word"
            ),
            models.CheckConstraint(
                condition=models.Q(price_prompt__gte=0, price_answer__gte=0, price_query__gte=0),
                name="annotator_service_prices",
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
