"""Serializer fields of the API: values of vocabularies, people, and strictly typed values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.validators import MinLengthValidator, RegexValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from annotator.core.fields import MAX_RESPONSE, MAX_TEXT, Field, Kind, fields_of
from annotator.core.vocabulary import DiscardReason, Labelled, Origin, spelled


class WordField(serializers.ChoiceField):
    """A value of a vocabulary. Input may spell it with hyphens, as released files do: "completely-support"."""

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(spelled(data, self.choices) if isinstance(data, str) else data)


def word(words: type[Labelled], *, may_be_blank: bool = False, **options: Any) -> WordField:
    """A value of a vocabulary; "" where allowed, for not decided."""
    # With the members' names, by which the description recognizes the vocabulary (ENUM_NAME_OVERRIDES).
    return WordField([(each.value, each.name) for each in words], allow_blank=may_be_blank, **options)


def text(*, most: int = MAX_TEXT, **options: Any) -> serializers.CharField:
    """A text as typed: leading and trailing space is kept."""
    return serializers.CharField(max_length=most, trim_whitespace=False, **options)


# Something besides leading and trailing space, which has characters that some regex engines don't count as \\s. Linear
# time.
SOMETHING = r"^[\s\u001c-\u001f\u0085]*[^\s\u001c-\u001f\u0085\u0000][^\u0000]*$"


JSON_NAMES = {str: "text in quotation marks", bool: "true or false", int: "a whole number", float: "a number"}


class Input(serializers.Serializer):
    """A body or query. JSON values of the wrong type are refused rather than converted: "3" isn't a number and 3 isn't
    a text."""

    JSON_TYPES: tuple[tuple[type[serializers.Field], tuple[type, ...]], ...] = (
        (serializers.BooleanField, (bool,)),
        (serializers.CharField, (str,)),
        (serializers.IntegerField, (int,)),
        (serializers.FloatField, (int, float)),
        (serializers.ChoiceField, (str,)),
        (serializers.DateField, (str,)),
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        """The fields. Those that must not be blank say so in the description."""
        fields = super().get_fields()
        for field in fields.values():
            if isinstance(field, serializers.CharField) and not field.allow_blank:
                field.validators.append(RegexValidator(SOMETHING) if field.trim_whitespace else MinLengthValidator(1))
        return fields

    def to_internal_value(self, data: Any) -> Any:
        request: Request | None = self.context.get("request")
        is_json = request is not None and request.method != "GET" and (request.content_type or "").endswith("json")
        if is_json and isinstance(data, Mapping):
            data = {name: self._whole(name, value) for name, value in data.items()}
            wrong = {name: [sentence] for name, sentence in self._wrong_types(data)}
            if wrong:
                raise serializers.ValidationError(wrong)
        return super().to_internal_value(data)

    def _whole(self, name: str, value: Any) -> Any:
        """3.0 is a whole number, too."""
        is_whole = isinstance(value, float) and value.is_integer()
        return int(value) if is_whole and isinstance(self.fields.get(name), serializers.IntegerField) else value

    def _wrong_types(self, data: Mapping[str, Any]) -> list[tuple[str, str]]:
        wrong = []
        for name, field in self.fields.items():
            value = data.get(name)
            expected = next((types for kind, types in self.JSON_TYPES if isinstance(field, kind)), None)
            if value is None or expected is None:
                continue
            is_number_by_name_only = isinstance(value, bool) and bool not in expected
            if not isinstance(value, expected) or is_number_by_name_only:
                wrong.append((name, f"Expected {JSON_NAMES[expected[-1]]}."))
            elif isinstance(field, serializers.CharField) and len(str(value)) > (field.max_length or len(str(value))):
                # As described: outer space counts toward the length, though it isn't kept.
                wrong.append((name, f"Enter at most {field.max_length} characters."))
        return wrong


@extend_schema_field({"type": ["string", "integer"], "maxLength": 200})
class ExternalId(serializers.JSONField):
    """The sender's own identifier: a text, or a whole number, which becomes its digits."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool) or not isinstance(data, str | int):
            raise serializers.ValidationError("Expected text in quotation marks, or a whole number.")
        return serializers.CharField(max_length=200, allow_blank=True).run_validation(str(data))


class PersonSerializer(serializers.Serializer):
    """A person, by user name and display name."""

    username = serializers.CharField()
    name = serializers.CharField(source="__str__")


class ReasonInput(Input):
    """The reason: one or two sentences, kept with the action."""

    reason = text(most=500)


class DiscardInput(Input):
    """Why a document is discarded: a code, and a text that only “other” needs."""

    reason = text(most=500, allow_blank=True, default="")
    code = word(DiscardReason, default="other")


class ActiveInput(Input):
    """How long the person was active on it, in seconds; capped at an hour."""

    active_seconds = serializers.IntegerField(min_value=0, max_value=3600, default=0)


class AtInput(ActiveInput):
    """Where to split a text: the number of code points before the split."""

    at = serializers.IntegerField(min_value=0, max_value=MAX_RESPONSE)


@extend_schema_field({})
class AnyValue(serializers.JSONField):
    """Any JSON, including null. Its type depends on the field, strategy or figure."""

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        return (True, None) if data is None else super().validate_empty_values(data)


@extend_schema_field({"type": "string", "format": "binary", "minLength": 1})
class Upload(serializers.FileField):
    """A file in a form. It must not be empty."""


class RecordBaseSerializer(serializers.Serializer):
    """Fields that all records share. ``version`` is the value for If-Match."""

    id = serializers.CharField(source="public_id")
    version = serializers.IntegerField()


def declared(record: str, *, suggested: bool = False) -> type[serializers.Serializer]:
    """A serializer of a record's declared fields, each with its origin. ``suggested``: only the fields its suggestion
    has, without origins."""
    found: dict[str, Any] = {}
    for each in fields_of(record):
        if each.kind == Kind.EDIT or (suggested and not each.is_suggested):
            continue
        found[each.name] = _value(each)
        if each.has_origin and not suggested:
            found[f"{each.name}_origin"] = word(Origin, may_be_blank=True)
    if not suggested and record != "evidence":
        found["answers"] = AnyValue(required=False, help_text="What the protocol asks besides, by the question's key.")
    return type(f"Declared{record}", (serializers.Serializer,), found)


def _value(field: Field) -> serializers.Field:
    if field.words is not None:
        return word(field.words, may_be_blank=field.may_be_blank)
    if field.kind == Kind.TEXT:
        return serializers.CharField()
    if field.kind == Kind.SPANS:
        span = serializers.ListField(child=serializers.IntegerField(min_value=0), min_length=2, max_length=2)
        return serializers.ListField(child=span)
    return serializers.BooleanField(allow_null=field.kind == Kind.YES_NO)
