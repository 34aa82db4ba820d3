"""What is to be rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from promptls.rendering.evaluation_job import EvaluationJob
from promptls.rendering.values import pack, unpack

Kind: TypeAlias = Literal["parts template", "prompt object", "evaluation prompt"]


@dataclass(frozen=True, slots=True)
class RenderJob:
    """One template, its data, and the limit to truncate to."""

    path: str
    """Absolute path of the template; included files are looked up from its folder."""
    text: str
    """The template's text, which may differ from what is saved."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The inputs by name: values that YAML can hold."""
    unsaved: Mapping[str, str] = field(default_factory=dict)
    """Texts of other files that count instead of what is saved, by absolute path."""
    functions: str | None = None
    """Absolute path of a Python file whose public functions the template may call. It is run."""
    stand_ins: tuple[str, ...] = ()
    """Functions that nobody gave, for a preview: each answers with its first argument."""
    encoding: str = "o200k_base"
    """The encoding, or the model, whose tokens are counted."""
    token_limit: int = -1
    """The most tokens that are to be kept; -1 for no limit."""
    truncation_step: int | None = None
    """Removal happens in multiples of this many tokens."""
    kind: Kind = "parts template"
    """What the rendered text holds: parts, a prompt object that becomes one message of the user, or
    an evaluation prompt that asks one row of a data set."""
    ragas_version: str | None = None
    """The release of Ragas that the project's prompt objects are for."""
    evaluation: EvaluationJob | None = None
    """Of an evaluation prompt, the rows and the meta template."""
    with_source_map: bool = False
    """Whether the rendering is to say where each of its characters comes from."""
    most_segments: int | None = None
    """A source map of about more segments than this is not made, and it leads from the parts only; None
    for one of any size, which leads from the rendered text too."""

    def to_json(self) -> dict[str, Any]:
        """The job as JSON; raises TypeError or ValueError for data that JSON cannot carry."""
        return {
            "path": self.path,
            "text": self.text,
            "data": pack(self.data),
            "unsaved": dict(self.unsaved),
            "functions": self.functions,
            "stand_ins": list(self.stand_ins),
            "encoding": self.encoding,
            "token_limit": self.token_limit,
            "truncation_step": self.truncation_step,
            "kind": self.kind,
            "with_source_map": self.with_source_map,
            "most_segments": self.most_segments,
            "ragas_version": self.ragas_version,
            "evaluation": self.evaluation.to_json() if self.evaluation else None,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RenderJob:
        """The job that `to_json` wrote."""
        evaluation = EvaluationJob.from_json(value["evaluation"]) if value.get("evaluation") else None
        data, stand_ins = unpack(value["data"]), tuple(value["stand_ins"])
        return cls(**{**value, "data": data, "stand_ins": stand_ins, "evaluation": evaluation})
