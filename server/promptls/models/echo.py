"""The model that answers with the last message's content, for tests and dry runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptls.models.model import Completion


@dataclass(frozen=True, slots=True)
class Echo:
    """Answers at once, and costs nothing."""

    name: str = "echo"
    most_at_once: int | None = None

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> Completion:
        """The content of the last message; parameters and schema are left alone."""
        del parameters, json_schema
        text = str(messages[-1].get("content") or "") if messages else ""
        return Completion(
            text, input_tokens=0, output_tokens=0, seconds=0.0, model=self.name, finish_reason="stop"
        )

    async def close(self) -> None:
        """Nothing is held."""
