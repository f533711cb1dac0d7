"""Studies: protocols, items with their parts, and people's answers."""

from annotator.core.record_keys import register
from annotator.studies.models.answer import StudyActivity, StudyAnswer, StudyAssignment
from annotator.studies.models.study import Study, StudyItem, StudyPart, StudyRater

# The history refers to answers by key, like to all other records.
register("answer", StudyAnswer)

__all__ = [
    "Study",
    "StudyActivity",
    "StudyAnswer",
    "StudyAssignment",
    "StudyItem",
    "StudyPart",
    "StudyRater",
]
