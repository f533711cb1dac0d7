"""The irregularities that are counted, each in the words that a person reads; their keys are those of the JSON."""

from __future__ import annotations

IRREGULARITIES = {
    "revised_claims_longer_than_claims": "sentences without claims, released with a revised claim left over",
    "revised_decontext_is_list": "sentences released with an empty list instead of a revised text",
    "blank_decontext": "sentences without a decontextualised form",
    "blank_revised_claim": "claims that the revision leaves blank: they are deleted",
    "stances_not_five": "claims that do not have exactly five stances (those that are not checked have none)",
    "claims_with_repeated_evidence": "claims for which the same passage was found twice",
    "evidence_with_NUL": "passages released with a NUL character",
    "enough_no_but_no_human_text": "claims that automatic evidence cannot decide, without evidence that people added",
    "enough_yes_with_human_text": "claims that automatic evidence decides, with evidence that people added",
    "edit_yes_text_unchanged": "false claims whose text was not changed",
    "not_edit_text_changed": "claims that needed no edit, released with another text",
    "edit_yes_without_evidence_index": "false claims that name no passage which the edit rests on",
}
