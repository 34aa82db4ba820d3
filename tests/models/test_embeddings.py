from __future__ import annotations

import json
import math
from importlib.util import find_spec
from pathlib import Path

import pytest

from promptls.models.masking import key_mask
from promptls.models.model import ModelError, ModelReference
from promptls.models.model_names import find_embeddings
from promptls.models.opening import check_embeddings, open_embeddings
from support.model_server import ModelServer, Reply

needs_minilm = pytest.mark.skipif(
    find_spec("all_minilm_l6_v2") is None or find_spec("tokenizers") is None,
    reason="the embedding model is not installed",
)


def vectors_of(*vectors: list[float]) -> Reply:
    data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    # Nothing promises an order.
    return Reply(raw=json.dumps({"data": data[::-1], "usage": {"prompt_tokens": 7}}).encode())


async def embedded(reference: ModelReference, *texts: str) -> list[list[float]]:
    model = open_embeddings(reference, rate_limiter=None, mask=key_mask(), timeout=20)
    try:
        return (await model.embed(texts)).vectors
    finally:
        await model.close()


def behind(server: ModelServer) -> ModelReference:
    return ModelReference("office", "openai", "embedder", base_url=server.url)


@needs_minilm
@pytest.mark.model
async def test_texts_of_one_meaning_are_near_each_other() -> None:
    texts = ["That is a happy person", "That is a very happy person", "Today is a sunny day", ""]
    happy, happier, sunny, empty = await embedded(find_embeddings(None), *texts)

    def cosine(one: list[float], other: list[float]) -> float:
        return sum(a * b for a, b in zip(one, other, strict=True))

    # The numbers that the model's own page gives for these sentences.
    assert cosine(happy, happier) == pytest.approx(0.943, abs=2e-3)
    assert cosine(happy, sunny) == pytest.approx(0.257, abs=2e-3)
    assert math.hypot(*empty) == pytest.approx(1)


async def test_a_server_is_asked_for_vectors_in_the_order_of_the_texts(server: ModelServer) -> None:
    server.queue = [vectors_of([1, 0], [0, 1])]
    assert await embedded(behind(server), "one", "two") == [[1, 0], [0, 1]]
    assert server.paths == ["/v1/embeddings"]
    assert server.requests == [{"model": "embedder", "input": ["one", "two"]}]


async def test_a_busy_server_is_asked_again(server: ModelServer) -> None:
    server.queue = [Reply(status=429, headers={"Retry-After": "0"}), vectors_of([1, 0])]
    assert await embedded(behind(server), "one") == [[1, 0]]


@pytest.mark.parametrize("content", [b"{}", b"no JSON", b'{"data": [{"index": 0}]}', b'{"data": []}'])
async def test_an_invalid_list_of_vectors_is_reported(server: ModelServer, content: bytes) -> None:
    server.queue = [Reply(raw=content)]
    with pytest.raises(ModelError, match="not a list of embeddings"):
        await embedded(behind(server), "one")


@pytest.mark.parametrize("name", ["echo", "anthropic:claude-haiku-4-5"])
def test_a_model_that_only_answers_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match="is not an embedding model"):
        check_embeddings(find_embeddings(name, base=Path()))
