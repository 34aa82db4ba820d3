"""Answers of chat completions: the pieces of a stream, and the tokens and costs that servers report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from promptls.models.model import count_of

_TICKS: Final = 10_000_000_000
"""The number of xAI's ticks in a US dollar."""


class StreamedAnswer:
    """An answer whose pieces arrive as events; `events` counts them."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        """Pass each piece of the text to `on_text`."""
        self.events = 0
        self._on_text = on_text
        self._texts: list[str] = []
        self._answer: dict[str, Any] = {}
        self._finish_reason: Any = None

    def add(self, event: Any) -> None:
        """Add the content of an event; anything else is ignored."""
        try:
            choice: dict[str, Any] = next(iter(event.get("choices") or ()), {})
            text = (choice.get("delta") or {}).get("content") or ""
        except (AttributeError, TypeError):
            return
        self.events += 1
        self._answer.update({key: event[key] for key in ("usage", "model", "error") if event.get(key)})
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        if isinstance(text, str) and text:
            self._texts.append(text)
            self._on_text(text)

    def answer(self) -> dict[str, Any]:
        """Return the answer in the form of a response without streaming."""
        choice = {"message": {"content": "".join(self._texts)}, "finish_reason": self._finish_reason}
        choices = {} if "error" in self._answer else {"choices": [choice]}
        return {**self._answer, **choices}


def token_details(usage: Mapping[str, Any]) -> tuple[int | None, int | None, int | None]:
    """Return the tokens read from the prefix cache, written to it, and spent on reasoning."""

    def details(name: str) -> Mapping[str, Any]:
        found = usage.get(name)
        return found if isinstance(found, dict) else {}

    prompt, answer = details("prompt_tokens_details"), details("completion_tokens_details")
    cached = (
        prompt.get("cached_tokens"),  # OpenAI, Azure, OpenRouter, Groq, Mistral, vLLM
        usage.get("prompt_cache_hit_tokens"),  # DeepSeek
        usage.get("num_cached_tokens"),  # Mistral, for some models
        usage.get("cached_tokens"),  # Together AI
    )
    return (
        next((count for each in cached if (count := count_of(each)) is not None), None),
        count_of(prompt.get("cache_write_tokens")),  # OpenRouter
        count_of(answer.get("reasoning_tokens")),
    )


def reported_cost(usage: Mapping[str, Any]) -> float | None:
    """Return the US dollars that the server charged for the answer, if it reports them."""
    cost = _number(usage.get("cost"))  # OpenRouter and other gateways
    if cost is not None:
        details = usage.get("cost_details")
        if usage.get("is_byok") is True and isinstance(details, dict):
            # With the user's own key at the provider, OpenRouter charges its fee and the provider the rest.
            cost += _number(details.get("upstream_inference_cost")) or 0.0
        return cost
    ticks = _number(usage.get("cost_in_usd_ticks"))  # xAI
    return ticks / _TICKS if ticks is not None else _number(usage.get("estimated_cost"))  # DeepInfra


def cost_in_headers(headers: Mapping[str, str]) -> float | None:
    """Return the cost in the headers of LiteLLM's proxy; None for 0, which it also sends if it knows none."""
    try:
        return float(headers["x-litellm-response-cost"]) or None
    except (LookupError, ValueError):
        return None


def _number(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value)
