"""The fully resolved experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from promptls.experiments.budget import NO_BUDGET, Budget
from promptls.models.model import ModelReference
from promptls.rendering.job import EvaluationJob
from promptls.rendering.job import Kind as RenderKind
from promptls.settings.header import Engine, NamedMetric
from promptls.settings.project import RateLimitSettings


@dataclass(frozen=True, slots=True)
class Experiment:
    """The resolved configuration of a run; all paths are absolute."""

    name: str
    prompt: Path
    text: str
    """The prompt file's text, which may be unsaved."""
    folder: Path
    base: Path
    """The folder that paths of datasets and metrics are relative to."""
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
    input_types: Mapping[str, str]
    """The declared JSON Schema types of the inputs."""
    unsaved: Mapping[str, str]
    """Unsaved texts of included files, by absolute path."""
    functions: Path | None
    encoding: str
    token_limit: int
    truncation_step: int | None
    rendering: RenderKind
    ragas_version: str | None
    """The Ragas release of the project's prompt objects."""
    rendering_seconds: float
    rendering_megabytes: int
    evaluation: EvaluationJob | None = None
    """The rows and meta templates of an evaluation prompt."""
    output_is_json: bool = False
    """Whether answers must be JSON."""
    budget: Budget = NO_BUDGET
    rate_limits: Mapping[str, RateLimitSettings] = field(default_factory=dict)
    """Rate limits by provider or by model name."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """The worst acceptable score, by metric."""
    named_metrics: Mapping[str, NamedMetric] = field(default_factory=dict)
    """The metrics with options that the prompt and the project declare, by name."""
    judge: str | None = None
    """The default judge of metrics."""
    judges: Mapping[str, ModelReference] = field(default_factory=dict)
    """The judge models, by their names in metrics and settings."""
    embedders: Mapping[str, ModelReference] = field(default_factory=dict)
    """The embedding models, by their names in metrics."""
    ask_above_cost: float = 1.0
    """Cost in US dollars above which a run requires confirmation."""
    ask_above_calls: int = 1000
    """Number of calls of models without a known price above which a run requires confirmation."""
    engine: Engine = "local"
    """Where models are called from: `local` or `ray`."""
    ray_address: str | None = None
    """The address of the cluster, if the engine is `ray` and an address is configured."""
    ray_from_project: bool = False
    """Whether the address comes from project settings."""
    environment: tuple[str, ...] = ()
    """The environment variables that functions and metrics may read."""


def override_values(
    experiment: Experiment,
    *,
    concurrency: int | None = None,
    timeout: float | None = None,
    repeats: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
) -> Experiment:
    """Return the experiment with declared values overridden by the arguments.

    Arguments that are None do not override anything.
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
    """Return the experiment with the engine replaced.

    None leaves the declared engine, but an address alone implies `ray`.
    """
    return replace(
        experiment,
        engine=engine or ("ray" if ray_address else experiment.engine),
        ray_address=ray_address or experiment.ray_address,
        ray_from_project=experiment.ray_from_project and not ray_address,
    )
