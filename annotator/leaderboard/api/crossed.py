"""Two systems' errors crossed, and one item of the gold with all that people and systems said of it."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.core import rules
from annotator.core.queries.pseudonyms import Keys
from annotator.core.vocabulary import Task
from annotator.integrations.api.fields import Input, word
from annotator.integrations.api.problems import ConflictError
from annotator.integrations.api.schema import operation
from annotator.leaderboard.api.evaluations import TAG, ScoringView
from annotator.leaderboard.queries.crossed import NotKeptError, crossed
from annotator.leaderboard.queries.evaluations import comparable
from annotator.leaderboard.queries.item import TASKS, GoldItem, Rating, item_of
from annotator.leaderboard.queries.scoring import gold_fingerprint
from annotator.leaderboard.scoring.crossing import Cell


class CrossedQuery(Input):
    """The other system, and which items."""

    against = serializers.CharField(max_length=32, help_text="The id of another upload.")
    cell = word(Cell, may_be_blank=True, default="")
    gold = serializers.CharField(max_length=60, allow_blank=True, default="", help_text="Only items with this label.")
    start = serializers.IntegerField(min_value=0, max_value=10**9, default=0)
    size = serializers.IntegerField(min_value=1, max_value=200, default=50)


class CrossedItemSerializer(serializers.Serializer):
    """An item that not both systems got right."""

    key = serializers.CharField(source="wrong.key")
    document = serializers.CharField(source="wrong.document")
    position = serializers.CharField(source="wrong.position")
    gold = serializers.CharField(source="wrong.gold")
    first = serializers.CharField()
    second = serializers.CharField()
    cell = word(Cell)


class CrossedSerializer(serializers.Serializer):
    """``table``: items by gold label and cell, of those that both answered; then some items of ``total``."""

    table = serializers.DictField(child=serializers.DictField(child=serializers.IntegerField()))
    total = serializers.IntegerField()
    results = CrossedItemSerializer(many=True)


class CrossedView(ScoringView):
    @operation("evaluation_crossed", "Errors of two systems", TAG, query=CrossedQuery, answer=CrossedSerializer)
    def get(self, request: Request, slug: str, evaluation_id: str) -> Response:
        """409 unless both answer with labels and are scored on the same task with the same options, against the gold of
        today."""
        found, asked = self.evaluation(slug, evaluation_id), self.asked(CrossedQuery)
        self.evaluation(slug, asked["against"])
        others = comparable(self.person, found, today=gold_fingerprint(found.benchmark))
        other = next((each for each in others if each.public_id == asked["against"]), None)
        try:
            cell = Cell(asked["cell"]) if asked["cell"] else None
            table = crossed(found, other, cell=cell, gold=asked["gold"]) if other else None
        except (NotKeptError, FileNotFoundError):
            raise ConflictError("Score both systems again first: what crossing needs was not kept.") from None
        if table is None:
            raise ConflictError(
                "Only systems whose answers are labels, scored on the same task with the same options against the "
                "current gold, can be crossed."
            )
        shown = {
            "table": {gold: {cell.value: number for cell, number in row.items()} for gold, row in table.table.items()},
            "total": len(table.items),
            "results": table.items[asked["start"] : asked["start"] + asked["size"]],
        }
        return Response(CrossedSerializer(shown).data)


class RatingSerializer(serializers.Serializer):
    """A person's own label, blank where they gave none."""

    rater = serializers.CharField(help_text="A user name for owners and admins, else a pseudonym.")
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]
    independent = serializers.BooleanField()


class SystemAnswerSerializer(serializers.Serializer):
    """A system's answer, null for none; ``gold`` is blank where its options exclude the item."""

    evaluation = serializers.CharField()
    system = serializers.CharField()
    options = serializers.DictField()
    gold = serializers.CharField(allow_blank=True)
    answer = serializers.CharField(allow_null=True)


class ItemPassageSerializer(serializers.Serializer):
    """A passage of the claim; ``stance`` is the adjudicated one."""

    id = serializers.CharField()
    text = serializers.CharField()
    url = serializers.CharField(allow_blank=True)
    added = serializers.BooleanField(help_text="People added it; else it was retrieved.")
    stance = serializers.CharField(allow_blank=True)
    raters = RatingSerializer(many=True)


class GoldItemSerializer(serializers.Serializer):
    """One sentence, claim or passage with all that was said of it."""

    task = word(Task)
    id = serializers.CharField()
    document = serializers.CharField()
    text = serializers.CharField()
    context = serializers.CharField(allow_blank=True)  # type: ignore[assignment]
    gold = serializers.CharField(allow_blank=True)
    raters = RatingSerializer(many=True)
    systems = SystemAnswerSerializer(many=True)
    evidence = ItemPassageSerializer(many=True)


class ItemView(ScoringView):
    @operation("gold_item_read", "One item of the gold", TAG, answer=GoldItemSerializer)
    def get(self, request: Request, slug: str, task: str, item_id: str) -> Response:
        """With each rater's own label, each system's answer and, for a claim's factuality, the evidence."""
        benchmark = self.scored(slug)
        found = item_of(self.person, benchmark, Task(task), item_id) if task in TASKS else None
        if found is None:
            raise Http404
        keys = Keys(benchmark, named=rules.can_export_people(self.person, benchmark))
        return Response(GoldItemSerializer(_told(found, keys)).data)


def _told(found: GoldItem, keys: Keys) -> dict[str, object]:
    def ratings(given: Sequence[Rating]) -> list[dict[str, object]]:
        return [
            {"rater": keys.key(each.person.pk), "label": each.label, "independent": each.independent} for each in given
        ]

    return {
        "task": found.task,
        "id": found.key,
        "document": found.document.public_id,
        "text": found.text,
        "context": found.context,
        "gold": found.gold,
        "raters": ratings(found.raters),
        "systems": [
            {
                "evaluation": each.evaluation.public_id,
                "system": each.evaluation.system,
                "options": each.evaluation.options,
                "gold": each.gold,
                "answer": each.answer,
            }
            for each in found.systems
        ],
        "evidence": [
            {
                "id": each.passage.public_id,
                "text": each.passage.passage,
                "url": each.passage.url,
                "added": each.passage.annotation_id is not None,
                "stance": each.stance,
                "raters": ratings(each.ratings),
            }
            for each in found.evidence
        ],
    }
