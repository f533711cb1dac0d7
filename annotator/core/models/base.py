"""What all records share: a public id, a version for the optimistic lock, and the constraint builders."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from django.db import models
from django.db.models import Q

from annotator.core.fields import Kind, field_of, fields_of
from annotator.core.vocabulary import Labelled, Origin

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # 32 characters without look-alikes, so that a byte maps evenly
PUBLIC_ID_LENGTH = 12
_SIGN_OF_BYTE = bytes(ord(ALPHABET[byte % len(ALPHABET)]) for byte in range(256))


def new_public_id() -> str:
    """Twelve characters without look-alikes (60 bits): safe in a URL, stable through export and import."""
    return os.urandom(PUBLIC_ID_LENGTH).translate(_SIGN_OF_BYTE).decode("ascii")


def new_public_ids(count: int) -> list[str]:
    """Many public ids at once, with one request for random bytes. They are sorted, so that an index is filled page by
    page, which saves a tenth of an import's time."""
    signs = os.urandom(PUBLIC_ID_LENGTH * count).translate(_SIGN_OF_BYTE).decode("ascii")
    return sorted(signs[start : start + PUBLIC_ID_LENGTH] for start in range(0, len(signs), PUBLIC_ID_LENGTH))


def replacement_id(scope: str, old: str) -> str:
    """A replacement for a public id that this installation has already: always the same within one scope."""
    digest = hashlib.sha256(f"{scope}:{old}".encode()).digest()
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:PUBLIC_ID_LENGTH])


def choices(words: type[Labelled] | Iterable[Labelled]) -> list[tuple[str, str]]:
    """Django choices of a vocabulary."""
    return [(word.value, word.label) for word in words]


class Record(models.Model):
    """A row that people change: found by its public id, locked by its version. Each model names ``public_id_once()``
    among its constraints.

    ``version`` counts the saves of this record. A save sends the version it is based on (see
    ``annotator.core.actions.recorder``).
    """

    public_id = models.CharField(max_length=32, default=new_public_id, editable=False)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


class AskedRecord(Record):
    """A record of the stages. ``answers``: what the benchmark's protocol asks beyond the declared fields, by the
    question's key (ADR 0014)."""

    answers = models.JSONField(default=dict, blank=True)

    class Meta:
        abstract = True


def public_id_once() -> models.UniqueConstraint:
    """Public ids are unique. ``unique=True`` would also do that, but for text PostgreSQL then adds a second index for
    LIKE searches, which nobody needs here and which slows down every import."""
    return models.UniqueConstraint(fields=["public_id"], name="%(app_label)s_%(class)s_public_id_once")


def where_given(field: str, *, name: str) -> models.Index:
    """A partial index of a foreign key that is null in very many rows. Rows with null are left out: nobody looks them
    up, and each would cost a write. The key itself has ``db_index=False``, like any key that is the first column of
    another index."""
    return models.Index(fields=[field], condition=Q(**{f"{field}__isnull": False}), name=name)


def choice_constraint(field: str, words: type[Labelled], *, may_be_blank: bool = False) -> models.CheckConstraint:
    """The field holds a value of the vocabulary (or is blank, where allowed)."""
    values = [word.value for word in words] + ([""] if may_be_blank else [])
    return models.CheckConstraint(
        condition=Q(**{f"{field}__in": values}),
        name=f"%(app_label)s_%(class)s_{field}_word",
    )


def label_with_origin(field: str) -> models.CheckConstraint:
    """A label and its origin are both set, or both blank (not decided yet)."""
    blank = Q(**{field: "", f"{field}_origin": ""})
    there = ~Q(**{field: ""}) & Q(**{f"{field}_origin__in": [origin.value for origin in Origin]})
    return models.CheckConstraint(condition=blank | there, name=f"%(app_label)s_%(class)s_{field}_origin")


def answer_with_origin(field: str) -> models.CheckConstraint:
    """The same for a yes/no answer, where null means not answered."""
    blank = Q(**{f"{field}__isnull": True, f"{field}_origin": ""})
    there = Q(**{f"{field}__isnull": False, f"{field}_origin__in": [origin.value for origin in Origin]})
    return models.CheckConstraint(condition=blank | there, name=f"%(app_label)s_%(class)s_{field}_origin")


def text_with_origin(field: str) -> models.CheckConstraint:
    """A text may have no origin: then it is a suggestion that nobody has accepted yet."""
    return models.CheckConstraint(
        condition=Q(**{f"{field}_origin__in": ["", *[origin.value for origin in Origin]]}),
        name=f"%(app_label)s_%(class)s_{field}_origin",
    )


class LabelField(models.CharField):
    """A value of a vocabulary; blank means not decided."""

    def __init__(self, words: type[Labelled] | None = None, **options: object) -> None:
        if words is not None:
            options["choices"] = choices(words)
        options.setdefault("max_length", 32)
        options.setdefault("blank", True)
        options.setdefault("default", "")
        super().__init__(**options)  # type: ignore[arg-type]


def label_of(record: str, name: str) -> LabelField:
    """The column of a declared label."""
    return LabelField(field_of(record, name).words)


def constraints_of(record: str) -> list[models.BaseConstraint]:
    """A mixin with the columns of all declared fields of a record."""
    with_origin = {
        Kind.TEXT: text_with_origin,
        Kind.LABEL: label_with_origin,
        Kind.YES_NO: answer_with_origin,
    }
    fields = fields_of(record)
    return [with_origin[each.kind](each.name) for each in fields if each.has_origin] + words_of(record)


def words_of(record: str, *, suggested: bool = False) -> list[models.BaseConstraint]:
    """The constraints of a record's labels. ``suggested``: only the labels that its suggestion has."""
    return [
        choice_constraint(each.name, each.words, may_be_blank=each.may_be_blank)
        for each in fields_of(record)
        if each.words is not None and (each.is_suggested or not suggested)
    ]


def origin_field() -> models.CharField[str, str]:
    """Where the field's value came from; blank means not decided."""
    return models.CharField(max_length=16, blank=True, default="", choices=choices(Origin))
