"""How a benchmark makes suggestions: its strategy with parameters and budget, and its own prompts."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from annotator.core import rules
from annotator.core.actions.fields import BadValueError
from annotator.core.actions.locking import lock_benchmark
from annotator.core.actions.recorder import Action
from annotator.core.models import Benchmark, PromptVersion, User
from annotator.suggestions.actions.runs import budget_in_words

MAX_WORDING = 50_000  # characters


class StaleWordingError(Exception):
    """Someone else saved the prompt in the meantime. Nothing was written; ``newest`` is theirs."""

    def __init__(self, newest: PromptVersion) -> None:
        super().__init__(f"Wording {newest.number} was saved in the meantime. Compare both and save again.")
        self.newest = newest


def choose_strategy(
    benchmark: Benchmark,
    *,
    strategy: str,
    parameters: Mapping[str, object],
    budget_tokens: int | None,
    budget_money: float | None,
    by: User,
) -> None:
    """What automatic runs use from now on; "" for no strategy. Current runs keep their plan.

    Raises NotAllowedError by the rules, BadValueError for an unknown strategy or a wrong parameter.
    """
    from pipeline.catalogue import checked

    new: dict[str, object] = {"strategy": strategy, "budget_tokens": budget_tokens, "budget_money": budget_money}
    try:
        new["parameters"] = checked(strategy, parameters) if strategy else {}
    except ValueError as error:
        raise BadValueError(str(error)) from None
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        benchmark = lock_benchmark(benchmark.pk)
        reason = f"{strategy or 'none'}, {budget_in_words(budget_tokens, budget_money)}"
        action = Action(name="choose-strategy", by=by, benchmark=benchmark, reason=reason)
        for name, value in new.items():
            before = getattr(benchmark, name)
            if before != value:
                record = f"benchmark:{benchmark.public_id}"
                action.changes.append({"record": record, "field": name, "before": before, "after": value})
                setattr(benchmark, name, value)
        benchmark.save(update_fields=list(new))
        action.write()


def write_wording(benchmark: Benchmark, name: str, text: str, *, based_on: int, by: User) -> PromptVersion | None:
    """Save the benchmark's own version of a prompt; a blank text restores the shipped one. Returns None if the text is
    unchanged.

    ``based_on`` is the number of the version that was edited, 0 for the shipped one. Raises NotAllowedError by the
    rules, BadValueError for an unusable prompt, StaleWordingError if another was saved in between.
    """
    from pipeline.catalogue import BadPromptError, check_wording, shipped

    text = text.replace("\r\n", "\n").replace("\x00", "").strip()
    if len(text) > MAX_WORDING:
        raise BadValueError(f"A wording can have at most {MAX_WORDING:,} characters; this one has {len(text):,}.")
    try:
        standard = shipped(name)
        if text:
            check_wording(name, text)
    except BadPromptError as error:
        raise BadValueError(str(error)) from None
    if text == standard.text.strip():
        text = ""
    with transaction.atomic():
        rules.check_manage(by, benchmark)
        lock_benchmark(benchmark.pk)  # one version at a time
        newest = PromptVersion.objects.filter(benchmark=benchmark, name=name).order_by("-number").first()
        if text == (newest.text.strip() if newest else ""):
            return None
        if newest is not None and newest.number != based_on:
            raise StaleWordingError(newest)
        version = PromptVersion.objects.create(
            benchmark=benchmark,
            name=name,
            number=newest.number + 1 if newest else 1,
            text=f"{text}\n" if text else "",
            created_by=by,
        )
        what = f"wording {version.number}" if text else "restored the shipped wording"
        Action(name="write-prompt", by=by, benchmark=benchmark, reason=f"{name}: {what}").write()
    return version
