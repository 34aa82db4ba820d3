"""An experiment with all that a run of it needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from promptls.experiments.budget import NO_BUDGET, Budget
from promptls.models.model import ModelReference
from promptls.rendering.job import EvaluationJob
from promptls.rendering.job import Kind as RenderKind
from promptls.settings.header import Engine

if TYPE_CHECKING:
    from promptls.settings.header import NamedMetric


@dataclass(frozen=True, slots=True)
class Experiment:
    """Everything that a run needs to know; every path is absolute."""

    name: str
    prompt: Path
    text: str
    """The prompt file's text, which may differ from what is saved."""
    folder: Path
    """Where the results go."""
    base: Path
    """The folder that the paths of the dataset and the metrics are read from."""
    dataset: Path
    models: tuple[ModelReference, ...]
    metrics: tuple[str, ...]
    repeats: int
    concurrency: int
    timeout: float
    parameters: Mapping[str, Any]
    json_schema: Mapping[str, Any] | None
    output_key: str | None
    input_keys: tuple[str, ...]
    input_defaults: Mapping[str, Any]
    unsaved: Mapping[str, str]
    """Texts of included files that count in place of what is saved, by absolute path."""
    functions: Path | None
    encoding: str
    token_limit: int
    truncation_step: int | None
    rendering: RenderKind
    ragas_version: str | None
    """The release of Ragas that the project's prompt objects are for."""
    rendering_seconds: float
    rendering_megabytes: int
    evaluation: EvaluationJob | None = None
    """Of an evaluation prompt, the rows and the meta templates."""
    output_is_json: bool = False
    """Whether an answer that is no JSON is a wrong one."""
    budget: Budget = NO_BUDGET
    rate_limits: Mapping[str, RateLimit] = field(default_factory=dict)
    """By provider, or by the model's name."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """The worst score that each metric may have."""
    named_metrics: Mapping[str, NamedMetric] = field(default_factory=dict)
    """The metrics with options that the prompt and the project declare, by name."""
    judge: str | None = None
    """The model that judges where a metric names none."""
    judges: Mapping[str, ModelReference] = field(default_factory=dict)
    """The models that judge, by the names that metrics and settings give them."""
    embedders: Mapping[str, ModelReference] = field(default_factory=dict)
    """The models that make embeddings, by the names that metrics give them."""
    ask_above_cost: float = 1.0
    """US dollars that a run may cost without a question."""
    ask_above_calls: int = 1000
    """Calls of models without a known price that a run may make without a question."""
    engine: Engine = "local"
    """Where the models are asked from."""
    ray_address: str | None = None
    """Of the cluster, where the engine is `ray` and somebody says it."""
    ray_from_project: bool = False
    """Whether the settings of the project chose the address."""
    environment: tuple[str, ...] = ()
    """The variables that functions and metrics may read."""


class RateLimit(NamedTuple):
    """Requests and tokens that may go out in a minute; None is no limit."""

    requests_per_minute: float | None
    tokens_per_minute: float | None


def adjusted(
    experiment: Experiment,
    *,
    concurrency: int | None = None,
    timeout: float | None = None,
    repeats: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
) -> Experiment:
    """Return the experiment with what the caller says in place of what is declared.

    None leaves it as it is.
    """
    return replace(
        experiment,
        concurrency=concurrency or experiment.concurrency,
        timeout=timeout or experiment.timeout,
        repeats=repeats or experiment.repeats,
        parameters={**experiment.parameters, **(parameters or {})},
        budget=experiment.budget.under(budget) if budget else experiment.budget,
    )


def with_engine(experiment: Experiment, engine: Engine | None, ray_address: str | None) -> Experiment:
    """Return the experiment with this engine.

    None leaves what is declared, but an address alone means `ray`.
    """
    return replace(
        experiment,
        engine=engine or ("ray" if ray_address else experiment.engine),
        ray_address=ray_address or experiment.ray_address,
        ray_from_project=experiment.ray_from_project and not ray_address,
    )
