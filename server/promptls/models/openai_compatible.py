"""OpenAI, and every server that speaks its chat completions protocol.

Source followed: https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from promptls.models.model import Completion, ModelError

if TYPE_CHECKING:
    import httpx

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY_ENV = "OPENAI_API_KEY"

# How often a request is sent at most, and the longest wait in seconds before it is sent again.
MOST_ATTEMPTS = 5
LONGEST_WAIT = 60.0
FIRST_WAIT = 0.5

# Seconds for a connection, and for each further piece of an answer; the runner limits the whole.
CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 600.0

# Bytes that an answer may have.
LONGEST_ANSWER = 32 * 1024 * 1024

# Characters of the server's own words that an error quotes.
QUOTED = 300

_TRY_LATER = {408, 409, 425, 429, 500, 502, 503, 504, 529}


class OpenAiCompatible:
    """A model behind a chat completions address."""

    most_at_once: int | None = None

    def __init__(self, model: str, *, base_url: str = OPENAI_URL, key: str | None = None) -> None:
        import httpx

        self.name = model
        self._base_url = base_url.rstrip("/")
        self._shown_url = without_secrets(self._base_url)
        self._key = key
        if key and not (key.isascii() and key.isprintable()):
            # Found here, because the text of the HTTP library's own error quotes the key.
            raise ModelError(
                "the API key has characters that a key cannot have", "set the variable to the key alone"
            )
        self._client = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
        )

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> Completion:
        """The server's answer.

        A server that is busy or broken (429, 5xx, a cut connection) is asked again, after the time
        that its `Retry-After` names, else after a growing time with jitter.
        """
        body: dict[str, Any] = {**parameters, "model": self.name, "messages": list(messages)}
        if json_schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": dict(json_schema)},
            }
        for attempt in range(1, MOST_ATTEMPTS + 1):
            try:
                return await self._request(body)
            except _TryAgain as busy:
                wait = busy.wait if busy.wait is not None else _backoff(attempt)
                if attempt == MOST_ATTEMPTS or wait > LONGEST_WAIT:
                    raise busy.error from None
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    async def close(self) -> None:
        """The connections are closed."""
        await self._client.aclose()

    async def _request(self, body: Mapping[str, Any]) -> Completion:
        import httpx

        began = time.perf_counter()
        try:
            async with self._client.stream(
                "POST", f"{self._base_url}/chat/completions", json=body
            ) as response:
                content = await self._read(response)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None
        except (httpx.InvalidURL, UnicodeError):
            raise ModelError(
                f"`{self._shown_url}` is no address", "set `base_url` to something like `http://host:8000/v1`"
            ) from None
        seconds = time.perf_counter() - began
        if response.status_code != httpx.codes.OK:
            raise self._refusal(response, content)
        return self._completion(content, seconds)

    async def _read(self, response: httpx.Response) -> bytes:
        content = bytearray()
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > LONGEST_ANSWER:
                raise ModelError(
                    f"`{self._shown_url}` sent an answer without an end",
                    f"it was left at {LONGEST_ANSWER // 1024**2} MB: check what listens there",
                )
        return bytes(content)

    def _completion(self, content: bytes, seconds: float) -> Completion:
        try:
            answer = json.loads(content)
            choice = answer["choices"][0]
            text = choice["message"].get("content")
            usage = answer.get("usage") or {}
            return Completion(
                text=self._without_key(text) if isinstance(text, str) else "",
                input_tokens=_count(usage.get("prompt_tokens")),
                output_tokens=_count(usage.get("completion_tokens")),
                seconds=seconds,
                model=str(answer.get("model") or self.name),
                finish_reason=str(choice.get("finish_reason") or "stop"),
            )
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise ModelError(
                f"`{self._shown_url}` answered with something that is no chat completion: "
                f"{self._quoted(content)}",
                "check that `base_url` is an OpenAI-compatible address and ends in `/v1`",
            ) from None

    def _refusal(self, response: httpx.Response, content: bytes) -> Exception:
        status = response.status_code
        said = self._quoted(content)
        if status in {401, 403}:
            return ModelError(
                f"`{self._shown_url}` refused the key (HTTP {status}): {said}",
                "check the environment variable that holds the key",
            )
        if status == 404:  # noqa: PLR2004 - HTTP's own number
            return ModelError(
                f"`{self._shown_url}` has no model `{self.name}`, or is no OpenAI-compatible address: {said}",
                "check `model` and `base_url`, which ends in `/v1` for most servers",
            )
        error = ModelError(
            f"`{self._shown_url}` answered with HTTP {status}: {said}",
            "the server is busy or broken: run again later, or with a smaller `concurrency`"
            if status in _TRY_LATER
            else "check the parameters of the experiment",
            retryable=status in _TRY_LATER,
        )
        if not error.retryable or "insufficient_quota" in said:
            return error
        return _TryAgain(error, _retry_after(response.headers.get("retry-after")))

    def _unreachable(self, error: httpx.HTTPError) -> Exception:
        import httpx

        if isinstance(error, httpx.ConnectError):
            return ModelError(
                f"nothing answers at `{self._shown_url}`: {self._without_key(str(error))}",
                "start the server, or correct `base_url`",
                retryable=True,
            )
        if isinstance(error, httpx.UnsupportedProtocol):
            return ModelError(
                f"`{self._shown_url}` is no address", "begin `base_url` with `http://` or `https://`"
            )
        words = self._without_key(str(error)) or type(error).__name__
        broken = ModelError(
            f"the connection to `{self._shown_url}` broke: {words}",
            "run again later, or with a smaller `concurrency`",
            retryable=True,
        )
        return _TryAgain(broken, None)

    def _quoted(self, content: bytes) -> str:
        words = re.sub(r"\s+", " ", content[: 16 * QUOTED].decode(errors="replace")).strip()
        with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
            words = str(json.loads(content)["error"]["message"])
        # OpenAI's own message about a wrong key quotes the ends of it.
        words = re.sub(r"\bsk-[\w*.-]{4,}", "[key]", self._without_key(words))
        return f"“{words[:QUOTED]}{'…' if len(words) > QUOTED else ''}”" if words else "(no text)"

    def _without_key(self, words: str) -> str:
        return words.replace(self._key, "[key]") if self._key else words


def without_secrets(url: str) -> str:
    """`url` without a user name, a password and a query, any of which may be a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.rpartition("@")[2].partition("?")[0]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _TryAgain(Exception):  # noqa: N818 - it asks for another attempt, and never leaves this module
    """Another attempt is due, after `wait` seconds where the server named them."""

    def __init__(self, error: ModelError, wait: float | None) -> None:
        super().__init__()
        self.error = error
        self.wait = wait


def _backoff(attempt: int) -> float:
    # Half of the time is chance, so that rows that failed together do not come back together.
    longest = FIRST_WAIT * 2 ** (attempt - 1)
    return float(longest * (0.5 + random.random() / 2))  # noqa: S311 - jitter is no secret


def _retry_after(value: str | None) -> float | None:
    """Seconds that an HTTP `Retry-After` asks for, given as a number or as a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
