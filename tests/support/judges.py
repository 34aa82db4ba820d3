"""A judge and an embedder with given answers: only the network is replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


class Saying:
    """Returns these answers in order, the last one forever; exceptions are raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []
        self.samples: list[int] = []

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        assert json_schema
        self.questions.append("\n".join(str(message["content"]) for message in messages))
        self.samples.append(sample)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else json.dumps(answer)


class Embedding:
    """Returns these vectors, whatever the texts."""

    def __init__(self, vectors: Sequence[Sequence[float]]) -> None:
        self.vectors = [list(vector) for vector in vectors]

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        assert len(texts) == len(self.vectors)
        return self.vectors
