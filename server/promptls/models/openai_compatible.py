"""Models behind OpenAI-compatible APIs: requests, streaming, error handling, and dialects of providers."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from promptls.embeddings.language_model import ScoredTokens
from promptls.models.chat_completions import StreamedAnswer, cost_in_headers, reported_cost, token_details
from promptls.models.masking import url_without_secrets
from promptls.models.model import (
    Completion,
    EmbeddingResult,
    Messages,
    ModelError,
    check_key,
    count_of,
)
from promptls.models.retrying import LONGEST_WAIT
from promptls.text.format import shorten_line

if TYPE_CHECKING:
    import ssl

    import httpx

TRY_LATER: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""The HTTP statuses after which another attempt may succeed."""
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400

# No quota lasts longer than a month; a longer `Retry-After`, in seconds, is a mistake of the server.
_LONGEST_PAUSE = 31 * _DAY


def refusal(server: str, status: int, retry_after: str | None, content: bytes, said: str) -> ModelError:
    """Return the error for an unsuccessful response; `said` quotes the message in its `content`."""
    # Waiting does not help if the account has no credit left.
    later = status in TRY_LATER and "insufficient_quota" not in content.decode(errors="replace")
    wait = seconds_to_wait(retry_after) if later else None
    if wait is not None and wait > LONGEST_WAIT:
        remedy = f"wait {_time(wait)}, as the server asks"
    elif status in TRY_LATER:
        remedy = "the server is busy or broken: run again later, or with a smaller `concurrency`"
    elif status in range(300, 400):
        remedy = "check `base_url`: the server redirects to another address, to which no key is sent"
    else:
        remedy = "check the parameters of the experiment, and whether the prompt is too long for the model"
    return ModelError(
        f"{server} answered with HTTP {status}: {said}", remedy, retryable=later, retry_after=wait
    )


def _time(seconds: float) -> str:
    if seconds >= 2 * _DAY:
        return f"{seconds / _DAY:.0f} days"
    if seconds >= 2 * _HOUR:
        return f"{seconds / _HOUR:.0f} hours"
    return f"{seconds / _MINUTE:.0f} minutes"


def seconds_to_wait(value: str | None) -> float | None:
    """Return the seconds requested by an HTTP `Retry-After` header, which is a number or a date.

    It is None if the header says neither, or asks for longer than a month.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        from email.utils import parsedate_to_datetime

        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds <= _LONGEST_PAUSE else None  # NaN compares as false


@dataclass(frozen=True, slots=True)
class ApiDialect:
    """Deviations of a provider from OpenAI's protocol.

    `key_header` contains the key, preceded by `key_scheme`; `renamed` maps parameters to other names.
    Without `takes_schemas`, JSON mode is requested if the prompt mentions JSON, which the provider requires.
    """

    key_header: str = "Authorization"
    key_scheme: str = "Bearer "
    renamed: Mapping[str, str] = field(default_factory=dict)
    takes_schemas: bool = True

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the header with the key; empty without a key."""
        return {self.key_header: f"{self.key_scheme}{key}"} if key else {}

    def parameters(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with the provider's names."""
        return {self.renamed.get(name, name): value for name, value in parameters.items()}

    def response_format(self, schema: Mapping[str, Any], messages: Messages) -> dict[str, Any] | None:
        """Return the `response_format` for the schema; None if the provider does not support any."""
        if self.takes_schemas:
            return {"type": "json_schema", "json_schema": schema_form(schema)}
        speaks_of_json = any("json" in str(message.get("content")).lower() for message in messages)
        return {"type": "json_object"} if speaks_of_json else None


# Newer models reject the old name, and older models accept the new one.
_COMPLETION_TOKENS: Final = {"max_tokens": "max_completion_tokens"}

PLAIN: Final = ApiDialect()
OPENAI: Final = ApiDialect(renamed=_COMPLETION_TOKENS)

_DEEPEST_WORDS: Final = 6
"""Maximum nesting depth of the message in an error."""

_OWN: Final[dict[str, ApiDialect]] = {
    "azure": ApiDialect("api-key", "", renamed=_COMPLETION_TOKENS),
    "mistral": ApiDialect(renamed={"seed": "random_seed"}),
    "deepseek": ApiDialect(takes_schemas=False),
}


def dialect_of(provider: str, host: str | None) -> ApiDialect:
    """Return the dialect of a provider; the one of OpenAI's models is only used for OpenAI's `host`."""
    if provider == "openai" and host == "api.openai.com":
        return OPENAI
    return _OWN.get(provider, PLAIN)


def error_message_in(content: bytes) -> str | None:
    """Return the message in a JSON error, in any of the providers' formats; None if there is none."""
    try:
        value: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None
    for _ in range(_DEEPEST_WORDS):
        if isinstance(value, str):
            return value or None
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, Mapping):
            names = ("error", "message", "msg", "detail")
            value = next((value[name] for name in names if value.get(name)), None)
    return value if isinstance(value, str) else None


