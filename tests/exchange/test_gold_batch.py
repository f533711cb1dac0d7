"""A batch of gold is made without the database: rows for each table, which name one another by number."""

from __future__ import annotations

from annotator.core.models import Annotation, Claim, Document, Evidence, ResponseRevision, Sentence, Stance
from annotator.exchange.actions.imported_rows import COLUMNS, MEANT, GoldBatch
from annotator.exchange.formats.factcheck_bench_reader import parse
from tests.released import numbered


def test_rows_name_one_another_by_number() -> None:
    batch = GoldBatch([parse(numbered(number), number + 1) for number in range(3)])
    counts = {model: {len(values) for values in columns.values()} for model, columns in batch.columns.items()}
    assert len(batch) == 3
    assert (counts[Document], counts[Annotation]) == ({3}, {9})
    for model, names in COLUMNS.items():
        columns = batch.columns[model]
        assert tuple(columns) == names
        [count] = counts[model]
        assert count, f"the made-up document has no {model.__name__}"
        for name in columns.keys() & MEANT:
            [there] = counts[MEANT[name]]
            assert set(columns[name]) - {None} <= set(range(there))


def test_evidence_belongs_to_its_claim() -> None:
    one, two = (parse(numbered(number), 1) for number in (1, 2))
    batch = GoldBatch([one, two])
    claims = [claim for row in (one, two) for sentence in row.sentences for claim in sentence.claims]
    evidence = batch.columns[Evidence]
    owned = list(zip(evidence["claim_id"], evidence["passage"], strict=True))
    for number, claim in enumerate(claims):
        assert [passage for owner, passage in owned if owner == number] == [
            each.passage for each in (*claim.retrieved, *claim.added)
        ]
    assert len(batch.columns[Claim]["text"]) == len(claims)
    assert len(batch.columns[Sentence]["text"]) == len(one.sentences) + len(two.sentences)
    assert len(batch.columns[Stance]["label"]) == sum(
        bool(each.stance) for claim in claims for each in (*claim.retrieved, *claim.added)
    )


def test_a_table_without_rows_has_no_columns() -> None:
    document = parse(numbered(1), 1)
    document.sentences.clear()
    batch = GoldBatch([document])
    assert set(batch.columns) == {Document, Annotation, ResponseRevision}
