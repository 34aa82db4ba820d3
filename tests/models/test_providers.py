from __future__ import annotations

import json
from dataclasses import replace

import pytest

from promptls.models.model import Completion, ModelError, ModelReference
from promptls.models.model_names import find_model
from promptls.models.opening import address_of, check_model, open_model
from promptls.models.providers import TABLE
from support.model_server import ModelServer, Reply

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
    has_schema = '"required"' in json.dumps(server.requests[0])
    assert has_schema is (provider != "bedrock")


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize("provider", LIBRARY)
async def test_a_busy_provider_is_asked_again_by_promptls_alone(server: ModelServer, provider: str) -> None:
    busy = Reply(status=429, headers={"Retry-After": "0"}, raw=b'{"message": "slow down"}')
    server.queue = [busy, busy]
    server.reply = lambda _body: Reply("later")
    assert (await ask(reference(provider, server))).text == "later"
    assert len(server.requests) == 3


@pytest.mark.usefixtures("waits")
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
async def test_every_failure_is_an_error_without_the_key(
    server: ModelServer, provider: str, reply: Reply
) -> None:
    server.reply = lambda _body: reply
    with pytest.raises(ModelError) as failure:
        await ask(reference(provider, server))
    chain = [failure.value, failure.value.__cause__, failure.value.__context__]
    reported = " ".join(f"{error!r} {error} {getattr(error, 'remedy', '')}" for error in chain)
    assert KEY not in reported
    assert f"`{provider}`" in reported


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google", "azure", "groq", "openrouter"])
def test_a_provider_without_its_key_names_the_variable(provider: str) -> None:
    if TABLE[provider].route != "chat":
        pytest.importorskip("pydantic_ai")
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
    with pytest.raises(ModelError, match="the address of `azure:m` is unknown") as failure:
        address_of(find_model("azure:m"))
    assert "AZURE_OPENAI_ENDPOINT" in failure.value.remedy


def test_a_server_of_ones_own_does_not_get_the_key_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from promptls.models.keys import key_of

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    own = replace(find_model("openai:m"), base_url="http://elsewhere/v1")
    assert key_of(own) is None
    assert key_of(find_model("openai:m")) == KEY


CHAT = sorted(name for name, provider in TABLE.items() if provider.route == "chat")
RENAMED = {
    "azure": {"max_completion_tokens": 9, "seed": 5},
    "mistral": {"max_tokens": 9, "random_seed": 5},
}


def chat(provider: str, server: ModelServer) -> ModelReference:
    return ModelReference(f"{provider}:m", provider, "m", base_url=server.url, api_key_env="PLANTED")


@pytest.mark.parametrize("provider", CHAT)
async def test_a_chat_provider_is_asked_in_its_own_dialect(server: ModelServer, provider: str) -> None:
    messages = [{"role": "user", "content": "Answer in JSON."}]
    model = open_model(chat(provider, server))
    answer = await model.complete(messages, parameters={"max_tokens": 9, "seed": 5}, json_schema=SCHEMA)
    await model.close()
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ("fine", 7, 3)
    (sent,) = server.requests
    form = sent.pop("response_format")
    assert sent == {"model": "m", "messages": messages, **RENAMED.get(provider, {"max_tokens": 9, "seed": 5})}
    assert form["type"] == ("json_object" if provider == "deepseek" else "json_schema")
    header, value = ("Api-Key", KEY) if provider == "azure" else ("Authorization", f"Bearer {KEY}")
    headers = {name.title(): value for name, value in server.headers[0].items()}
    assert headers[header] == value
    assert json.dumps(headers).count(KEY) == 1
    assert server.paths == ["/v1/chat/completions"]


async def test_a_provider_that_knows_json_alone_is_not_asked_for_it_by_a_prompt_that_does_not(
    server: ModelServer,
) -> None:
    await ask(chat("deepseek", server), json_schema=SCHEMA)
    assert "response_format" not in server.requests[0]


