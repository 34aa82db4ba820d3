"""What a metric may ask while it scores: a model that judges, and one that makes embeddings.

Whoever runs the metrics provides them; a function asks for one by having a parameter of its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

JUDGE: Final = "judge"
EMBEDDER: Final = "embedder"
ASKED: Final = (JUDGE, EMBEDDER)
"""The names of the parameters that are given something to ask, and no column."""

EMBEDDINGS: Final = "embeddings"
"""The option of a metric that names the model of its `embedder`."""


class Judge(Protocol):
    """A model that judges."""

    async def ask(
        self, messages: Sequence[Mapping[str, str]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """The text of the judge's answer, held to `json_schema` where the model can be.

        Several samples of one question are numbered from 1: none is served from another's answer. Raises
        `Failure` where the judge does not answer.
        """


class Embedder(Protocol):
    """A model that makes embeddings."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in order; raises `Failure` where there is no answer."""
