"""What a job for an evaluation prompt says beside the template: its rows, and how a model lays it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from promptls.rendering.values import pack, unpack


@dataclass(frozen=True, slots=True)
class EvaluationData:
    """Where the rows are: absolute paths of data sets, and the rows that the prompt itself declares."""

    test: str | None = None
    train: str | None = None
    examples: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationJob:
    """The rows, the row to show, how many rows from there on, and the meta templates to choose from."""

    data: EvaluationData = field(default_factory=EvaluationData)
    row: int | None = None
    """The asked row, from 1; None for the one whose values are the job's data."""
    rows: int = 1
    """How many rows are shown, the asked one first; 0 for all."""
    meta_template: str | None = None
    """The chosen meta template's name; None for the first that there is."""
    meta_templates: Mapping[str, Any] = field(default_factory=dict)
    """Those that header and settings name."""

    def to_json(self) -> dict[str, Any]:
        """The job as JSON."""
        return {
            "test": self.data.test,
            "train": self.data.train,
            "examples": pack(list(self.data.examples)),
            "row": self.row,
            "rows": self.rows,
            "meta_template": self.meta_template,
            "meta_templates": pack(self.meta_templates),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> EvaluationJob:
        """The job that `to_json` wrote."""
        return cls(
            data=EvaluationData(value["test"], value["train"], tuple(unpack(value["examples"]))),
            row=value["row"],
            rows=value["rows"],
            meta_template=value["meta_template"],
            meta_templates=unpack(value["meta_templates"]),
        )
