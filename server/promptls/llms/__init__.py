"""Models that judge, in the package that Ragas has them in."""

from __future__ import annotations

from typing import Any

from promptls.api.judge import Judge

__all__ = ["Judge", "llm_factory"]


def llm_factory(model: str, provider: str = "openai", client: Any = None, **parameters: Any) -> Judge:
    """Return the model as a judge; `model` may name the provider itself, as in `local:smollm2`.

    A `client` is not asked: its address and key are those of the provider in the environment.
    """
    del client
    return Judge(model if ":" in model else f"{provider}:{model}", **parameters)
