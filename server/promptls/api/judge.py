"""Models that judge, and models that make embeddings, as metrics ask them in programs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from promptls.api.models import TextRequest, asking
from promptls.metrics.grading import Embedder
from promptls.metrics.grading import Judge as AsksJudge
from promptls.text.errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Self

DEFAULT_JUDGE: Final = "PROMPTLS_JUDGE"
"""The variable that names the judge of metrics that are given none."""


class Judge:
    """A model that judges, by its name: `openai:gpt-4.1-mini`, `local:smollm2`.

    `parameters` go to the model, such as `temperature=0`. As an asynchronous context manager it
    keeps the model open; else each question opens it. Raises UsageError for an unknown name.
    """

    def __init__(self, model: str, **parameters: Any) -> None:
        from promptls.models.registry import find_model

        self.model = model
        """The name of the model."""
        self._reference = find_model(model)
        self._parameters = parameters
        self._opened: Any = None

    def __repr__(self) -> str:
        return f"Judge({self.model!r})"

    async def __aenter__(self) -> Self:
        from promptls.models.registry import open_model

        self._opened = open_model(self._reference)
        return self

    async def __aexit__(self, *_error: object) -> None:
        opened, self._opened = self._opened, None
        await opened.close()

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """Return the text of the answer, held to the schema where the model can be.

        Raises UserError where the model does not answer.
        """
        from promptls.models.registry import open_model

        parameters = {**self._reference.parameters, **self._parameters}
        if sample > 1 and "seed" not in parameters:
            parameters["seed"] = sample
        opened = self._opened or open_model(self._reference)
        try:
            made = await opened.complete(messages, parameters=parameters, json_schema=json_schema)
        finally:
            if opened is not self._opened:
                await opened.close()
        return str(made.text)


class _FunctionJudge:
    """A function, or a model of another library, that is asked for a text with a text."""

    def __init__(self, llm: Any) -> None:
        self._answers = asking(llm)

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """Return the text of the answer; the schema stands in the messages."""
        del json_schema, sample
        *instructions, text = [str(message["content"]) for message in messages]
        request = TextRequest("\n\n".join(instructions), text)
        return (await asyncio.to_thread(self._answers, [request]))[0]


class Embeddings:
    """A model that makes embeddings, by its name; without one, the small model on this machine."""

    def __init__(self, model: str | None = None) -> None:
        from promptls.models.embedding import find_embeddings

        self._reference = find_embeddings(model)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order; raises UserError where there is no answer."""
        from promptls.models.embedding import open_embeddings
        from promptls.models.keys import key_mask

        opened = open_embeddings(self._reference, pace=None, mask=key_mask(), timeout=None)
        try:
            return list((await opened.embed(list(texts))).vectors)
        finally:
            await opened.close()


class _ForeignEmbeddings:
    """Embeddings of LangChain or Ragas."""

    def __init__(self, model: Any) -> None:
        self._embed = getattr(model, "embed_documents", None) or model.embed_texts

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order."""
        return list(await asyncio.to_thread(self._embed, list(texts)))


def as_judge(llm: Any) -> AsksJudge:
    """Return what asks `llm`: a model's name, a Judge, a model of LangChain, or a function on a text.

    None is the model that the variable PROMPTLS_JUDGE names. Raises UsageError where it names none, and for
    anything else.
    """
    if llm is None:
        return Judge(_default_judge())
    if isinstance(llm, str):
        return Judge(llm)
    if callable(getattr(llm, "ask", None)):
        judge: AsksJudge = llm
        return judge
    return _FunctionJudge(llm)


def as_embedder(embeddings: Any) -> Embedder:
    """Return what asks for embeddings: by a model's name, an object with `embed`, or one of LangChain."""
    if embeddings is None or isinstance(embeddings, str):
        return Embeddings(embeddings)
    if callable(getattr(embeddings, "embed", None)):
        embedder: Embedder = embeddings
        return embedder
    if callable(getattr(embeddings, "embed_documents", None) or getattr(embeddings, "embed_texts", None)):
        return _ForeignEmbeddings(embeddings)
    raise UsageError(
        f"`embeddings` is {type(embeddings).__name__}, which makes no embeddings",
        remedy="name a model, or give an object with `embed` or `embed_documents`",
    )


def _default_judge() -> str:
    name = os.environ.get(DEFAULT_JUDGE, "").strip()
    if not name:
        raise UsageError(
            "the metric asks a judge, and none is named",
            remedy=f'give the metric `llm="openai:gpt-4.1-mini"`, or set the variable {DEFAULT_JUDGE}',
        )
    return name
