"""The columns, which a real label has in ``annotator.models``."""

from __future__ import annotations

from annotator.core.models import Claim, ClaimSuggestion
from annotator.core.models.base import label_of, origin_field

Claim.add_to_class("tone", label_of("claim", "tone"))
Claim.add_to_class("tone_origin", origin_field())
ClaimSuggestion.add_to_class("tone", label_of("claim", "tone"))
