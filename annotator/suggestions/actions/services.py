"""The services that owners add, to a benchmark or to the installation: a model, a search, each with its key."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db import transaction

from annotator.core import rules
from annotator.core.actions.enqueue import after_commit
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, User
from annotator.suggestions.models.service import CHAT, KINDS, SEARCH, Service

PROBE_SERVICE = "pipeline.probe_service"
_NAMES = dict(KINDS)


@dataclass(frozen=True, slots=True)
class ServiceForm:
    """What an owner typed. ``key``: None keeps the one that is there, "" forgets it. Limits: None for none."""

    provider: str
    url: str = ""
    model: str = ""
    key: str | None = None
    price_prompt: float = 0.0
    price_answer: float = 0.0
    price_query: float = 0.0
    calls_per_minute: int | None = None
    money_per_month: float | None = None


def save_service(benchmark: Benchmark | None, kind: str, form: ServiceForm, *, by: User) -> Service:
    """Add or change the service of a kind, of a benchmark or (None) of the installation. Runs that have begun use it
    from their next document on.

    Raises NotAllowedError for all but owners, BadValueError that says what is wrong.
    """
    rules.check_change_services(by, benchmark)
    if kind not in _NAMES:
        raise BadValueError(f"“{kind}” isn't a kind of service; choose one of {', '.join(_NAMES)}.")
    with transaction.atomic():
        if benchmark is not None:
            lock_benchmark(benchmark.pk)
        row = Service.objects.filter(benchmark=benchmark, kind=kind).first() or Service(benchmark=benchmark, kind=kind)
        # A key is never sent to another address than the one that it was entered for.
        moved = (row.provider, row.url) != (form.provider, form.url)
        if form.key is not None:
            row.set_key(form.key)
        elif moved and row.encrypted_key:
            raise BadValueError("Enter the key again: it is not sent to another provider or address.")
        _check(kind, form, has_key=bool(row.encrypted_key))
        row.provider, row.url, row.model = form.provider, form.url, form.model
        row.price_prompt, row.price_answer, row.price_query = form.price_prompt, form.price_answer, form.price_query
        row.calls_per_minute, row.money_per_month = form.calls_per_minute, form.money_per_month
        row.changed_by, row.test, row.next_call_at = by, {}, None
        row.save()
        Action(name="change-service", by=by, benchmark=benchmark, reason=f"{_NAMES[kind]}: {row}").write()
    return row


def remove_service(benchmark: Benchmark | None, kind: str, *, by: User) -> None:
    """Go back to the installation's service, or to that of the environment. The key is deleted. Raises NotAllowedError
    for all but owners."""
    rules.check_change_services(by, benchmark)
    with transaction.atomic():
        if Service.objects.filter(benchmark=benchmark, kind=kind).delete()[0]:
            Action(name="remove-service", by=by, benchmark=benchmark, reason=_NAMES[kind]).write()


def ask_for_test(benchmark: Benchmark | None, kind: str, *, by: User) -> None:
    """Let a worker find out what the service of a kind can do: at most four small calls, of which two or three
    are paid. Raises NotAllowedError for all but owners."""
    rules.check_change_services(by, benchmark)
    with transaction.atomic():
        row = Service.objects.select_for_update().filter(benchmark=benchmark, kind=kind).first()
        if row is not None:
            row.test = {"waiting": True}
            row.save(update_fields=["test"])
            after_commit(PROBE_SERVICE, row.pk)


def _check(kind: str, form: ServiceForm, *, has_key: bool) -> None:
    """Raises BadValueError with the first thing that is wrong, in the words of the page."""
    from pipeline.catalogue import MODELS, PROVIDERS, ServiceSettings, problems

    providers = tuple(MODELS) if kind == CHAT else tuple(name for name in PROVIDERS if name != "corpus")
    if form.provider not in providers:
        raise BadValueError(f"“{form.provider}” isn't a provider; choose one of {', '.join(providers)}.")
    if min(form.price_prompt, form.price_answer, form.price_query) < 0:
        raise BadValueError("A price can't be negative.")
    if form.calls_per_minute is not None and form.calls_per_minute < 1:
        raise BadValueError("A limit of calls per minute is 1 or more; leave it blank for no limit.")
    if form.money_per_month is not None and form.money_per_month <= 0:
        raise BadValueError("A limit of cost per month is more than 0; leave it blank for no limit.")
    if form.money_per_month is not None and not (form.price_prompt or form.price_answer or form.price_query):
        raise BadValueError("A limit of cost needs prices: without them every call costs nothing.")
    settings = ServiceSettings()
    if kind == CHAT:
        if not form.url:
            raise BadValueError("Enter the address of the model server.")
        settings = replace(settings, llm_url=form.url, llm_provider=form.provider, llm_model=form.model)
    if kind == SEARCH:
        key = "a key" if has_key else ""
        settings = replace(settings, search_provider=form.provider, search_url=form.url, search_key=key)
    words = {"LLM_URL": "The address", "LLM_MODEL": "the model", "SEARCH_URL": "the address"}
    words |= {"SEARCH_KEY": "the key", "SEARCH_PROVIDER": "the provider"}
    if wrong := problems(settings):
        sentence = wrong[0]
        for name, plain in words.items():
            sentence = sentence.replace(name, plain)
        raise BadValueError(sentence[0].upper() + sentence[1:])
