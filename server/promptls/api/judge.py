"""Judge and embedding models for metrics in Python programs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import Self

from promptls.api.model_calls import TextRequest, asking
from promptls.metrics.grading import Embedder
from promptls.metrics.grading import JudgeModel as AsksJudge
from promptls.text.errors import UsageError

DEFAULT_JUDGE: Final = "PROMPTLS_JUDGE"
"""The environment variable that names the default judge."""


class Judge:
    """A judge model, by name: `openai:gpt-4.1-mini`, `local:smollm2`.

    `parameters`, such as `temperature=0`, are sent to the model. Used as an asynchronous context manager, it
    keeps the model open; otherwise each request opens it. Raises UsageError for an unknown name.
    """

    def __init__(self, model: str, **parameters: Any) -> None:
        from promptls.models.model_names import find_model

        self.model = model
        self._reference = find_model(model)
        self._parameters = parameters
        self._opened: Any = None

    def __repr__(self) -> str:
        return f"Judge({self.model!r})"

    async def __aenter__(self) -> Self:
        from promptls.models.opening import open_model

        self._opened = open_model(self._reference)
        return self

    async def __aexit__(self, *_error: object) -> None:
        opened, self._opened = self._opened, None
        await opened.close()

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """Return the text of the answer, constrained to the schema if the model supports that.

        Raises UserError if the model does not answer.
        """
        from promptls.models.opening import open_model

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


class FunctionJudge:
    """A judge backed by a function from text to text, or by a model of another library."""

    def __init__(self, llm: Any) -> None:
        self._answers = asking(llm)

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """Return the text of the answer; the messages already contain the schema."""
        del json_schema, sample
        *instructions, text = [str(message["content"]) for message in messages]
        request = TextRequest("\n\n".join(instructions), text)
        return (await asyncio.to_thread(self._answers, [request]))[0]


class ClientJudge:
    """A judge that is asked through a client of the package `openai`, or of one with the same interface.

    Requests go to the client's address, with the client's key. Raises UsageError for other clients.
    """

    def __init__(self, model: str, client: Any, **parameters: Any) -> None:
        self.model = model
        completions = getattr(getattr(client, "chat", None), "completions", None)
        create = getattr(completions, "create", None)
        if not callable(create):
            raise UsageError(
                f"`client` is {type(client).__name__}, which has no `chat.completions.create`",
                remedy="leave `client` out, and name the model as `provider:model`",
            )
        self._create = create
        self._parameters = parameters

    def __repr__(self) -> str:
        return f"ClientJudge({self.model!r})"

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], *, json_schema: Mapping[str, Any], sample: int = 1
    ) -> str:
        """Return the text of the answer; the messages already contain the schema.

        Raises whatever the client raises.
        """
        del json_schema, sample
        request = {"model": self.model, "messages": [*map(dict, messages)], **self._parameters}
        made = await asyncio.to_thread(self._create, **request)
        if asyncio.iscoroutine(made):
            made = await made
        return str(made.choices[0].message.content)


class Embeddings:
    """An embedding model, by name; by default the small local model."""

    def __init__(self, model: str | None = None) -> None:
        from promptls.models.model_names import find_embeddings

        self._reference = find_embeddings(model)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order; raises UserError if the model does not answer."""
        from promptls.models.masking import key_mask
        from promptls.models.opening import open_embeddings

        opened = open_embeddings(self._reference, rate_limiter=None, mask=key_mask(), timeout=None)
        try:
            return list((await opened.embed(list(texts))).vectors)
        finally:
            await opened.close()


class _ForeignEmbeddings:
    """An embedding model of LangChain or Ragas."""

    def __init__(self, model: Any) -> None:
        self._embed = getattr(model, "embed_documents", None) or model.embed_texts

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order."""
        return list(await asyncio.to_thread(self._embed, list(texts)))


def as_judge(llm: Any) -> AsksJudge:
    """Return a judge for `llm`: a model's name, a Judge, a LangChain model, or a function on a text.

    None means the model named by the environment variable PROMPTLS_JUDGE. Raises UsageError if that variable
    is not set, and for any other type.
    """
    if llm is None:
        return Judge(_default_judge())
    if isinstance(llm, str):
        return Judge(llm)
    if callable(getattr(llm, "ask", None)):
        judge: AsksJudge = llm
        return judge
    return FunctionJudge(llm)


def as_embedder(embeddings: Any) -> Embedder:
    """Return an embedder for a model's name, an object with `embed`, or LangChain embeddings."""
    if embeddings is None or isinstance(embeddings, str):
        return Embeddings(embeddings)
    if callable(getattr(embeddings, "embed", None)):
        embedder: Embedder = embeddings
        return embedder
    if callable(getattr(embeddings, "embed_documents", None) or getattr(embeddings, "embed_texts", None)):
        return _ForeignEmbeddings(embeddings)
    raise UsageError(
        f"`embeddings` is {type(embeddings).__name__}, which cannot embed texts",
        remedy="name a model, or give an object with `embed` or `embed_documents`",
    )


def _default_judge() -> str:
    name = os.environ.get(DEFAULT_JUDGE, "").strip()
    if not name:
        raise UsageError(
            "the metric needs a judge, and none is set",
            remedy=f'pass `llm="openai:gpt-4.1-mini"` to the metric, or set the variable {DEFAULT_JUDGE}',
        )
    return name
