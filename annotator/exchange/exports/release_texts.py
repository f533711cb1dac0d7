"""The texts of a release for people: citation, changelog, license.

All of them are computed from rows alone, so the same release gives the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from annotator.core.vocabulary import GroupedBy
from annotator.exchange.models import Release
from annotator.exchange.releases.differences import difference_from

# The most common licenses of datasets, by their SPDX names (spdx.org/licenses).
LICENCES = (
    "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "CC0-1.0", "ODC-By-1.0", "ODbL-1.0", "Apache-2.0",
    "MIT",
)  # fmt: skip


# --- citing ---------------------------------------------------------------------------------------


def citation_cff(release: Release) -> str:
    """CITATION.cff, version 1.2.0 of the Citation File Format. Values are written as JSON texts, which YAML reads."""
    lines = [
        "cff-version: 1.2.0",
        "message: If you use this dataset, please cite it with its version.",
        "type: dataset",
        f"title: {_quoted(release.title)}",
        f"version: {_quoted(release.version)}",
        f"date-released: {_day(release)}",
        "authors:",
    ]
    for author in release.authors:
        family, given = _name(author)
        if given:
            lines += [f"  - family-names: {_quoted(family)}", f"    given-names: {_quoted(given)}"]
        else:
            lines.append(f"  - name: {_quoted(family)}")
    if release.licence in LICENCES:
        lines.append(f"license: {release.licence}")
    else:
        lines.append(f"license-url: {_quoted(release.licence)}" if "://" in release.licence else "")
    return "\n".join(line for line in lines if line) + "\n"


def citation(release: Release) -> str:
    """One line for a reference list."""
    names = "; ".join(release.authors)
    return f"{names} ({release.created_at.year}). {release.title}, version {release.version} [Dataset]."


def bibtex(release: Release) -> str:
    """A BibTeX entry, with the hash that identifies the files."""
    # BibTeX reads a name with a comma as "family, given"; braces keep other names whole.
    names = " and ".join(_tex(each) if _name(each)[1] else f"{{{_tex(each)}}}" for each in release.authors)
    key = re.sub(r"[^a-z0-9]+", "", f"{_name(release.authors[0])[0].lower()}{release.created_at.year}") or "dataset"
    fields = {
        "author": names,
        "title": f"{{{_tex(release.title)}}}",
        "year": str(release.created_at.year),
        "version": release.version,
        "note": f"Dataset, SHA-256 of its manifest:  {release.sha256}" if release.sha256 else "Data set",
    }
    rows = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{{key},\n{rows}\n}}\n"


def _name(author: str) -> tuple[str, str]:
    """ "Lovelace, Ada" as family and given name. A name without a comma stays whole."""
    family, _, given = author.partition(",")
    return family.strip(), given.strip()


def _tex(text: str) -> str:
    """Characters special to TeX, as plain ones; those without a plain form are dropped."""
    return re.sub(r"([&%$#_])", r"\\\1", re.sub(r"[\\{}^~]", "", text))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _day(release: Release) -> str:
    return release.created_at.date().isoformat()


# --- what changed ---------------------------------------------------------------------------------


def changes_of(release: Release) -> str:
    """The text its makers wrote, or a summary of the data if they wrote nothing."""
    if release.changelog.strip():
        return release.changelog.strip()
    if release.difference is None:
        return "The first release."
    return "\n".join(f"- {line}" for line in difference_from(release.difference).lines())


def changelog(releases: Sequence[Release]) -> str:
    """CHANGELOG.md of these releases, newest first."""
    parts = [f"# Changelog of {releases[0].title}"]
    for release in releases:
        mends = f"\n\nErratum: corrects {release.mends.version}." if release.mends else ""
        parts.append(f"## {release.version} ({_day(release)}){mends}\n\n{changes_of(release)}")
    return "\n\n".join(parts) + "\n"


# --- the rest -------------------------------------------------------------------------------------


def licence_note(release: Release) -> str:
    """LICENSE.txt: the license, and what it can't cover."""
    where = f"https://spdx.org/licenses/{release.licence}.html" if release.licence in LICENCES else ""
    lines = [
        f"{release.title}, version {release.version}",
        "",
        f"License of the annotations: {release.licence}",
        *([f"License text: {where}"] if where else []),
        "",
        "The license covers the annotations: labels, claims, edits, and revisions. Prompts, language model responses,",
        "and web page passages remain under the terms of their sources; each passage names its page.",
    ]
    return "\n".join(lines) + "\n"


def about_release(release: Release) -> str:
    """The end of README.md: how the splits were drawn, what else is included, and how to verify the files."""
    shares = f"{release.share_train}% train, {release.share_dev}% dev and {release.share_test}% test"
    lines = [
        "",
        f"## Version {release.version}",
        "",
        f"The splits were drawn with seed {release.seed}, with requested shares of {shares}.",
        "`splits.csv` lists the split of each document.",
    ]
    if release.grouped_by != GroupedBy.NOTHING:
        lines.append(f"Documents of one {GroupedBy(release.grouped_by).label.lower()} are in one split.")
    if release.keeps_splits_of:
        lines.append(f"Documents that were in version {release.keeps_splits_of.version} kept their splits.")
    if release.mends:
        lines.append(f"This version corrects an error in version {release.mends.version}: see CHANGELOG.md.")
    people = "username" if release.names_people else "pseudonyms"
    lines += [
        "",
        "| file | contents |",
        "|---|---|",
        "| `factcheck-bench/` | the documents in the released format of Factcheck-Bench, one file per split |",
        "| `data/` | the same as tables, one JSON Lines file per table and split |",
        "| `tables/` | the complete tables; `croissant.json` describes them |",
        f"| `touchstone.jsonl` | the full record, including each person's work; people by {people} |",
        f"| `soft-labels.jsonl` | every rater's own label of each item before adjudication; people by {people} |",
        "| `prov.jsonl` | where each label came from, as W3C PROV |",
        "| `CITATION.cff`, `CHANGELOG.md`, `LICENSE.txt` | how to cite it, what changed, the terms |",
        "",
        "`sha256sum -c MANIFEST.sha256` verifies every file. The hash of that file is the hash of the",
        "version.",
        "",
    ]
    return "\n".join(lines)
