"""The filter of a document list as part of a URL."""

from __future__ import annotations

from django.http import QueryDict
from django.utils.http import urlencode

from annotator.core.actions.fields import BadValueError
from annotator.core.queries.documents import DocumentFilter
from annotator.core.vocabulary import FlagReason, Phase, Stage

MAX_WORDS = 200  # characters of a search
MAX_IDS = 500

# Parameter names in the URL, by names of the filter.
_TEXTS = {"search": "q", "source": "source", "model": "model", "language": "language"}
# Parameters that say how a list looks, not which documents it has.
_DISPLAY = frozenset({"column", "sort", "after", "before"})
_FOR_MANAGERS = {"batch": "batch", "person": "person", "discarded": "discarded"}


def filter_of(params: QueryDict, *, manages: bool) -> DocumentFilter:
    """The filter from a URL or a form; values that don't exist are ignored. Only those who manage the benchmark can
    filter by people, batches, reasons and practice."""

    def text(name: str) -> str:
        return params.get(name, "").replace("\x00", "").strip()[:MAX_WORDS]

    number = text("false")
    return DocumentFilter(
        stage=text("stage") if text("stage") in set(Stage) else "",
        phase=text("phase") if text("phase") in set(Phase) else "",
        flagged=text("flagged") == "yes",
        false_claims=min(int(number), 9999) if number.isdecimal() else 0,
        flag=text("flag") if manages and text("flag") in set(FlagReason) else "",
        twins=manages and text("twins") == "yes",
        confirmed=manages and text("confirmed") == "yes",
        ids=tuple(filter(None, text_list(params, "ids"))),
        **{name: text(key) for name, key in _TEXTS.items()},
        **{name: text(key) for name, key in _FOR_MANAGERS.items() if manages},
    )


def text_list(params: QueryDict, name: str) -> list[str]:
    """The comma-separated values of one parameter."""
    return params.get(name, "").replace("\x00", "").split(",")[:MAX_IDS]


def params_of(narrowed: DocumentFilter) -> dict[str, str]:
    """The filter as parameters of a URL; blank ones are left out."""
    chosen = {key: getattr(narrowed, name) for name, key in (_TEXTS | _FOR_MANAGERS).items()}
    chosen |= {"stage": narrowed.stage, "phase": narrowed.phase, "flag": narrowed.flag}
    chosen |= {"flagged": "yes" if narrowed.flagged else "", "twins": "yes" if narrowed.twins else ""}
    chosen |= {"confirmed": "yes" if narrowed.confirmed else ""}
    chosen |= {"false": str(narrowed.false_claims or ""), "ids": ",".join(narrowed.ids)}
    return {key: value for key, value in chosen.items() if value}


def query_of(narrowed: DocumentFilter) -> str:
    """The filter as a query string, without the question mark."""
    return urlencode(params_of(narrowed))


def filter_written(query: str, *, manages: bool) -> DocumentFilter:
    """The filter in a query string that somebody wrote by hand, "stage=verify&model=alpha".

    Raises BadValueError for what a filter doesn't know: ignoring it would give more documents than were asked for.
    """
    params = QueryDict(query)
    found = filter_of(params, manages=manages)
    known = params_of(found)
    for name, value in params.dict().items():
        if name not in _DISPLAY and value.strip() and known.get(name) != value.strip():
            raise BadValueError(
                f"“{name}={value}” isn’t a valid filter. Filter the documents on the page Documents and copy what "
                "comes after the question mark in the address."
            )
    return found
