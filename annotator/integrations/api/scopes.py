"""What a token may do: its scopes, and the benchmark it may be bound to.

A session has all scopes; there, only the person's rules decide. A view declares ``scope``: one scope for all its
methods or a mapping of methods to scopes. Undeclared methods follow a default: reading needs ``read``, and writing
``annotate`` or ``manage``.

    class Batches(APIView):
        scope = {"POST": Scope.MANAGE}      # GET needs read

A token bound to a benchmark is restricted where a view finds its rows: ``check_reaches`` for one benchmark, ``reached``
for lists. What concerns all of a person's benchmarks can't be restricted that way; a view lists the methods that a
bound token may not use as ``unbound``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from annotator.core.models import Benchmark
from annotator.core.vocabulary import Scope
from annotator.integrations.api.authentication import REALM
from annotator.integrations.models import ApiToken

M = TypeVar("M", bound=Model)


def scopes_needed(view: Any, method: str) -> tuple[Scope, ...]:
    """The scopes for this method of a view; any one of them is enough."""
    named = getattr(view, "scope", None)
    if isinstance(named, Mapping):
        named = named.get(method)
    if named:
        return (Scope(named),)
    return (Scope.READ,) if method in SAFE_METHODS else (Scope.ANNOTATE, Scope.MANAGE)


class ScopeMissingError(PermissionDenied):
    """403 with the header that RFC 6750 (section 3.1) requires."""

    def __init__(self, needed: tuple[Scope, ...]) -> None:
        words = " or ".join(f"“{scope}”" for scope in needed)
        super().__init__(f"This token doesn’t have the required scope {words}. Create a token that has it.")
        self.auth_header = f'{REALM}, error="insufficient_scope", scope="{needed[0]}"'


class HasScope(BasePermission):
    """A token may do what its scopes allow; a session, everything."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raises ScopeMissingError, which says which scope is missing, PermissionDenied for a bound token."""
        if not isinstance(request.auth, ApiToken):
            return True
        needed = scopes_needed(view, request.method or "")
        if not set(needed) & set(request.auth.scopes):
            raise ScopeMissingError(needed)
        if request.auth.benchmark_id is not None and request.method in getattr(view, "unbound", ()):
            raise PermissionDenied(
                "This token is limited to one benchmark, but this request covers all your benchmarks. "
                "Create a token without that limit."
            )
        return True


# --- the benchmark that a token is bound to -------------------------------------------------------


def check_reaches(request: Request, benchmark: Benchmark) -> None:
    """For a token bound to another benchmark, this one doesn't exist. Raises Http404."""
    token = request.auth
    if isinstance(token, ApiToken) and token.benchmark_id not in (None, benchmark.pk):
        raise Http404("This token is limited to another benchmark.")


def reached(request: Request, rows: QuerySet[M], benchmark: str = "benchmark") -> QuerySet[M]:
    """The rows that the token may see. ``benchmark`` is the lookup from a row to its benchmark ("pk" for benchmarks
    themselves)."""
    token = request.auth
    if isinstance(token, ApiToken) and token.benchmark_id is not None:
        return rows.filter(**{benchmark: token.benchmark_id})
    return rows
