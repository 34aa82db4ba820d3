"""Models of the editor, such as those of VS Code, which are called through the language server.

The editor is only available in run processes that it has started, and only if it provides models.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from promptls.models.model import Completion, Messages, ModelError, ModelWithoutResources, count_of

AskEditor: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Sends `{"model", "messages", "parameters"}` and returns the result of `promptls/askModel`."""

EDITOR: Final[ContextVar[AskEditor | None]] = ContextVar("EDITOR", default=None)
"""The function that calls the editor; None if no editor with models started this process."""

_NAME: Final = re.compile(r"[^/\s]+/\S+")
_PASSING: Final = re.compile(
    r"\b429\b|\b50[234]\b|rate.?limit|too many requests|overloaded|ECONNRESET", re.IGNORECASE
)
_REMEDIES: Final = {
    "notFound": "choose a model that the editor has; completion in `models` lists them",
    "noPermissions": "run it again and allow promptls to use the model, "
    "or allow it with the command `Manage Extension Access` of the account",
    "blocked": "the quota of the account may be spent: wait, or choose another model",
}


def is_editor_model(name: str) -> bool:
    """Return whether the name has the form `vendor/family`: `copilot/gpt-4o`."""
    return _NAME.fullmatch(name) is not None


def check_editor(name: str) -> None:
    """Raise `ModelError` if no editor is available to provide the model `name`."""
    if EDITOR.get() is None:
        raise ModelError(
            f"`{name}` is a model of VS Code, and this run has no connection to VS Code",
            "run the experiment in VS Code, from the lens on the prompt, or choose another model",
        )


class EditorModel(ModelWithoutResources):
    """A model of the editor; the run limits the concurrent requests, and owns the connection."""

    def __init__(self, name: str, model: str) -> None:
        """`name` is the configured name, `model` is `<vendor>/<family>`; raises as `check_editor` does."""
        check_editor(name)
        self._name = name
        self._model = model

    async def complete(
        self, messages: Messages, *, parameters: Mapping[str, Any], json_schema: Mapping[str, Any] | None
    ) -> Completion:
        """Return the editor's answer, which is not constrained to the schema. Raises `ModelError`."""
        del json_schema
        ask = EDITOR.get()
        assert ask is not None
        began = time.perf_counter()
        request = {"model": self._model, "messages": list(messages), "parameters": dict(parameters)}
        answer = await ask(request)
        if "error" in answer:
            raise self._error(answer["error"])
        return Completion(
            str(answer.get("text") or ""),
            input_tokens=count_of(answer.get("inputTokens")),
            output_tokens=count_of(answer.get("outputTokens")),
            seconds=time.perf_counter() - began,
            model=str(answer.get("model") or self._model),
            finish_reason="stop",
        )

    def _error(self, error: Mapping[str, Any]) -> ModelError:
        code, said = str(error.get("code") or ""), str(error.get("message") or "").strip()
        message = {
            "notFound": f"VS Code has no model `{self._model}`",
            "noPermissions": f"promptls may not use the model `{self._model}` of VS Code",
            "blocked": f"VS Code blocks requests to the model `{self._model}`",
        }.get(code, f"the model `{self._name}` did not answer")
        return ModelError(
            f"{message}: {said}" if said else message,
            _REMEDIES.get(code),
            retryable=code not in _REMEDIES and _PASSING.search(said) is not None,
        )
