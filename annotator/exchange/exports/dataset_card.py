"""The dataset card: README.md with a YAML header for the Hugging Face hub, and a description of the data in Markdown.

Every figure comes from ``CardCounts`` or ``CardFacts``; the card says what is unknown. Its structure follows the hub's
template, https://huggingface.co/docs/hub/datasets-cards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from annotator.core.vocabulary import DiscardReason, Stage
from annotator.exchange.exports.card_counts import DISTRIBUTIONS, CardCounts
from annotator.exchange.exports.card_head import DEFAULT_TABLE, head_of, splits_with_rows
from annotator.exchange.formats.about import About
from annotator.exchange.queries.dataset_card import BY_IMPORT, CardFacts, UsedPipeline
from annotator.exchange.tables.table_columns import TABLES
from pipeline.metrics.agreement import Estimate

CARD = "README.md"

_THINGS = {
    "documents": ("document",),
    "sentences": ("sentence",),
    "claims": ("claim",),
    "evidence": ("passage of evidence", "passages of evidence"),
    "edits": ("edit",),
}
_SHOWN = 20  # sources or models listed


def card(about: About, facts: CardFacts, counts: CardCounts) -> str:
    """The whole file."""
    sections = [
        f"# {_plain(about.title)}",
        about.description.strip() or "Language model responses, fact-checked claim by claim.",
        _summary(counts),
        "## Loading the dataset",
        _loading(counts),
        "## Tables",
        _tables(counts),
        "## Labels",
        *_labels(counts),
        "## Sources",
        _origins(counts),
        *_discards(facts),
        "## Annotation process",
        *_process(facts),
        "## Inter-annotator agreement before adjudication",
        _agreement(facts),
        "## Known irregularities",
        _irregularities(facts),
        "## License and citation",
        _licence(about),
        *_canary(about),
    ]
    return head_of(about, counts) + "\n\n".join(sections) + "\n"


# --- sections -------------------------------------------------------------------------------------


def _canary(about: About) -> list[str]:
    if not about.canary:
        return []
    return [
        "## Canary string",
        "This data is for evaluation and should not be in training data. A text that contains this string contains "
        f"this release:\n\n    {about.canary}",
    ]


def _summary(counts: CardCounts) -> str:
    numbers = ", ".join(_count(counts.rows[name].total(), *things) for name, things in _THINGS.items())
    return (
        f"This dataset contains {numbers}. Each response is split into sentences and atomic claims; each "
        f"check-worthy claim "
        "has passages with their stance, a verdict, and, if it is false, the edits that correct it. "
        "The steps and labels follow Factcheck-Bench (Wang et al., 2024)."
    )


def _loading(counts: CardCounts) -> str:
    splits = splits_with_rows(counts, DEFAULT_TABLE)
    if not splits:
        return "There is nothing to load yet because no document is gold."
    return (
        "```python\nfrom datasets import load_dataset\n\n"
        f'claims = load_dataset("path/to/this/folder", "{DEFAULT_TABLE}", split="{splits[0]}")\n```\n\n'
        f"Configurations: {', '.join(f'`{table.name}`' for table in TABLES if splits_with_rows(counts, table.name))}. "
        "Rows are joined by `document_id`, `sentence_id` and `claim_id`, which stay the same in every export."
    )


def _tables(counts: CardCounts) -> str:
    rows = [
        [f"`{table.name}`", table.description, *(f"{counts.rows[table.name][split]:,}" for split in counts.splits)]
        for table in TABLES
    ]
    return _table(["table", "a row is", *counts.splits], rows)


def _labels(counts: CardCounts) -> list[str]:
    found = []
    for name, heading in DISTRIBUTIONS.items():
        labels = counts.labels[name]
        if labels:
            total = sum(each.total() for each in labels.values())
            rows = [
                [f"`{label}`", *(f"{each[split]:,}" for split in counts.splits), f"{each.total() / total:.1%}"]
                for label, each in sorted(labels.items(), key=lambda pair: -pair[1].total())
            ]
            found.append(f"### {heading}\n\n" + _table(["label", *counts.splits, "share"], rows))
    return found or ["No documents, no labels."]


def _origins(counts: CardCounts) -> str:
    found = [
        f"{what}: " + ", ".join(f"{_plain(name)} ({number:,})" for name, number in counter.most_common(_SHOWN)) + "."
        for what, counter in (("Prompts from", counts.sources), ("Responses by", counts.models))
        if counter
    ]
    return (
        "\n\n".join(found)
        or "The documents do not record the source of their prompts or the model that wrote the responses."
    )


def _process(facts: CardFacts) -> list[str]:
    made_here = facts.gold - facts.imported
    found = []
    if facts.imported:
        found.append(f"{_count(facts.imported, 'document')} labeled elsewhere and imported as adjudicated.")
    if made_here:
        people = (
            "one annotator" if facts.overlap == 1 else f"{facts.overlap} annotators independently, blind to each other"
        )
        then = "" if facts.overlap == 1 else ", who then adjudicated every difference and signed off"
        third = " An adjudicator signs off every verify stage." if facts.third_rater_at_verify else ""
        found.append(
            f"{_count(made_here, 'document')} labeled in Touchstone, each at three stages (decompose, verify, revise) "
            f"by {people}{then}.{third} Team: {_count(facts.annotators, 'annotator')}"
            + (f" and {_count(facts.third_raters, 'adjudicator')}." if facts.third_raters else ".")
        )
    if facts.blind_first:
        found.append(
            f"On {_count(facts.blind_first, 'document')} annotators labeled first and saw the suggestion afterward."
        )
    found.append("### Guidelines\n\n" + _guidelines(facts))
    found.append("### Pipeline suggestions\n\n" + _pipelines(facts.pipelines))
    return found


def _guidelines(facts: CardFacts) -> str:
    if not facts.guidelines:
        return "No guidelines were recorded."
    rows = [
        [f"[{each.number}](guidelines/version-{each.number}.md)", f"{each.published:%Y-%m-%d}", f"{each.annotations:,}"]
        for each in facts.guidelines
    ]
    return _table(["version", "published", "annotations"], rows)


def _pipelines(pipelines: Sequence[UsedPipeline]) -> str:
    """Which machines suggested what. People decide on each suggestion, and its origin is kept with every label."""
    used = [each for each in pipelines if each.strategy != BY_IMPORT]
    if not used:
        return "None: the pipeline did not run on these documents."
    rows = [
        [
            Stage(each.stage).label,
            _code(each.strategy),
            _code(each.model),
            ", ".join(_code(f"{name}={json.dumps(value)}") for name, value in each.parameters.items()),
            ", ".join(f"{_plain(name)} ({_plain(wording)})" for name, wording in each.prompts.items()),
            f"{each.documents:,}",
        ]
        for each in used
    ]
    heads = ["stage", "strategy", "model", "parameters", "prompts", "documents"]
    return (
        _table(heads, rows)
        + "\n\nAnnotators see each suggestion and accept, change, or remove it; factuality is never preselected."
    )


def _agreement(facts: CardFacts) -> str:
    report = facts.agreement
    if not report.documents:
        return "Not measured: no document in this benchmark was labeled independently by two annotators."
    rows = [
        [
            each.field.label,
            f"{each.figures.items:,}",
            *(_estimate(getattr(each.figures, name)) for name in ("percent", "alpha", "ac1")),
        ]
        for stage in report.stages
        for each in stage.labels
    ]
    parts = [
        f"Over {_count(report.documents, 'document')} labeled independently by several annotators, with the 95% "
        "confidence interval (from resampling documents) in parentheses. This covers the whole benchmark, which "
        "may have more documents than this dataset.",
        _table(["what", "items", "same label", "Krippendorff’s alpha", "Gwet’s AC1"], rows),
    ]
    parts += [
        f"Claims: F1 {_estimate(stage.claims.f1)} between the claims of two annotators."
        for stage in report.stages
        if stage.claims is not None
    ]
    return "\n\n".join(parts)


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def _discards(facts: CardFacts) -> list[str]:
    """Documents that left the benchmark, by reason; nothing where there are none."""
    if not facts.discards:
        return []
    rows = [[DiscardReason(code).label, f"{number:,}"] for code, number in facts.discards.items()]
    total = sum(facts.discards.values())
    told = f"{_count(total, 'document')} left the benchmark during annotation, for these reasons."
    return ["## Discarded documents", told, _table(["reason", "documents"], rows)]


def _irregularities(facts: CardFacts) -> str:
    if not facts.irregularities:
        return "Touchstone found no known irregularities."
    rows = [[_code(name), f"{number:,}"] for name, number in facts.irregularities.items()]
    return "For definitions, see docs/formats/statistics.md in Touchstone.\n\n" + _table(["what", "count"], rows)


def _licence(about: About) -> str:
    licence = (
        f"License: {_plain(about.licence)}." if about.licence else "No license was given. Ask the authors before use."
    )
    key = re.sub(r"\W+", "-", about.name).strip("-") or "dataset"
    fields = {
        "title": _bibtex(about.title),
        # BibTeX reads a name with a comma as "family, given"; braces keep other names whole.
        "author": " and ".join(_bibtex(each) if "," in each else f"{{{_bibtex(each)}}}" for each in about.authors),
        "year": f"{about.published:%Y}" if about.published else "",
        "version": _bibtex(about.version),
        "url": _bibtex(about.url),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return f"{licence} Web page passages remain under the rights of their owners.\n\n" + "\n".join(
        ["```bibtex", f"@misc{{{key},", *lines, "}", "```"]
    )


# --- words ----------------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _plain(text: str) -> str:
    """Someone's text on one line, with characters escaped that Markdown or a table would interpret."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """The same as code; blank stays blank."""
    shown = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return f"`{shown}`" if shown else ""


def _bibtex(text: str) -> str:
    return re.sub(r"([#$%&_{}])", r"\\\1", " ".join(text.split()))


def _count(number: int, one: str, more: str = "") -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {more or one + 's'}"
