"""Ranking by an embeddings endpoint and by a re-ranking endpoint."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.clients.base import RankRequest, ServiceError
from pipeline.clients.embeddings import EmbeddingsRanker
from pipeline.clients.http import Patience, open_client
from pipeline.clients.limiter import Limiter
from pipeline.clients.rerank import RerankRanker
from tests.contract.variants import variants
from tests.fakes.chat import FakeEmbeddings, FakeRerank
from tests.fakes.server import as_json, broken

QUERY = "When was the fort of Ema built?"
TEXTS = (
    "Bees dance in the hive.",
    "The fort of Ema was built in 1820.",
    "",
    "Ema has a market on Fridays, and a fort.",
)
QUICK = Patience(tries=3, total=10, first_pause=0.01)


def scores(
    kind: type[Any], url: str, texts: tuple[str, ...] = TEXTS, query: str = QUERY, **options: Any
) -> list[float]:
    async def main() -> list[float]:
        async with open_client() as client:
            ranker = kind(client, Limiter(8), url=url, **{"patience": QUICK, "model": "fake", **options})
            return list(await ranker.scores(RankRequest("test", query, texts)))

    return asyncio.run(main())


def assert_sensible(found: list[float]) -> None:
    assert len(found) == len(TEXTS)
    assert found[1] == max(found)
    assert found[2] == min(found)
    assert found[3] > found[0]


@pytest.fixture(params=variants("EMBEDDINGS_URL", "EMBEDDINGS_MODEL"))
def embeddings(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "real":
        yield {
            "url": os.environ["EMBEDDINGS_URL"],
            "key": os.environ.get("EMBEDDINGS_KEY", ""),
            "model": os.environ["EMBEDDINGS_MODEL"],
        }
        return
    with FakeEmbeddings() as server:
        yield {"url": server.url}


@pytest.fixture(params=[*variants("RERANK_URL"), "texts"])
def reranker(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "real":
        yield {
            "url": os.environ["RERANK_URL"],
            "key": os.environ.get("RERANK_KEY", ""),
            "model": os.environ.get("RERANK_MODEL", ""),
        }
        return
    with FakeRerank("texts" if request.param == "texts" else "documents") as server:
        yield {"url": server.url}


def test_embeddings_rank_by_meaning(embeddings: dict[str, Any]) -> None:
    assert_sensible(scores(EmbeddingsRanker, **embeddings))


def test_a_re_ranker_ranks_by_meaning(reranker: dict[str, Any]) -> None:
    assert_sensible(scores(RerankRanker, **reranker))


def test_embeddings_go_in_batches_each_text_once() -> None:
    texts = tuple(f"Text number {number} of the fort" for number in range(150))
    with FakeEmbeddings() as server:
        found = scores(EmbeddingsRanker, server.url, (*texts, texts[5], QUERY))
        sent = [call.json()["input"] for call in server.calls]
    assert sorted(len(batch) for batch in sent) == [23, 64, 64]
    assert len({text for batch in sent for text in batch}) == 151
    assert found[5] == found[150]
    assert found[151] == pytest.approx(1)
    assert all(-1.000001 <= each <= 1.000001 for each in found)


def test_re_ranking_goes_in_batches_of_what_servers_take() -> None:
    texts = (*(f"Text {number} of the fort" for number in range(70)), QUERY)
    with FakeRerank("texts") as server:
        found = scores(RerankRanker, server.url, texts)
    assert len(found) == 71
    assert found[70] == max(found)


def test_which_form_a_re_ranker_takes_is_remembered() -> None:
    with FakeRerank("texts") as server:
        scores(RerankRanker, server.url)
        scores(RerankRanker, server.url)
        assert ["texts" in call.json() for call in server.calls] == [False, True, True]


def test_long_texts_are_cut_and_blank_queries_not_asked() -> None:
    with FakeEmbeddings() as embeddings, FakeRerank() as reranker:
        scores(EmbeddingsRanker, embeddings.url, ("word " * 50_000,))
        scores(RerankRanker, reranker.url, ("word " * 50_000,))
        assert all(len(call.body) < 20_000 for server in (embeddings, reranker) for call in server.calls)
        assert scores(EmbeddingsRanker, embeddings.url, query=" ") == [0, 0, 0, 0]
        assert scores(RerankRanker, reranker.url, query=" ") == [0, 0, 0, 0]
        assert scores(EmbeddingsRanker, embeddings.url, ()) == scores(RerankRanker, reranker.url, ()) == []
        assert (len(embeddings.calls), len(reranker.calls)) == (1, 1)


@pytest.mark.parametrize(
    "answer",
    [{"data": []}, {"data": [{"index": 0, "embedding": [1]}] * 2}, [], {"data": [{"index": 0, "embedding": "AAAA"}]}],
)
def test_embeddings_of_another_form_say_what_to_check(answer: object) -> None:
    with FakeEmbeddings() as server:
        server.first(as_json(answer))
        with pytest.raises(ServiceError, match=r"one embedding for each.*EMBEDDINGS_MODEL"):
            scores(EmbeddingsRanker, server.url)


@pytest.mark.parametrize(
    "answer", [{"results": [{"index": 0, "relevance_score": 1}]}, {}, {"results": [{"index": 0, "score": "high"}]}, 5]
)
def test_scores_of_another_form_say_what_to_check(answer: object) -> None:
    with FakeRerank() as server:
        server.first(as_json(answer))
        with pytest.raises(ServiceError, match=r"one score for each of 3 texts.*RERANK_URL"):
            scores(RerankRanker, server.url)


def test_faults_are_tried_again() -> None:
    with FakeEmbeddings() as embeddings, FakeRerank() as reranker:
        embeddings.first(broken())
        reranker.first(broken(503))
        assert_sensible(scores(EmbeddingsRanker, embeddings.url))
        assert_sensible(scores(RerankRanker, reranker.url))
