"""Evaluation samples, of a single turn or a conversation, and datasets of samples."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from promptls.text.suggest import did_you_mean


class ToolCall(BaseModel):
    """A tool call by an agent."""

    name: str
    args: dict[str, Any]


class HumanMessage(BaseModel):
    """A message from the user."""

    type: Literal["human"] = "human"
    content: str
    metadata: dict[str, Any] | None = None


class AIMessage(BaseModel):
    """A message from the agent, with its tool calls."""

    type: Literal["ai"] = "ai"
    content: str = ""
    tool_calls: list[ToolCall] | None = None
    metadata: dict[str, Any] | None = None


class ToolMessage(BaseModel):
    """The result of a tool call."""

    type: Literal["tool"] = "tool"
    content: str
    metadata: dict[str, Any] | None = None


Message = Annotated[HumanMessage | AIMessage | ToolMessage, Field(discriminator="type")]


class _Sample(BaseModel):
    """The base class of samples; unknown fields are left out with a warning, as they are probably typos."""

    model_config = ConfigDict(extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _warn_of_unknown_fields(cls, given: Any) -> Any:
        known = sorted(cls.model_fields)
        for name in given.keys() - cls.model_fields.keys() if isinstance(given, Mapping) else ():
            meant = did_you_mean(str(name), known)
            warnings.warn(f"{cls.__name__} has no field `{name}`{meant}: it is left out", stacklevel=3)
        return given

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are not None."""
        return self.model_dump(exclude_none=True)

    def get_features(self) -> list[str]:
        """Return the names of the fields that are not None."""
        return list(self.to_dict())


class SingleTurnSample(_Sample):
    """A question and its answer, with contexts and references; the fields are those of Ragas."""

    user_input: str | None = None
    retrieved_contexts: list[str] | None = None
    reference_contexts: list[str] | None = None
    retrieved_context_ids: list[str | int] | None = None
    reference_context_ids: list[str | int] | None = None
    response: str | None = None
    multi_responses: list[str] | None = None
    reference: str | None = None
    rubrics: dict[str, str] | None = None
    persona_name: str | None = None
    query_style: str | None = None
    query_length: str | None = None


class MultiTurnSample(_Sample):
    """A conversation with its references; the fields are those of Ragas."""

    user_input: list[Message]
    reference: str | None = None
    reference_tool_calls: list[ToolCall] | None = None
    rubrics: dict[str, str] | None = None
    reference_topics: list[str] | None = None

    def pretty_repr(self) -> str:
        """Return the conversation as text, one line per message."""
        return "\n".join(
            f"{each.type}: {each.content}"
            + "".join(f"\n  {call.name}({call.args})" for call in getattr(each, "tool_calls", None) or ())
            for each in self.user_input
        )


Sample = SingleTurnSample | MultiTurnSample


def sample_of(row: Sample | Mapping[str, Any]) -> Sample:
    """Return the sample for a row: a conversation if `user_input` is a list.

    Unknown columns are ignored. Raises pydantic's ValidationError, a ValueError.
    """
    if isinstance(row, _Sample):
        return row
    kind = MultiTurnSample if isinstance(row.get("user_input"), list) else SingleTurnSample
    known = {name: value for name, value in row.items() if name in kind.model_fields}
    return kind.model_validate(known)


class EvaluationDataset:
    """An ordered list of samples: either all single-turn or all conversations."""

    def __init__(self, samples: Iterable[Sample | Mapping[str, Any]], *, name: str | None = None) -> None:
        """Create a dataset of samples or rows; raises ValueError if both kinds of samples are mixed."""
        self.samples: list[Sample] = [sample_of(each) for each in samples]
        self.name = name
        kinds = {type(each).__name__ for each in self.samples}
        if len(kinds) > 1:
            raise ValueError(f"All samples must be of one kind, but these are {' and '.join(sorted(kinds))}.")

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]], *, name: str | None = None) -> EvaluationDataset:
        """Create a dataset from rows."""
        return cls(data, name=name)

    from_dict = from_list

    @classmethod
    def from_pandas(cls, dataframe: Any, *, name: str | None = None) -> EvaluationDataset:
        """Create a dataset from the rows of a DataFrame; missing values become None."""
        rows = dataframe.astype(object).where(dataframe.notna(), None).to_dict(orient="records")
        return cls(rows, name=name)

    @classmethod
    def from_jsonl(cls, path: str | Path) -> EvaluationDataset:
        """Create a dataset from a JSON Lines file; raises OSError and ValueError."""
        lines = Path(path).read_text("utf-8").splitlines()
        return cls([json.loads(line) for line in lines if line.strip()])

    def to_list(self) -> list[dict[str, Any]]:
        """Return the samples as rows, without fields that are None."""
        return [each.to_dict() for each in self.samples]

    def to_pandas(self) -> Any:
        """Return the rows as a DataFrame; requires pandas."""
        return import_module("pandas").DataFrame(self.to_list())

    def to_jsonl(self, path: str | Path) -> None:
        """Write the samples as JSON Lines; raises OSError."""
        lines = [json.dumps(row, ensure_ascii=False) for row in self.to_list()]
        Path(path).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def to_csv(self, path: str | Path) -> None:
        """Write the rows as CSV, with lists and mappings as JSON; raises OSError."""
        rows = self.to_list()
        columns = list(dict.fromkeys(name for row in rows for name in row))
        with Path(path).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            for row in rows:
                cells = [row.get(name, "") for name in columns]
                writer.writerow(
                    [
                        cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
                        for cell in cells
                    ]
                )

    def features(self) -> list[str]:
        """Return the names of the fields that are set in any sample."""
        return list(dict.fromkeys(name for row in self.to_list() for name in row))

    def is_multi_turn(self) -> bool:
        """Return whether the samples are conversations."""
        return bool(self.samples) and isinstance(self.samples[0], MultiTurnSample)

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return EvaluationDataset(self.samples[index], name=self.name)
        return self.samples[index]

    def __repr__(self) -> str:
        return f"EvaluationDataset(features={self.features()}, len={len(self)})"
