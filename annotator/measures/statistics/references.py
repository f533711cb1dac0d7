"""The paper's figures for its own 94 documents and for other benchmarks, to compare with."""

from __future__ import annotations

from dataclasses import dataclass

PAPER = "Factcheck-Bench"


@dataclass(frozen=True, slots=True)
class OtherBenchmark:
    """A row of Table 8. ``length``: mean number of words per response; ``revision``: is there a corrected text?"""

    name: str
    granularity: str
    revision: str
    length: float
    size: int


OTHER_BENCHMARKS = (
    OtherBenchmark("HaluEval", "document", "no", 82.0, 4507),
    OtherBenchmark("FELM-WK", "segment", "no", 51.1, 184),
    OtherBenchmark("FactPrompts", "claim", "no", 41.8, 50),
    OtherBenchmark("Factcheck-GPT", "claim", "yes", 73.1, 94),
)

# By table (``annotator.measures.statistics.tables``): where the paper reports it, and its figures.
REFERENCES = {
    "sizes": "Table 1: 94 documents, 311 sentences (277 check-worthy), 678 claims (661 check-worthy), 3,305 passages",
    "factuality": "section 3.3: 61 false, 31 true, 2 without check-worthy claims, by the first rule",
    "false-claims": "section 3.3: 53 of 94 responses with a false claim, 6 with more than five",
    "sources": "Table 2: 38 of 39 in-house, 16 of 30 closed and 8 of 25 open questions false",
    "sentences": "appendix B.4: most responses have 2 to 5 sentences, the longest 9",
    "sentence-importance": "appendix B.4: 142 most, 121 intermediate, 48 not important",
    "sentence-types": "appendix B.4: 278 check-worthy, 16 other, 12 opinion, 5 not a claim",
    "claim-types": "section 3.3: 661 factual, 16 opinions, 1 not a claim",
    "claim-importance": "section 3.3: 419 most, 227 intermediate, 32 not important",
    "evidence-enough": "section 3.3: enough for 439 of 661 claims",
    "stances": "appendix B.4: 2,057 of 3,305 passages irrelevant",
    "needs-edit": "section 3.3: 159 of 661 false, 30 undetermined",
    "unsettled": "section 3.3: of 222 claims 125 true, 76 false, 21 undetermined",
    "stances-by-evidence": "appendix B.4: 690 complete support and 150 refute where it sufficed, 17 of both where not",
    "revision": "section 3.3: edit distance 0.354, word overlap 0.715 over 61 false responses",
    "constants": "Table 3: accuracy 0.891 for sentences, 0.975 for claims. Table 5 prints precision 0.81 for always "
    "true; its own counts in section 3.3 (472 true, 159 false) give 0.75",
}
