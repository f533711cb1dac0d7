"""Blindness: who sees whose work, as one pure function."""

from __future__ import annotations

from annotator.core.vocabulary import Phase


def sees_annotation(
    *, is_own: bool, phase: str, stage_is_over: bool, everyone_submitted: bool, is_member: bool
) -> bool:
    """May a viewer see an annotation?

    One's own, always. Another person's only after everyone assigned to that document and stage has submitted
    (``everyone_submitted``) or the stage is adjudicated (``stage_is_over``), and never in a document that was discarded
    before that. The same rule protects the adjudicated version: while open, it shows what annotators said, and someone
    may still label again if an annotator has left.
    """
    if is_own:
        return True
    if not is_member:
        return False
    if stage_is_over:
        return True
    return everyone_submitted and phase != Phase.DISCARDED


def sees_flags(*, is_own: bool, manages: bool, phase: str) -> bool:
    """May a viewer see who flagged a document, the reason, and the note?

    The author and managers, always. Everyone else only after all have submitted: until then, a flag reveals what a
    partner thinks of the document.
    """
    return is_own or manages or phase in {Phase.CONSOLIDATING, Phase.AGREED}
