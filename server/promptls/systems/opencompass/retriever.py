"""Which training rows become in-context examples of which question.

Source: `opencompass.openicl.icl_retriever` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from promptls.systems.opencompass.failure import OpenCompassError, explained
from promptls.systems.opencompass.numpy_choice import LegacyChoice
from promptls.systems.opencompass.prompt_list import Row
from promptls.systems.opencompass.reader import Reader
from promptls.systems.opencompass.retriever_keys import LEGACY_RETRIEVER_KEYS, RETRIEVER_ARGUMENTS, RETRIEVERS

Embed: TypeAlias = Callable[[Sequence[str], str], Sequence[Sequence[float]]]
"""The embeddings of texts by a sentence model of this name."""
Pick: TypeAlias = Callable[[int], list[int]]
"""The training rows, by index, for a row that is asked, by index."""

_SEED: Final = 43
_SENTENCE_MODEL: Final = "all-mpnet-base-v2"
HERE: Final = ("retriever",)


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


def build_retriever(config: Mapping[str, Any] | None) -> Retriever:
    """The retriever that `config` describes; none is `ZeroRetriever`. Raises OpenCompassError."""
    config = config or {}
    kind = str(config.get("type", "ZeroRetriever")).rsplit(".", 1)[-1]
    if kind not in RETRIEVER_ARGUMENTS:
        known = kind in RETRIEVERS
        raise OpenCompassError(
            f"What `{kind}` picks depends on a model: it can be seen in OpenCompass only."
            if known
            else f"`{kind}` is no retriever of OpenCompass: promptls cannot tell what it picks.",
            cause="NotImplementedError",
            is_opencompass=False,
            at=(*HERE, "type"),
        )
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
    embed: Embed | None = None,
) -> Pick:
    """What the retriever picks of `train` for each row of `test`; raises OpenCompassError.

    `embed` is for `TopkRetriever`, which fails without it.
    """
    return explained(_pick(retriever, train, test, reader, embed))


def _pick(
    retriever: Retriever, train: Sequence[Row], test: Sequence[Row], reader: Reader, embed: Embed | None
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
    if retriever.kind == "TopkRetriever":
        return _nearest(retriever, train, test, reader, embed)
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


def _nearest(
    retriever: Retriever, train: Sequence[Row], test: Sequence[Row], reader: Reader, embed: Embed | None
) -> Pick:
    """The rows whose embeddings have the largest inner product with the question's."""
    if embed is None:
        raise OpenCompassError(
            "`TopkRetriever` compares rows by the embeddings of a sentence model, and there is none here: "
            "install `sentence-transformers` and put the model on this machine, or take another retriever.",
            cause="ModuleNotFoundError",
            is_opencompass=False,
            at=(*HERE, "type"),
        )
    model = str(retriever.arguments.get("sentence_transformers_model_name", _SENTENCE_MODEL))
    known = embed([reader.input_text(row) for row in train], model)

    def pick(index: int) -> list[int]:
        (asked,) = embed([reader.input_text(test[index])], model)
        products = [sum(map(float.__mul__, map(float, asked), map(float, each))) for each in known]
        order = sorted(range(len(products)), key=lambda row: -products[row])
        return order[: retriever.count]

    return pick
