"""The training rows that are chosen by embeddings: the nearest ones, and those with most votes.

Source: `icl_topk_retriever.py` and `icl_votek_retriever.py` of OpenCompass 0.5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.systems.opencompass.failure import OpenCompassError

Vectors: TypeAlias = Sequence[Sequence[float]]

DEFAULT_MODEL: Final = "all-mpnet-base-v2"
_PLACE: Final = ("retriever",)


class SentenceModel(NamedTuple):
    """A model that embeds texts. Where the asked one is not here it may be another: `name` tells."""

    name: str
    embed: Callable[[Sequence[str]], Vectors]


def nearest(
    texts: Sequence[str], asked: Callable[[int], str], count: Any, model: SentenceModel
) -> Callable[[int], list[int]]:
    """For the row of an index, the `count` of `texts` with the largest inner products, by index.

    Where there are fewer, -1 fills up, as the index that OpenCompass asks does; it is the last row.
    """
    import numpy as np

    known = _matrix(texts, model, np)

    def pick(index: int) -> list[int]:
        products = known @ np.asarray(model.embed([asked(index)]), dtype="<f4")[0]
        found = [int(row) for row in np.argsort(-products, kind="stable")[:count]]
        return found + [-1] * (count - len(found))

    return pick


def voted(texts: Sequence[str], count: int, neighbours: int, model: SentenceModel) -> list[int]:
    """The `count` of `texts` that most others have among their nearest `neighbours`, by index.

    A text counts only where others vote for it than for one ahead of it. Raises OpenCompassError where
    too few count: OpenCompass then draws the rest by chance, without a seed.
    """
    import numpy as np

    known = _matrix(texts, model, np)
    known = known / np.maximum(np.linalg.norm(known, axis=1, keepdims=True), np.finfo("<f4").tiny)
    votes: dict[int, list[int]] = {}
    for voter in range(len(known)):
        order = np.argsort(known @ known[voter], kind="stable").tolist()
        for row in order[-neighbours - 1 : -1]:
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
            said="Sample larger than population or is negative",
            at=(*_PLACE, "ice_num"),
        )
    if len(chosen) < count:
        raise OpenCompassError(
            f"By votes `VotekRetriever` finds {len(chosen)} of {count} rows; OpenCompass draws the others "
            "by chance, so that nobody can tell which they are: lower `ice_num`, or raise `votek_k`.",
            cause="NotImplementedError",
            is_opencompass=False,
            at=(*_PLACE, "ice_num"),
        )
    return chosen


def _matrix(texts: Sequence[str], model: SentenceModel, np: Any) -> Any:
    if not texts:
        raise OpenCompassError(
            "There are no training rows to choose from.",
            cause="ValueError",
            said="need at least one array to stack",
            at=_PLACE,
        )
    return np.asarray(model.embed(texts), dtype="<f4")
