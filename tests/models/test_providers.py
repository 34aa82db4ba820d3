from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from promptls.models import steady
from promptls.models.model import Completion, ModelError
from promptls.models.providers import TABLE
from promptls.models.reference import ModelReference
from promptls.models.registry import address_of, check_model, find_model, open_model
from support.model_server import ModelServer, Reply, model_server

KEY = "sk-planted-0123456789abcdef"
MESSAGES = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": "Bye"},
]
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}

LIBRARY = {
    "anthropic": "claude-haiku-4-5",
    "google": "gemini-2.5-flash",
    "bedrock": "anthropic.claude-3-5-sonnet-20240620-v1:0",
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in TABLE.values():
        for variable in provider.key_envs:
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PLANTED", KEY)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "public")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_wait(_seconds: float) -> None:
        return

    monkeypatch.setattr(steady, "_sleep", no_wait)


def reference(provider: str, server: ModelServer) -> ModelReference:
    pytest.importorskip("pydantic_ai")
    base = server.url.removesuffix("/v1")
    # Amazon's keys sign requests; its bearer tokens are sent over TLS alone.
    variable = None if provider == "bedrock" else "PLANTED"
    return ModelReference(provider, provider, LIBRARY[provider], base_url=base, api_key_env=variable)


async def ask(found: ModelReference, **words: object) -> Completion:
    model = open_model(found)
    try:
        return await model.complete(
            MESSAGES, **{"parameters": {"max_tokens": 9}, "json_schema": None, **words}
        )
    finally:
        await model.close()


@pytest.mark.parametrize("provider", LIBRARY)
async def test_a_provider_with_its_own_protocol_answers_with_its_usage(
    server: ModelServer, provider: str
) -> None:
    server.reply = lambda _body: Reply("fine")
    answer = await ask(reference(provider, server), parameters={"temperature": 0.5, "max_tokens": 9})
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ("fine", 7, 3)
    sent = json.dumps(server.requests[0])
    assert sent.index("Hello") < sent.index("Hi.") < sent.index("Bye")
    assert "Be short." in sent
    assert "0.5" in sent
    sent_key = "Credential=public/" if provider == "bedrock" else KEY
    assert sent_key in json.dumps(server.headers[0])


@pytest.mark.parametrize("provider", LIBRARY)
async def test_a_schema_is_asked_for_where_the_model_knows_one(server: ModelServer, provider: str) -> None:
    await ask(reference(provider, server), json_schema=SCHEMA)
    held = '"required"' in json.dumps(server.requests[0])
    assert held is (provider != "bedrock")


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("provider", LIBRARY)
async def test_a_busy_provider_is_asked_again_by_promptls_alone(server: ModelServer, provider: str) -> None:
    busy = Reply(status=429, headers={"Retry-After": "0"}, raw=b'{"message": "slow down"}')
    server.queue = [busy, busy]
    server.reply = lambda _body: Reply("later")
    assert (await ask(reference(provider, server))).text == "later"
    assert len(server.requests) == 3


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("provider", LIBRARY)
@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=401, raw=f'{{"error": {{"message": "wrong key {KEY}"}}}}'.encode()),
        Reply(status=400, raw=KEY.encode()),
        Reply(status=500, raw=f"trace {KEY}".encode()),
        Reply(raw=f"<html>{KEY}</html>".encode(), headers={"Content-Type": "text/html"}),
        Reply(raw=b'{"half', cut=True),
    ],
)
async def test_whatever_goes_wrong_is_an_error_without_the_key(
    server: ModelServer, provider: str, reply: Reply
) -> None:
    server.reply = lambda _body: reply
    with pytest.raises(ModelError) as failure:
        await ask(reference(provider, server))
    chain = [failure.value, failure.value.__cause__, failure.value.__context__]
    told = " ".join(f"{error!r} {error} {getattr(error, 'remedy', '')}" for error in chain)
    assert KEY not in told
    assert f"`{provider}`" in told


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google", "azure", "groq", "openrouter"])
def test_a_provider_without_its_key_names_the_variable(provider: str) -> None:
    with pytest.raises(ModelError, match=TABLE[provider].key_envs[0]):
        check_model(find_model(f"{provider}:m"))


@pytest.mark.parametrize(
    ("provider", "variable", "value", "address"),
    [
        ("ollama", "OLLAMA_BASE_URL", "", "http://localhost:11434/v1"),
        ("ollama", "OLLAMA_BASE_URL", "http://box:1/v1", "http://box:1/v1"),
        ("vllm", "VLLM_BASE_URL", "", "http://localhost:8000/v1"),
        ("azure", "AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/", "https://me.openai.azure.com/openai/v1"),
        ("azure", "AZURE_OPENAI_ENDPOINT", "https://me/openai/v1", "https://me/openai/v1"),
        ("openai", "OPENAI_API_KEY", "x", "https://api.openai.com/v1"),
    ],
)  # fmt: skip
def test_where_a_provider_is_asked(
    monkeypatch: pytest.MonkeyPatch, provider: str, variable: str, value: str, address: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert address_of(find_model(f"{provider}:m")) == address


def test_a_resource_that_nobody_names_says_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(ModelError, match="nobody says where `azure:m` is") as failure:
        address_of(find_model("azure:m"))
    assert "AZURE_OPENAI_ENDPOINT" in failure.value.remedy


def test_a_server_of_ones_own_does_not_get_the_key_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from promptls.models.keys import key_of

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    own = replace(find_model("openai:m"), base_url="http://elsewhere/v1")
    assert key_of(own) is None
    assert key_of(find_model("openai:m")) == KEY
