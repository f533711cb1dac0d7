"""The irregularities that are counted, described for people. Their keys are those in the JSON."""

from __future__ import annotations

IRREGULARITIES = {
    "revised_claims_longer_than_claims": "sentences without claims, released with a leftover revised claim",
    "revised_decontext_is_list": "sentences released with an empty list instead of a revised text",
    "blank_decontext": "sentences without a decontextualized form",
    "blank_revised_claim": "claims left blank in the revision (deleted)",
    "stances_not_five": "claims without exactly five stances (claims that are not check-worthy have none)",
    "claims_with_repeated_evidence": "claims with the same passage retrieved twice",
    "evidence_with_NUL": "passages released with a NUL character",
    "enough_no_but_no_human_text": "claims with insufficient automatic evidence and no evidence added by people",
    "enough_yes_with_human_text": "claims with sufficient automatic evidence and evidence added by people",
    "edit_yes_text_unchanged": "false claims with unchanged text",
    "not_edit_text_changed": "claims that needed no edit, released with a different text",
    "edit_yes_without_evidence_index": "false claims whose edit cites no evidence",
}
