"""The folder of saved prompts, in the module that Ragas 0.1 has it in."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "RAGAS_CACHE_HOME":
        from promptls.api import pydantic_prompt

        return pydantic_prompt.RAGAS_CACHE_HOME
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
