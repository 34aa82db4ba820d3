"""Usage that providers report about the prefix cache and about reasoning, and its cost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptls.models.model import Completion, ModelReference
from promptls.models.model_names import find_model
from promptls.models.opening import open_model
from promptls.models.providers import Price, cost_of, price_of
from support.model_server import ModelServer, Reply

MESSAGES = [{"role": "user", "content": "Hello"}]

CHAT = {
    "openai": (
        {
            "prompt_tokens_details": {"cached_tokens": 80},
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
        (80, None, 20),
    ),
    "deepseek": (
        {
            "prompt_cache_hit_tokens": 80,
            "prompt_cache_miss_tokens": 20,
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
        (80, None, 20),
    ),
    "mistral": ({"prompt_tokens_details": {"cached_tokens": 80}, "num_cached_tokens": 80}, (80, None, None)),
    "openrouter": (
        {
            "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 16},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        (64, 16, 0),
    ),
    "a server without details": ({"prompt_tokens_details": None}, (None, None, None)),
    "a server with other details": ({"prompt_tokens_details": [1]}, (None, None, None)),
}
OWN = {
    "anthropic": (
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5",
            "content": [{"type": "text", "text": "fine"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 20,
                "cache_read_input_tokens": 64,
                "cache_creation_input_tokens": 16,
                "output_tokens": 50,
            },
        },
        (100, 50, 64, 16, None),
    ),
    "google": (
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": "fine"}]}, "finishReason": "STOP"}
            ],
            "usageMetadata": {
                "promptTokenCount": 100,
                "cachedContentTokenCount": 80,
                "candidatesTokenCount": 30,
                "thoughtsTokenCount": 20,
                "totalTokenCount": 150,
            },
        },
        (100, 50, 80, None, 20),
    ),
}
MODELS = {"anthropic": "claude-haiku-4-5", "google": "gemini-2.5-flash"}


async def ask(reference: ModelReference) -> Completion:
    model = open_model(reference)
    try:
        return await model.complete(MESSAGES, parameters={"max_tokens": 9}, json_schema=None)
    finally:
        await model.close()


@pytest.mark.parametrize("provider", CHAT)
async def test_a_chat_provider_reports_what_it_had_cached_and_thought(
    server: ModelServer, provider: str
) -> None:
    reported, expected = CHAT[provider]
    answer: dict[str, Any] = {
        "choices": [{"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, **reported},
    }
    server.reply = lambda _body: Reply(raw=json.dumps(answer).encode())
    found = await ask(ModelReference("m", "vllm", "m", base_url=server.url))
    assert (found.cached_tokens, found.written_tokens, found.reasoning_tokens) == expected


@pytest.mark.parametrize("provider", OWN)
async def test_a_provider_with_its_own_protocol_reports_them_too(
    server: ModelServer, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pydantic_ai")
    monkeypatch.setenv("PLANTED", "sk-planted-0123456789abcdef")
    answer, expected = OWN[provider]
    server.reply = lambda _body: Reply(raw=json.dumps(answer).encode())
    base = server.url.removesuffix("/v1")
    found = await ask(
        ModelReference(provider, provider, MODELS[provider], base_url=base, api_key_env="PLANTED")
    )
    counts = (found.input_tokens, found.output_tokens, found.cached_tokens)
    assert (*counts, found.written_tokens, found.reasoning_tokens) == expected


def answer(cached: int | None = None, written: int | None = None) -> Completion:
    return Completion("", 100, 10, 1.0, "m", "stop", cached_tokens=cached, written_tokens=written)


@pytest.mark.parametrize(
    ("price", "cached", "written", "cost"),
    [
        (Price(1.0, 2.0, 0.1, 1.25), None, None, 120.0),
        (Price(1.0, 2.0, 0.1, 1.25), 80, None, 48.0),
        (Price(1.0, 2.0, 0.1, 1.25), 60, 20, 71.0),
        (Price(1.0, 2.0), 80, 20, 120.0),
        (Price(None, 2.0, 0.1), 80, None, 20.0),
        (Price(None, None), 80, None, None),
    ],
)
def test_tokens_from_the_cache_have_their_own_price(
    price: Price, cached: int | None, written: int | None, cost: float | None
) -> None:
    found = cost_of(answer(cached, written), price)
    assert found == (None if cost is None else pytest.approx(cost))


COSTS: dict[str, tuple[dict[str, Any], float | None]] = {
    "openrouter": ({"cost": 0.01, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.01}}, 0.01),
    "openrouter, with the user's key at the provider": (
        {"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}},
        0.021,
    ),
    "a free model": ({"cost": 0}, 0.0),
    "xai": ({"cost_in_usd_ticks": 37_756_000}, 0.0037756),
    "deepinfra": ({"estimated_cost": 2.5e-05}, 2.5e-05),
    "openai": ({}, None),
    "a server that reports something else": ({"cost": {"total": "0.01"}, "cost_details": [1]}, None),
    "a server that reports less than nothing": ({"cost": -1}, None),
    "a server that reports no number": ({"cost": float("nan")}, None),
    "a server that reports too much": ({"cost": 1e12}, None),
}


@pytest.mark.parametrize("provider", COSTS)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_provider_reports_what_it_charged(
    server: ModelServer, provider: str, *, streamed: bool
) -> None:
    reported, expected = COSTS[provider]
    usage = {"prompt_tokens": 100, "completion_tokens": 50, **reported}
    choice = {"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}
    raw = json.dumps({"choices": [choice], "usage": usage}).encode()
    if streamed:
        text = {"choices": [{"delta": {"content": "fine"}, "finish_reason": "stop"}]}
        events = [json.dumps(text), json.dumps({"choices": [], "usage": usage}), "[DONE]"]
        raw = "".join(f"data: {event}\n\n" for event in events).encode()
    server.reply = lambda _body: Reply(raw=raw)
    model = open_model(ModelReference("m", "vllm", "m", base_url=server.url))
    try:
        if streamed:
            found = await model.stream(MESSAGES, parameters={}, json_schema=None, on_text=lambda _text: None)
        else:
            found = await model.complete(MESSAGES, parameters={}, json_schema=None)
    finally:
        await model.close()
    assert found.cost == (None if expected is None else pytest.approx(expected))
    listed = cost_of(found, Price(1.0, 1.0))
    assert listed == pytest.approx(150.0 if expected is None else expected)


@pytest.mark.parametrize(
    ("header", "expected"), [("0.0042", 0.0042), ("", None), ("0.0", None), ("nan", None)]
)
async def test_a_proxy_reports_the_cost_in_a_header(
    server: ModelServer, header: str, expected: float | None
) -> None:
    server.reply = lambda _body: Reply(headers={"x-litellm-response-cost": header})
    model = open_model(ModelReference("m", "vllm", "m", base_url=server.url))
    try:
        found = await model.complete(MESSAGES, parameters={}, json_schema=None)
    finally:
        await model.close()
    assert found.cost == expected


def test_an_impossible_cost_is_not_believed() -> None:
    found = Completion("", 100, 10, 1.0, "m", "stop", cost=-0.5)
    assert found.cost is None
    assert found.notes == ("the provider reported a cost of -0.5, which was ignored",)


def test_more_cached_tokens_than_input_tokens_are_not_believed() -> None:
    found = answer(cached=200)
    assert found.cached_tokens is None
    assert found.notes == ("the provider reported 200 cached tokens of 100",)


def test_the_price_list_has_the_prices_of_the_cache() -> None:
    pytest.importorskip("genai_prices")
    price = price_of(find_model("anthropic:claude-haiku-4-5"))
    assert price.input is not None
    assert price.cached == pytest.approx(price.input / 10)
    assert price.written == pytest.approx(price.input * 1.25)


def test_a_project_sets_the_price_of_its_model() -> None:
    model = ModelReference("m", "vllm", "m", input_price=2.0, output_price=4.0, cached_input_price=0.5)
    assert price_of(model) == Price(2e-6, 4e-6, 5e-7)
