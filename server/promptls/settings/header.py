"""The header keys of a prompt file.

In a parts template they are in the header, in a prompt object or an evaluation prompt at
the top level. Validation, JSON Schema, completion and documentation use this model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field, field_validator

Engine: TypeAlias = Literal["local", "ray"]
"""Where an experiment asks its models from: this machine, or the nodes of a Ray cluster."""


class StrictKeys(BaseModel, extra="forbid", defer_build=True):
    """Keys that exclude others."""


class InputKey(StrictKeys, extra="allow"):
    """An input: a JSON Schema. Common keywords are listed here."""

    type: str | list[str] | None = Field(None, description="JSON Schema type: `string`, `array`, `object`, …")
    description: str | None = Field(None, description="Description for people.")
    default: Any = Field(None, description="Default value if the caller passes none.")
    enum: list[Any] | None = Field(None, description="All allowed values.")


class BudgetKey(StrictKeys):
    """What one run may spend. A run stops when its budget is spent, and can be resumed."""

    calls: Annotated[int, Field(ge=1)] | None = Field(None, description="Maximum number of model calls.")
    tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Maximum number of tokens of prompts and answers together."
    )
    cost: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Maximum cost in US dollars, if the model's price is known."
    )


class NamedMetric(StrictKeys, extra="allow"):
    """A named metric with options. Options replace columns of the dataset."""

    use: str = Field(description="The metric: a built-in one, or `file.py:function`.")
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="The column of each parameter whose name differs from it.",
    )
    model: str | None = Field(
        None, description="The judge, as `provider:model`. By default the project's `judge`."
    )

    @property
    def options(self) -> dict[str, Any]:
        """The values of parameters that are the same for every row."""
        return dict(self.model_extra or {})


class ExperimentKey(StrictKeys):
    """An experiment: dataset, models and metrics."""

    dataset: str = Field(
        description="Path of the dataset, relative to the prompt file: `datasets/tickets.csv`."
    )
    models: list[str] = Field(
        default_factory=list,
        description="Models as `provider:model`, such as `local:smollm2`. Default: `default_model`.",
    )
    metrics: list[str] = Field(
        default_factory=list,
        description="Metrics: `file.py:function`, a built-in one, or a name in `metrics`.",
    )
    repeats: Annotated[int, Field(ge=1, le=1000)] = Field(
        1, description="How often each row is sent to the model."
    )
    concurrency: Annotated[int, Field(ge=1, le=1000)] = Field(
        4, description="Number of rows to ask at the same time."
    )
    timeout: Annotated[float, Field(gt=0)] = Field(60.0, description="Maximum seconds per answer.")
    temperature: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Sampling temperature. By default the model's."
    )
    max_tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Maximum number of tokens per answer."
    )
    seed: int | None = Field(None, description="Random seed, if the model supports it.")
    json_schema: dict[str, Any] | None = Field(
        None,
        description="JSON Schema of the answer, enforced if the model supports it. Overrides "
        "`output_schema`.",
    )
    engine: Engine | None = Field(
        None,
        description="`local` (ask models from this machine) or `ray` (from the nodes of a Ray cluster). By "
        "default the project's `engine`.",
    )
    budget: BudgetKey | None = Field(None, description="What one run may spend: calls, tokens or money.")
    thresholds: dict[str, float] = Field(
        default_factory=dict,
        description="The minimum score per metric, or the maximum if less is better: a share such as "
        "`0.8`, or a mean. `promptls run` and the pytest plugin fail if it is missed.",
    )


class Header(StrictKeys):
    """The header of a prompt file. All keys are optional."""

    name: str | None = Field(None, description="The prompt's name.")
    description: str | None = Field(None, description="Description for people.")
    input_keys: list[str] | dict[str, InputKey | None] | None = Field(
        None,
        description="The inputs of the prompt: a list of names, or a mapping of names to JSON Schemas.",
    )
    output_key: str | None = Field(None, description="The key of the output in `examples`.")
    output_type: str | None = Field(None, description="Type of the answer: `json` or `str`.")
    output_schema: dict[str, Any] | None = Field(
        None,
        description="JSON Schema of the output, enforced if the model supports it.",
    )
    examples: list[dict[str, Any]] | None = Field(
        None,
        description="Examples: mappings with all input keys and the output key.",
    )
    samples: str | None = Field(
        None,
        description="A JSON or YAML file with preview data: one mapping, or named mappings.",
    )
    functions: str | None = Field(
        None,
        description="A Python file with functions for the template. Runs only in trusted folders.",
    )
    ragas_version: str | None = Field(
        None,
        description="The Ragas version of a prompt object, such as `0.1.21`.",
    )
    encoding: str | None = Field(
        None,
        description="The tiktoken encoding for counting tokens, or the `tokenizer.json` file of an open "
        "model.",
    )
    token_limit: Annotated[int, Field(gt=0)] | None = Field(
        None, description="The maximum number of tokens of the rendered prompt."
    )
    truncation_step: Annotated[int, Field(gt=0)] | None = Field(
        None, description="Truncation removes a multiple of this number of tokens."
    )
    metrics: dict[str, NamedMetric] = Field(
        default_factory=dict, description="Metrics with options, by the name that experiments use."
    )
    experiments: dict[str, ExperimentKey] = Field(default_factory=dict, description="Experiments by name.")

    @field_validator("metrics", "experiments", mode="before")
    @classmethod
    def _without_value(cls, written: object) -> object:
        """Read a key without a value as an empty mapping."""
        return {} if written is None else written

    def input_types(self) -> dict[str, str]:
        """Return the JSON Schema types of the inputs; an input that may have several types has none."""
        declared = self.input_keys if isinstance(self.input_keys, dict) else {}
        return {name: key.type for name, key in declared.items() if key and isinstance(key.type, str)}


HEADER_KEYS: tuple[str, ...] = tuple(Header.model_fields)
"""The names of the header's keys, in the order of their declaration."""
