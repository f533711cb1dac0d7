"""What people ask for in benchmarks/web.py, on the data of benchmarks/web_data.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.urls import NoReverseMatch, reverse

from annotator.core.models import Annotation, Claim, Document, Stance
from annotator.core.vocabulary import AnnotationState
from benchmarks import web_data
from benchmarks.web_client import Ask, Scene


def address(name: str, *arguments: str) -> str | None:
    """A path of the application; None if there is no such screen yet."""
    try:
        return reverse(name, args=arguments)
    except NoReverseMatch:
        return None


class Scenes:
    """All of them. ``read`` gets a page (user name, path), where a scene needs to know what stands on it."""

    def __init__(self, groups: int, read: Callable[[str, str], str]) -> None:
        self.read = read
        self.at_screens = web_data.AT_SCREENS % groups
        special = {web_data.FOLLOWING, self.at_screens, groups - 1}
        self.plain = [number for number in range(groups) if number not in special] or [0]
        self.last = groups - 1
        self.can_agree = address("agree", "document", "verify") is not None

    def all(self) -> list[Scene]:
        me, partner = self._one(self.at_screens, "a"), self._one(self.at_screens, "b")
        following, done = self._one(web_data.FOLLOWING, "a"), self._one(self.last, "a")
        plain = self._any_plain

        def owner(_: int) -> str:
            return web_data.OWNER

        listed = f"/b/{web_data.SLUG}/documents/"
        return [
            Scene("next: a new document", plain("a"), self._next(plain("a")), 50),
            Scene("next: one's own, verify", following, self._next(following), 50),
            Scene("next: to be agreed", plain("b"), self._next_to_agree(plain("b")), 50),
            Scene("next: nothing is left", done, self._next(done), 50),
            Scene("open decompose", me, self._screen("decompose", "decompose-open"), 50),
            Scene("open verify", me, self._screen("verify", "verify-open"), 50),
            Scene("save in decompose", me, self._save_in_decompose, 50),
            Scene("save in verify", me, self._save_in_verify, 50),
            Scene("consolidate decompose", partner, self._agree("decompose")),
            Scene("consolidate verify", partner, self._agree("verify")),
            Scene("consolidate: look for changes", partner, self._poll("verify", partner)),
            Scene("dashboard, owner", owner, self._page("benchmark"), 200),
            Scene("dashboard, nothing kept", owner, self._page("benchmark", forget=True), 200, 20),
            # What that page fetches when it is there, and what the first look after a minute has counted.
            Scene("dashboard, counted anew", owner, self._figures, most_rounds=20),
            Scene("agreement, owner", owner, self._page("agreement")),
            Scene("agreement, made anew", owner, self._page("agreement", forget=True), most_rounds=3),
            Scene("documents, first page", owner, lambda _: Ask(listed)),
            Scene("documents, far page", owner, self._far_page(listed)),
            Scene("documents, a stage", owner, lambda _: Ask(f"{listed}?stage=verify")),
            Scene("documents, searched", owner, lambda _: Ask(f"{listed}?q=as+of+no+known+year")),
            Scene("My work, annotator", plain("a"), lambda _: Ask("/")),
            Scene("My work, much to agree", plain("b"), self._my_work_to_agree),
            Scene("My work, third rater", plain("third"), self._my_work_to_agree),
            Scene("My work, nothing is left", done, lambda _: Ask("/")),
        ]

    def _one(self, group: int, seat: str) -> Callable[[int], str]:
        return lambda _: web_data.username(group, seat)

    def _any_plain(self, seat: str) -> Callable[[int], str]:
        """Another group's person in every round."""
        return lambda number: web_data.username(self.plain[number % len(self.plain)], seat)

    def _page(self, name: str, *, forget: bool = False) -> Callable[[int], Ask | None]:
        path = address(name, web_data.SLUG)
        return lambda _: Ask(path, forget=forget) if path else None

    def _figures(self, _: int) -> Ask | None:
        path = address("benchmark", web_data.SLUG)
        return Ask(f"{path}?part=figures", is_fragment=True, forget=True) if path else None

    def _far_page(self, listed: str) -> Callable[[int], Ask]:
        keys = list(Document.objects.order_by("pk").values_list("pk", flat=True))
        return lambda _: Ask(f"{listed}?after={keys[len(keys) * 9 // 10]}")

    def _next(self, who: Callable[[int], str]) -> Callable[[int], Ask]:
        """Take a place; afterwards it is given up again."""

        def ask(number: int) -> Ask:
            opened = Annotation.objects.filter(person__username=who(number), state=AnnotationState.OPEN)

            def give_up() -> None:
                opened.delete()

            return Ask("/next/", {}, after=give_up)

        return ask

    def _next_to_agree(self, who: Callable[[int], str]) -> Callable[[int], Ask | None]:
        """Leads to the consolidation screen and takes no place."""
        return lambda number: self._next(who)(number) if self.can_agree else None

    def _my_work_to_agree(self, _: int) -> Ask | None:
        """The page links to the consolidation screen."""
        return Ask("/") if self.can_agree else None

    def _document(self, scene: str, number: int) -> Document:
        return Document.objects.get(external_id=f"{scene}-{number % web_data.TYPICAL + 1}")

    def _screen(self, name: str, scene: str) -> Callable[[int], Ask | None]:
        def ask(number: int) -> Ask | None:
            path = address(name, self._document(scene, number).public_id)
            return Ask(path) if path else None

        return ask

    def _agree(self, stage: str) -> Callable[[int], Ask | None]:
        def ask(number: int) -> Ask | None:
            path = address("agree", self._document(f"{stage}-agree", number).public_id, stage)
            return Ask(path) if path else None

        return ask

    def _poll(self, stage: str, who: Callable[[int], str]) -> Callable[[int], Ask | None]:
        """The address that the consolidation screen itself asks every second or two."""
        asks: dict[int, Ask] = {}

        def ask(number: int) -> Ask | None:
            place = number % web_data.TYPICAL
            if place not in asks:
                page = self._agree(stage)(place)
                if page is None:
                    return None
                path = polled(self.read(who(number), page.path), page.path)
                if path is None:
                    return None
                asks[place] = Ask(path, is_fragment=True)
            return asks[place]

        return ask

    def _save_in_decompose(self, number: int) -> Ask:
        """The importance of a claim, to and fro."""
        claims = Claim.objects.filter(sentence__annotation__document=self._document("decompose-open", number))
        claim = claims.order_by("pk")[abs(number) % claims.count()]
        return _save(claim, "claim", "importance", "less" if claim.importance == "most" else "most")

    def _save_in_verify(self, number: int) -> Ask:
        """The stance of a passage, to and fro."""
        stances = Stance.objects.filter(annotation__document=self._document("verify-open", number))
        stance = stances.order_by("pk")[abs(number) % stances.count()]
        return _save(stance, "stance", "label", "irrelevant" if stance.label == "refute" else "refute")


def _save(record: Any, kind: str, name: str, value: str) -> Ask:
    data = {"field": name, "value": value, "version": str(record.version), "active_seconds": "3"}
    return Ask(f"/save/{kind}:{record.public_id}/", data, is_fragment=True)


def polled(page: str, here: str) -> str | None:
    """The address that an element of the page asks again and again (hx-trigger "every …"), with what it sends along
    (hx-include of one hidden field); None if none does."""
    for tag in re.findall(r"<[^>]*\shx-trigger=\"[^\"]*every [^>]*>", page):
        path, included = _attribute(tag, "hx-get"), _attribute(tag, "hx-include")
        if not path:
            continue
        for field in re.findall(r"<input[^>]*>", page):
            if included == f"#{_attribute(field, 'id')}":
                path += f"&{_attribute(field, 'name')}={_attribute(field, 'value')}"
        return path if path.startswith("/") else here + path
    return None


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf'\s{name}="([^"]*)"', tag)
    return found[1].replace("&amp;", "&") if found else ""
