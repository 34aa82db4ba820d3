"""What one asking of one row came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Score:
    """What one metric says of one response; a value of None means that it could not say."""

    value: Any
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RowResult:
    """One line of a run: a row, the model that was asked, and the response or the `error`.

    `number` counts the row from 1, `line` is its line in the dataset from 0, `repeat` counts
    from 1. `seconds` is the model's time. `cost` is in US dollars, None if no price is known.
    `problem` says what is wrong with the form of the response, where a form is demanded. `cached` says that
    the response, with its tokens, seconds and cost, is that of an earlier call.
    """

    id: str
    number: int
    line: int
    model: str
    repeat: int
    values: Mapping[str, Any]
    response: str | None = None
    scores: Mapping[str, Score] = field(default_factory=dict)
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    finish_reason: str | None = None
    digest: str = ""
    problem: str | None = None
    cached: bool = False
    judging: Mapping[str, Any] | None = None
    """What the judges of the response took, as `JudgeAccount` counts it; None if none was asked."""
    unscored: Sequence[str] = ()
    """The metrics whose judge gave no verdict, which a run that goes on asks again."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON."""
        plain = {name: getattr(self, name) for name in _FIELDS}
        plain["scores"] = {
            name: {"value": score.value, "reason": score.reason} for name, score in self.scores.items()
        }
        return plain

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RowResult:
        """Return the result that `to_json` wrote."""
        scores = {name: Score(**score) for name, score in value["scores"].items()}
        return cls(**{**value, "scores": scores})


_FIELDS = tuple(field.name for field in fields(RowResult))
