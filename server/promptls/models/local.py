"""Local models, and the process that runs them.

A separate process can be terminated in the middle of an answer, frees its memory when it exits,
and isolates the caller from crashes of the C++ code.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

from promptls.embeddings.language_model import ScoredTokens
from promptls.models.model import Completion, Messages, ModelError
from promptls.models.weights import weights_file
from promptls.security.processes import start_module

LOAD_TIMEOUT = 120.0
"""Timeout in seconds for loading the weights, sufficient for slow disks."""

LONGEST_LINE = 64 * 1024 * 1024
"""Maximum size of an answer's line in bytes."""

QUOTED = 300
"""Maximum number of characters of the process's error output that an error quotes."""

# A small model may never stop without a limit, and its answers get worse and differ if tokens are sampled.
_DEFAULTS: Final[Mapping[str, Any]] = {"max_tokens": 1024, "temperature": 0}

# Without a penalty, the most probable text of a small model is often one sentence over and over. A larger
# penalty, or the `repeat_penalty` of llama.cpp, makes short answers worse, because it avoids the words of
# the question. Answers in JSON repeat keys and braces, which their grammar asks for.
_FREE_TEXT: Final[Mapping[str, Any]] = {"frequency_penalty": 0.3}


class LocalModel:
    """A local model; its process is started on the first request and restarted after it has died."""

    max_at_once: int | None = 1

    def __init__(self, name: str) -> None:
        self.name = f"local:{name}"
        self._file = weights_file(name)
        self._process: asyncio.subprocess.Process | None = None
        self._messages: IO[bytes] | None = None
        self._lock = asyncio.Lock()

    async def complete(
        self, messages: Messages, *, parameters: Mapping[str, Any], json_schema: Mapping[str, Any] | None
    ) -> Completion:
        """Return the model's answer, constrained to `json_schema`; requests are processed sequentially."""
        return await self.stream(messages, parameters=parameters, json_schema=json_schema, on_text=None)

    async def stream(
        self,
        messages: Messages,
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
        on_text: Callable[[str], None] | None,
    ) -> Completion:
        """Return the same answer as `complete`; `on_text` receives chunks of its text as they arrive."""
        request = {
            "messages": list(messages),
            "parameters": {**_DEFAULTS, **({} if json_schema else _FREE_TEXT), **parameters},
            "json_schema": json_schema,
            "stream": on_text is not None,
        }
        answer, seconds = await self._answered(request, on_text)
        return self._completion(answer, seconds)

    async def score_prompt(self, prompt: str, context: str = "") -> ScoredTokens:
        """Return the score of the prompt after `context`; raises `ModelError`."""
        answer, _ = await self._answered({"prompt": prompt, "context": context})
        self._check(answer)
        return ScoredTokens(answer["log_probabilities"], answer["tokens"], answer["before"])

    async def _answered(
        self, request: dict[str, Any], on_text: Callable[[str], None] | None = None
    ) -> tuple[dict[str, Any], float]:
        """Return the process's answer, and the elapsed seconds."""
        async with self._lock:
            process = await self._running()
            began = time.perf_counter()
            try:
                answer = await self._ask(process, request, on_text)
            except BaseException:
                # Cancelled, timed out or failed: the process would continue to work on an unneeded answer.
                await self.close()
                raise
            return answer, time.perf_counter() - began

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        await self.close()
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = await start_module(
            "promptls.models.local_process", str(self._file), messages=self._messages, limit=LONGEST_LINE
        )
        try:
            ready = await asyncio.wait_for(self._answer(self._process), LOAD_TIMEOUT)
        except asyncio.TimeoutError:
            await self.close()
            raise ModelError(
                f"{self.name} did not load within {LOAD_TIMEOUT:.0f} seconds",
                "try again when the machine is less busy",
                retryable=True,
            ) from None
        except BaseException:
            await self.close()
            raise
        if "ready" not in ready:
            await self.close()
            raise ModelError(
                f"{self.name} could not be loaded: {ready['error']['message']}",
                "install its packages again; `promptls doctor` shows what is there",
            )
        return self._process

    async def _ask(
        self,
        process: asyncio.subprocess.Process,
        request: dict[str, Any],
        on_text: Callable[[str], None] | None = None,
    ) -> dict[str, Any]:
        assert process.stdin is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        # A dead process is detected when reading its answer.
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()
        while True:
            answer = await self._answer(process)
            if "piece" not in answer:
                return answer
            if on_text is not None:
                on_text(answer["piece"])

    async def _answer(self, process: asyncio.subprocess.Process) -> dict[str, Any]:
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line.endswith(b"\n"):
            code = await process.wait()
            raise ModelError(
                f"the process of {self.name} ended unexpectedly (exit code {code}){self._last_message()}",
                "run it again; if it happens again, check that there is enough free memory",
                retryable=True,
            )
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_message(self) -> str:
        if self._messages is None:
            return ""
        self._messages.seek(0)
        output = self._messages.read().decode(errors="replace").strip()
        return f": …{output[-QUOTED:]}" if output else ""

    async def close(self) -> None:
        """Terminate the process."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if self._messages is not None:
            self._messages.close()
            self._messages = None

    def _check(self, answer: dict[str, Any]) -> None:
        error = answer.get("error")
        if error:
            if error.get("type") == "exceed_context_size_error":
                long, limit = error["n_prompt_tokens"], error["n_ctx"]
                raise ModelError(
                    f"the prompt has {long} tokens, and {self.name} takes {limit}",
                    "shorten the prompt, or choose a model with a longer context",
                )
            raise ModelError(f"{self.name} refused the request: {error.get('message')}")

    def _completion(self, answer: dict[str, Any], seconds: float) -> Completion:
        self._check(answer)
        choice = answer["choices"][0]
        usage = answer.get("usage") or {}
        return Completion(
            text=choice["message"].get("content") or "",
            input_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
            seconds=seconds,
            model=self.name,
            finish_reason=choice.get("finish_reason") or "stop",
        )
