"""Judge models, under the import path that Ragas uses."""

from __future__ import annotations

from typing import Any

from promptls.api.judge import ClientJudge, FunctionJudge, Judge

__all__ = ["Judge", "LangchainLLMWrapper", "llm_factory"]


def llm_factory(
    model: str, provider: str = "openai", client: Any = None, **parameters: Any
) -> Judge | ClientJudge:
    """Return the model as a judge; `model` may include the provider, as in `local:smollm2`.

    With a `client` of the package `openai`, the judge is asked through it. Otherwise the address and the key
    of the provider are read from the environment. `parameters` are sent to the model.
    """
    if client is not None:
        return ClientJudge(model, client, **parameters)
    return Judge(model if ":" in model else f"{provider}:{model}", **parameters)


class LangchainLLMWrapper(FunctionJudge):
    """A LangChain model as a judge. Metrics accept such a model without the wrapper too."""
