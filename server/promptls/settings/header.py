"""The keys that a prompt file may declare about itself, declared once.

A parts template carries them in its header, a prompt object and an evaluation prompt at
their top level. The validation of headers, the JSON Schema, the completion of keys and
the documentation all come from this model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Engine: TypeAlias = Literal["local", "ray"]
"""Where an experiment's models are asked from: this machine, or the nodes of a Ray cluster."""


class InputKey(BaseModel):
    """What is known of one input: a JSON Schema, of which the common keywords are named here."""

    model_config = ConfigDict(extra="allow")

    type: str | list[str] | None = Field(None, description="JSON Schema type: `string`, `array`, `object`, …")
    description: str | None = Field(None, description="What the input holds, for people.")
    default: Any = Field(None, description="The value of the input where the caller passes none.")
    enum: list[Any] | None = Field(None, description="The only values that the input may have.")


class BudgetKey(BaseModel):
    """What one run may spend; a run that has spent it stops, and can be resumed."""

    model_config = ConfigDict(extra="forbid")

    calls: Annotated[int, Field(ge=1)] | None = Field(None, description="How often models may be asked.")
    tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Tokens that prompts and answers may have together."
    )
    cost: Annotated[float, Field(gt=0)] | None = Field(
        None, description="US dollars, where the price of the model is known."
    )


class NamedMetric(BaseModel):
    """A metric under a name of its own, with options: what is given here is no column of the data set."""

    model_config = ConfigDict(extra="allow")

    use: str = Field(description="The metric: a ready one, or `file.py:function`.")
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="Which column gives a parameter, where its name is another one.",
    )
    model: str | None = Field(
        None, description="The model that judges, as `provider:model`; unset means the project's `judge`."
    )

    @property
    def options(self) -> dict[str, Any]:
        """The values of parameters that are the same for every row."""
        return dict(self.model_extra or {})


class ExperimentKey(BaseModel):
    """One experiment: which rows, which models, which metrics."""

    model_config = ConfigDict(extra="forbid")

    dataset: str = Field(
        description="Path of the data set, from the prompt file's folder: `datasets/tickets.csv`."
    )
    models: list[str] = Field(
        default_factory=list,
        description="Models as `provider:model`, such as `local:smollm2`; empty means the project's default.",
    )
    metrics: list[str] = Field(
        default_factory=list,
        description="Metrics as `file.py:function`, or the name of a ready one or of one of `metrics`.",
    )
    repeats: Annotated[int, Field(ge=1, le=1000)] = Field(1, description="How often each row is asked.")
    concurrency: Annotated[int, Field(ge=1, le=1000)] = Field(4, description="Rows that are asked at once.")
    timeout: Annotated[float, Field(gt=0)] = Field(60.0, description="Seconds that one answer may take.")
    temperature: float | None = Field(
        None, description="Sampling temperature; unset means the model's default."
    )
    max_tokens: Annotated[int, Field(ge=1)] | None = Field(None, description="Longest answer, in tokens.")
    seed: int | None = Field(None, description="Seed of the sampling, where the model has one.")
    json_schema: dict[str, Any] | None = Field(
        None,
        description="JSON Schema that the model is held to, where it can be; overrides `output_schema`.",
    )
    engine: Engine | None = Field(
        None,
        description="Where models are asked from: `local`, this machine, or `ray`, the nodes of a Ray "
        "cluster; unset, as the project's `engine` says.",
    )
    budget: BudgetKey | None = Field(None, description="What one run may spend, in calls, tokens or money.")
    thresholds: dict[str, float] = Field(
        default_factory=dict,
        description="The worst score that each metric may have: a share such as `0.8`, or a mean. "
        "`promptls run` and the pytest plugin fail below it; above it, where less is better.",
    )


class Header(BaseModel):
    """Everything that a prompt file may say of itself; every key is optional."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(None, description="The prompt's name.")
    description: str | None = Field(None, description="What the prompt does, for people.")
    input_keys: list[str] | dict[str, InputKey | None] | None = Field(
        None,
        description="The inputs of the prompt: a list of names, or a mapping from name to JSON Schema.",
    )
    output_key: str | None = Field(None, description="The key of the output in `examples`.")
    output_type: str | None = Field(None, description="`json` or `str`: what the model is to answer.")
    output_schema: dict[str, Any] | None = Field(
        None,
        description="JSON Schema of the output; models that can are held to it.",
    )
    examples: list[dict[str, Any]] | None = Field(
        None,
        description="Examples: mappings that hold every input key and the output key.",
    )
    samples: str | None = Field(
        None,
        description="A JSON or YAML file with data to preview with: one mapping, or named mappings.",
    )
    functions: str | None = Field(
        None,
        description="A Python file whose functions the template may call; run only in a trusted workspace.",
    )
    ragas_version: str | None = Field(
        None,
        description="The release of Ragas, such as `0.1.21`, whose rules and text a prompt object follows.",
    )
    encoding: str | None = Field(None, description="The tiktoken encoding that tokens are counted with.")
    token_limit: Annotated[int, Field(gt=0)] | None = Field(
        None, description="The most tokens that the rendered prompt may have."
    )
    truncation_step: Annotated[int, Field(gt=0)] | None = Field(
        None, description="Truncation removes a multiple of this many tokens."
    )
    metrics: dict[str, NamedMetric] | None = Field(
        None, description="Metrics with options, by the names that experiments give them."
    )
    experiments: dict[str, ExperimentKey] | None = Field(None, description="Experiments by name.")


HEADER_KEYS: tuple[str, ...] = tuple(Header.model_fields)
"""The names of the header's keys, in the order of their declaration."""