SAID = [
    (Reply(status=401, raw=b'{"error": {"message": "no"}}'), "refused the key .HTTP 401.: “no”", "`PLANTED`"),
    (Reply(status=403, raw=b'{"message": "no"}'), "refused the key .HTTP 403.: “no”", "`PLANTED`"),
    (Reply(status=402, raw=b'{"error": {"message": "Empty Balance"}}'), "account .* is empty", "credit"),
    (Reply(status=404, raw=b'{"error": {"message": "gone"}}'), "no model `m`.*: “gone”", "check `model`"),
    (Reply(status=422, raw=b'{"detail": [{"msg": "Extra inputs"}]}'), "HTTP 422: “Extra inputs”", ""),
    (Reply(status=400, raw=b'{"object": "error", "message": {"detail": [{"msg": "seed"}]}}'), "“seed”", ""),
    (Reply(status=400, raw=b'{"error": "model requires more memory"}'), "“model requires more memory”", ""),
    (Reply(raw=b'{"error": {"code": 404, "message": "No endpoints"}}'), "no model `m`.*“No endpoints”", ""),
    (Reply(raw=b"{broken"), "not a chat completion: “{broken”", "/v1"),
    (Reply(raw=b"<html>Sign in</html>", headers={"Content-Type": "text/html"}), "a chat completion", "/v1"),
    (Reply(endless=b" " * 4000), "did not answer within 0.5 seconds|without an end", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "reply", "message", "remedy"),
    [*((CHAT[0], *said) for said in SAID), *((other, *SAID[0]) for other in CHAT[1:])],
)
async def test_a_refusal_of_a_chat_provider_is_reported_with_its_message(
    server: ModelServer, provider: str, reply: Reply, message: str, remedy: str
) -> None:
    server.reply = lambda _body: reply
    model = open_model(chat(provider, server), timeout=0.5 if reply.endless else None)
    with pytest.raises(ModelError, match=message) as failure:
        await model.complete(MESSAGES, parameters={}, json_schema=None)
    await model.close()
    assert remedy in str(failure.value.remedy)
    assert len(server.requests) == 1


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize("provider", CHAT)
async def test_what_passes_is_asked_again(server: ModelServer, provider: str) -> None:
    server.queue = [
        Reply(status=429, headers={"Retry-After": "0"}, raw=b"{}"),
        Reply(status=429, raw=b"slow down"),
        Reply(status=500, raw=f"trace {KEY}".encode()),
        Reply("half", cut=True),
    ]
    assert (await ask(chat(provider, server))).text == "fine"
    assert len(server.requests) == 5


@pytest.mark.usefixtures("waits")
async def test_what_a_router_tells_in_the_body_counts_as_an_answer_of_the_server(server: ModelServer) -> None:
    server.queue = [Reply(raw=b'\n\n{"error": {"code": 429, "message": "busy"}}')]
    assert (await ask(chat("openrouter", server))).text == "fine"
    assert len(server.requests) == 2


async def test_an_answer_in_pieces_is_its_text(server: ModelServer) -> None:
    pieces = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
    ]
    body = {"model": "m", "choices": [{"message": {"content": pieces}, "finish_reason": "stop"}]}
    server.reply = lambda _body: Reply(raw=json.dumps(body).encode())
    assert (await ask(chat("mistral", server))).text == "yes"


@pytest.mark.parametrize("provider", CHAT)
async def test_a_provider_without_a_key_says_which_variable_to_set(
    server: ModelServer, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.reply = lambda _body: Reply(status=401, raw=b'{"error": {"message": "who are you?"}}')
    named = ModelReference("own", provider, "m", base_url=server.url)
    with pytest.raises(ModelError, match="requires a key, and got none") as failure:
        await ask(named)
    assert "`api_key_env` of `models.own`" in str(failure.value.remedy)
    monkeypatch.setitem(TABLE, provider, replace(TABLE[provider], base_url=server.url, base_url_env=None))
    if TABLE[provider].needs_key:
        with pytest.raises(ModelError, match=TABLE[provider].key_envs[0]):
            await ask(find_model(f"{provider}:m"))
        return
    with pytest.raises(ModelError) as failure:
        await ask(find_model(f"{provider}:m"))
    assert failure.value.remedy == f"set the environment variable `{TABLE[provider].key_envs[0]}` to the key"