def schema_form(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema in the protocol's form; `strict` is set if the schema meets its requirements."""
    form: dict[str, Any] = {"name": "answer", "schema": dict(schema)}
    return {**form, "strict": True} if _is_strict(schema) else form


def _is_strict(schema: Any) -> bool:
    """Return whether every object in the schema requires all its keys and allows no others."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, Mapping):
        keys = set(properties) if isinstance(properties, Mapping) else set()
        if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != keys:
            return False
    return all(map(_is_strict, schema.values()))


class _EventReader:
    """The pieces of an answer that a server sends as events, each on a line."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self.pieces = StreamedAnswer(on_text)
        self._unread = b""

    def add(self, content: bytes) -> None:
        """Read the complete lines."""
        *lines, self._unread = (self._unread + content).split(b"\n")
        for line in lines:
            if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
                with suppress(ValueError, RecursionError):
                    self.pieces.add(json.loads(line[5:]))


# Timeouts in seconds for connecting and for each read; the runner limits the total duration.
CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 600.0

LONGEST_ANSWER = 32 * 1024 * 1024
"""Maximum size of an answer in bytes."""

QUOTED = 300
"""Maximum number of characters of the server's message that an error quotes."""


class OpenAiCompatible:
    """A model behind a chat completions endpoint."""

    max_at_once: int | None = None

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        key: str | None = None,
        provider: str = "openai",
        key_remedy: str = "check the environment variable with the key",
    ) -> None:
        """Use the model at an address; `key_remedy` is the remedy for a rejected key."""
        self.name = model
        self._base_url = base_url.rstrip("/")
        self._shown_url = url_without_secrets(self._base_url)
        self._dialect = dialect_of(provider, _host(self._shown_url))
        self._key = key
        self._key_remedy = key_remedy
        check_key(key)
        self._clients = _Clients(self._dialect.headers(key))
        self._score_requests = _SCORE_REQUESTS

    async def complete(
        self, messages: Messages, *, parameters: Mapping[str, Any], json_schema: Mapping[str, Any] | None
    ) -> Completion:
        """Return the server's answer.

        A single request is sent; errors indicate whether a retry may succeed.
        """
        body = self._body(messages, parameters, json_schema)
        content, seconds, cost = await self._request("chat/completions", body)
        return self._completion(content, seconds, cost)

    def _body(
        self,
        messages: Messages,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        named = self._dialect.parameters(parameters)
        body: dict[str, Any] = {**named, "model": self.name, "messages": list(messages)}
        form = None if json_schema is None else self._dialect.response_format(json_schema, messages)
        if form is not None:
            body["response_format"] = form
        return body

    async def stream(
        self,
        messages: Messages,
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
        on_text: Callable[[str], None],
    ) -> Completion:
        """Return the same answer as `complete`; `on_text` receives the chunks as they arrive.

        Servers that do not support streaming may return a complete answer.
        """
        reader = _EventReader(on_text)
        body = {
            **self._body(messages, parameters, json_schema),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        content, seconds, _ = await self._request("chat/completions", body, reader.add)
        reader.add(b"\n")
        if not reader.pieces.events:
            completion = self._completion(content, seconds)
            on_text(completion.text)
            return completion
        return self._completion(json.dumps(reader.pieces.answer()).encode(), seconds)

    async def embed(self, texts: Sequence[str]) -> EmbeddingResult:
        """Return a vector for each text; a single request is sent."""
        content, seconds, cost = await self._request("embeddings", {"model": self.name, "input": list(texts)})
        try:
            answer = json.loads(content)
            ordered = sorted(answer["data"], key=lambda each: each["index"])
            vectors = [[float(number) for number in each["embedding"]] for each in ordered]
            usage = answer.get("usage") or {}
            tokens = count_of(usage.get("prompt_tokens"))
            cost = reported_cost(usage) if cost is None else cost
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            vectors, tokens = [], None
        if len(vectors) != len(texts):
            raise ModelError(
                f"`{self._shown_url}` answered with something that is not a list of embeddings: "
                f"{self._quote(content)}",
                "check that the model makes embeddings, and that `base_url` ends in `/v1`",
            )
        return EmbeddingResult(vectors, tokens, seconds, cost)

    async def score_prompt(self, prompt: str, context: str = "") -> ScoredTokens:
        """Return the score of the prompt after `context`, from the server's `completions` endpoint.

        Raises `ModelError` if the server has no log-probabilities of prompts.
        """
        before = len(await self._token_scores(context)) + 1 if context else 0
        scores = await self._token_scores(prompt)
        return ScoredTokens(scores[max(before - 1, 0) :], len(scores) + 1, before)

    async def _token_scores(self, prompt: str) -> list[float]:
        """Return the log-probabilities of the tokens of a prompt except the first."""
        body = {"model": self.name, "prompt": prompt, "max_tokens": 1, "temperature": 0}
        for parameters in self._score_requests:
            content, _, _ = await self._request("completions", {**body, **parameters})
            scores = _scores_of(content)
            if scores is not None:
                self._score_requests = (parameters,)
                return scores
        raise ModelError(
            f"`{self._shown_url}` gives no log-probabilities of prompts, by which labels are compared",
            "choose a local model, or a server whose `completions` have `echo` and `logprobs`, as vLLM",
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._clients.close()

    async def _request(
        self, path: str, body: Mapping[str, Any], on_bytes: Callable[[bytes], None] | None = None
    ) -> tuple[bytes, float, float | None]:
        """Return the response's content, the elapsed seconds, and the US dollars that its headers report.

        `on_bytes` receives the content as it arrives.
        """
        import httpx

        began = time.perf_counter()
        try:
            async with (
                self._clients.taken() as client,
                client.stream("POST", f"{self._base_url}/{path}", json=body) as response,
            ):
                content = await self._read(response, on_bytes)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None
        except (httpx.InvalidURL, UnicodeError):
            raise ModelError(
                f"`{self._shown_url}` is not an address",
                "set `base_url` to something like `http://host:8000/v1`",
            ) from None
        seconds = time.perf_counter() - began
        status = response.status_code
        if status == httpx.codes.OK:
            # A router responds immediately, and reports the status of the model's server in the body.
            status = _status_in(content) or status
        if status != httpx.codes.OK:
            raise self._refusal(status, response.headers.get("retry-after"), content)
        return content, seconds, cost_in_headers(response.headers)

    async def _read(self, response: httpx.Response, on_bytes: Callable[[bytes], None] | None = None) -> bytes:
        content = bytearray()
        async for piece in response.aiter_bytes():
            content += piece
            if on_bytes is not None and response.is_success:
                on_bytes(piece)
            if len(content) > LONGEST_ANSWER:
                raise ModelError(
                    f"`{self._shown_url}` sent an answer that is too long",
                    f"it was stopped at {LONGEST_ANSWER // 1024**2} MB: check what listens there",
                )
        return bytes(content)

    def _completion(self, content: bytes, seconds: float, cost: float | None = None) -> Completion:
        try:
            answer = json.loads(content)
            choice = answer["choices"][0]
            text = _text_of(choice["message"].get("content"))
            usage = answer.get("usage")
            usage = usage if isinstance(usage, dict) else {}
            cached, written, reasoning = token_details(usage)
            return Completion(
                text=self._without_key(text),
                input_tokens=count_of(usage.get("prompt_tokens")),
                output_tokens=count_of(usage.get("completion_tokens")),
                seconds=seconds,
                model=str(answer.get("model") or self.name),
                finish_reason=str(choice.get("finish_reason") or "stop"),
                cached_tokens=cached,
                written_tokens=written,
                reasoning_tokens=reasoning,
                cost=reported_cost(usage) if cost is None else cost,
            )
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise ModelError(
                f"`{self._shown_url}` answered with something that is not a chat completion: "
                f"{self._quote(content)}",
                "check that `base_url` is an OpenAI-compatible address and ends in `/v1`",
            ) from None

    def _refusal(self, status: int, retry_after: str | None, content: bytes) -> ModelError:
        said = self._quote(content)
        if status in {401, 403}:
            refused = "refused the key" if self._key else "requires a key, and got none"
            return ModelError(f"`{self._shown_url}` {refused} (HTTP {status}): {said}", self._key_remedy)
        if status == HTTPStatus.PAYMENT_REQUIRED:
            return ModelError(
                f"the account at `{self._shown_url}` is empty (HTTP {status}): {said}", "add credit"
            )
        if status == HTTPStatus.NOT_FOUND:
            return ModelError(
                f"`{self._shown_url}` has no model `{self.name}`, or is not compatible with OpenAI: {said}",
                "check `model` and `base_url`, which ends in `/v1` for most servers",
            )
        return refusal(f"`{self._shown_url}`", status, retry_after, content, said)

    def _unreachable(self, error: httpx.HTTPError) -> ModelError:
        import httpx

        if isinstance(error, httpx.ConnectError):
            # Servers on this machine have no certificate.
            is_hosted = self._base_url.startswith("https:")
            remedy = "check your network connection" if is_hosted else "start the server"
            return ModelError(
                f"nothing answers at `{self._shown_url}`: {self._without_key(str(error))}",
                f"{remedy}, or correct `base_url`",
                retryable=True,
                unreachable=True,
            )
        if isinstance(error, httpx.UnsupportedProtocol):
            return ModelError(
                f"`{self._shown_url}` is not an address", "begin `base_url` with `http://` or `https://`"
            )
        message = self._without_key(str(error)) or type(error).__name__
        return ModelError(
            f"the connection to `{self._shown_url}` broke: {message}",
            "run again later, or with a smaller `concurrency`",
            retryable=True,
        )

    def _quote(self, content: bytes) -> str:
        detail = error_message_in(content)
        message = content[: 16 * QUOTED].decode(errors="replace") if detail is None else detail
        # OpenAI's message about an invalid key quotes parts of it.
        message = re.sub(r"\bsk-[\w*.-]{4,}", "[key]", self._without_key(message))
        return f"“{shorten_line(message, QUOTED)}”" if message.strip() else "(no text)"

    def _without_key(self, message: str) -> str:
        return message.replace(self._key, "[key]") if self._key else message


class _Clients:
    """A pool of HTTP clients with one connection each, one per concurrent request.

    The connection pool of a single client scans all its connections for every request, which takes longer
    than the request itself if there are many.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers
        self._free: list[httpx.AsyncClient] = []
        self._all: list[httpx.AsyncClient] = []

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[httpx.AsyncClient]:
        """Yield a client for exclusive use within the block."""
        client = self._free.pop() if self._free else self._another()
        try:
            yield client
        finally:
            self._free.append(client)

    async def close(self) -> None:
        for client in self._all:
            await client.aclose()

    def _another(self) -> httpx.AsyncClient:
        import httpx

        client = httpx.AsyncClient(
            headers=dict(self._headers),
            timeout=httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT, pool=None),
            verify=_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
        )
        self._all.append(client)
        return client


@lru_cache(maxsize=1)  # reading the certificates takes longer than a request
def _certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Return the trusted certificates, which httpx finds by these two environment variables."""
    import httpx

    return httpx.create_ssl_context()


def _text_of(content: Any) -> str:
    """Return the text of an answer; other parts of the content, such as thoughts, are ignored.

    Raises TypeError for anything but a text, a list of parts or null.
    """
    if isinstance(content, list):
        texts = [piece.get("text") for piece in content if isinstance(piece, Mapping)]
        return "".join(text for text in texts if isinstance(text, str))
    if content is not None and not isinstance(content, str):
        raise TypeError
    return content or ""


def _status_in(content: bytes) -> int | None:
    """Return the HTTP status that a response contains instead of a completion."""
    if b'"error"' not in content[:200]:
        return None
    try:
        answer = json.loads(content)
        code = None if answer.get("choices") else answer["error"].get("code")
    except (ValueError, LookupError, AttributeError, RecursionError):
        return None
    return code if isinstance(code, int) and code in range(400, 600) else None


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


_SCORE_REQUESTS: Final[tuple[dict[str, Any], ...]] = ({"logprobs": 1, "echo": True}, {"prompt_logprobs": 0})
"""How a server is asked for the log-probabilities of a prompt: as OpenAI did, and as vLLM does."""


def _scores_of(content: bytes) -> list[float] | None:
    """Return the log-probabilities of the prompt's tokens except the first; None if there are none."""
    try:
        answer = json.loads(content)
        choice = answer["choices"][0]
        if choice.get("prompt_logprobs"):
            return [float(next(iter(each.values()))["logprob"]) for each in choice["prompt_logprobs"][1:]]
        found = choice["logprobs"]["token_logprobs"]
        # One token is generated after the prompt; the prompt's first token has no probability.
        tokens = count_of((answer.get("usage") or {}).get("prompt_tokens")) or len(found) - 1
        return [float(each) for each in found[1:tokens]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, StopIteration):
        return None
