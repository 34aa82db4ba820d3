"""Judge models, under the import path that Ragas uses."""

from __future__ import annotations

from typing import Any

from promptls.api.judge import Judge

__all__ = ["Judge", "llm_factory"]


def llm_factory(model: str, provider: str = "openai", client: Any = None, **parameters: Any) -> Judge:
    """Return the model as a judge; `model` may include the provider, as in `local:smollm2`.

    `client` is ignored: the address and the key of the provider are read from the environment.
    """
    del client
    return Judge(model if ":" in model else f"{provider}:{model}", **parameters)
