"""What pieces that need a model ask; `model_asker.py` is what answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Asker(Protocol):
    """Anything that answers messages with a text."""

    async def ask(
        self, messages: Sequence[Mapping[str, str]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """The answer to the messages, held to the schema where the model can be; raises `Failure`.

        Several samples of one question are numbered from 1: none is served from another's answer.
        """
