"""Resolving the experiment that a prompt and its project declare: rows, models and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from promptls.experiments.budget import Budget
from promptls.experiments.experiment import Experiment
from promptls.experiments.judging import judging_models
from promptls.experiments.manifest import results_folder
from promptls.models.keys import variables_named_by
from promptls.models.model import ModelReference
from promptls.models.model_names import find_model
from promptls.rendering.job import EvaluationJob
from promptls.rendering.make import JOB_KINDS, comparing_seconds, file_encoding
from promptls.rendering.samples import evaluation_data
from promptls.security.files import join_path, read_text
from promptls.security.processes import readable_variables
from promptls.semantic.evaluation_file import evaluation_of
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.settings.header import ExperimentKey, Header, NamedMetric
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import in_code
from promptls.text.positions import line_column, line_starts
from promptls.text.suggest import did_you_mean
from promptls.workspace.disk import source_of
from promptls.workspace.settings import ProjectFile, find_project


def evaluation_rows(
    template: Template, prompt: Path, dataset: Path, meta_templates: Mapping[str, Any]
) -> EvaluationJob:
    """Return the test rows of the experiment's dataset, and the rows for in-context examples."""
    data = replace(evaluation_data(template, str(prompt)), test=str(dataset))
    return EvaluationJob(data, meta_templates=meta_templates)


HOW_TO_DECLARE = (
    "declare one in the header or prompt object: "
    "`experiments: {main: {dataset: rows.csv, metrics: [exact_match]}}`"
)


def define_experiment(
    prompt: Path,
    name: str | None = None,
    *,
    unsaved: Mapping[str, str] | None = None,
    models: Sequence[str] = (),
    models_base: Path | None = None,
) -> Experiment:
    """Return the experiment `name` of the prompt file; by default the first one.

    `unsaved` contains unsaved texts of this file and of included files, by absolute path;
    `models` override the declared models, and their paths are relative to `models_base`, by default
    the folder of the prompt. Raises `UsageError` if the file, experiment, model or setting does not exist;
    nothing is run.
    """
    prompt = prompt.absolute()
    text = (unsaved or {}).get(str(prompt))
    content = _content(prompt) if text is None else text
    template = _template(prompt, content)
    header = template.declarations.settings
    if template.kind is Kind.OTHER and not header.experiments:
        remedy = "name a prompt with an experiment"
        if prompt.suffix == ".py":
            remedy = f"run `python {prompt.name}`, or a prompt with `--experiment {prompt.name}:NAME`"
        raise UsageError("this is not a prompt file", FilePlace(prompt), remedy)
    project = find_project(prompt)
    if project.problems:
        raise UsageError(project.problems[0].message, project.problems[0].place, "correct the settings")
    declared = _declared(prompt, name, header, project)
    base = (models_base or prompt.parent) if models else declared.base
    named = models or declared.keys.models or [project.settings.default_model]
    chosen_models = _models(named, project, prompt, base)
    return _experiment(prompt, content, template, declared, chosen_models, project, dict(unsaved or {}))


class _Declared(NamedTuple):
    """The name and the keys of an experiment, and the folder that its paths are relative to."""

    name: str
    keys: ExperimentKey
    base: Path


def _experiment(
    prompt: Path,
    content: str,
    template: Template,
    declared: _Declared,
    models: tuple[ModelReference, ...],
    project: ProjectFile,
    unsaved: Mapping[str, str],
) -> Experiment:
    name, keys, base = declared
    header, settings = template.declarations.settings, project.settings
    functions = header.functions or settings.functions
    functions_base = prompt.parent if header.functions else project.root
    dataset = _path_of(base, keys.dataset, prompt)
    named_metrics = {**settings.metrics, **header.metrics}
    judges, embedders = _judging(keys.metrics, named_metrics, project, prompt, base)
    evaluation = evaluation_of(template.source.whole) if template.kind is Kind.EVALUATION else None
    rows = evaluation_rows(template, prompt, dataset, settings.meta_templates) if evaluation else None
    variables = variables_named_by([*models, *judges.values(), *embedders.values()])
    budget = keys.budget
    parameters = {key: getattr(keys, key) for key in ("temperature", "max_tokens", "seed")}
    return Experiment(
        name=name,
        prompt=prompt,
        text=content,
        folder=results_folder(prompt, project),
        base=base,
        dataset=dataset,
        models=models,
        metrics=tuple(keys.metrics),
        repeats=keys.repeats,
        concurrency=keys.concurrency,
        timeout=keys.timeout,
        parameters={key: value for key, value in parameters.items() if value is not None},
        json_schema=keys.json_schema or header.output_schema,
        output_key=header.output_key or (evaluation.output_column if evaluation else None),
        input_keys=tuple(header.input_keys or ()),
        input_defaults=_defaults(header),
        input_types=header.input_types(),
        unsaved=unsaved,
        functions=join_path(functions_base, functions) if functions else None,
        encoding=file_encoding(header, project, prompt),
        token_limit=header.token_limit or settings.token_limit or -1,
        truncation_step=header.truncation_step or settings.truncation_step,
        rendering=JOB_KINDS.get(template.kind, "parts template"),
        evaluation=rows,
        ragas_version=settings.ragas_version,
        rendering_seconds=settings.rendering.timeout + comparing_seconds(evaluation),
        rendering_megabytes=settings.rendering.memory,
        output_is_json=(header.output_type or "").lower() == "json",
        budget=Budget(budget.calls, budget.tokens, budget.cost) if budget else Budget(),
        rate_limits=settings.rate_limits,
        thresholds=keys.thresholds,
        named_metrics=named_metrics,
        judge=settings.judge,
        judges=judges,
        embedders=embedders,
        ask_above_cost=settings.ask_above.cost,
        ask_above_calls=settings.ask_above.calls,
        engine=keys.engine or settings.engine,
        ray_address=settings.ray.address,
        ray_from_project=settings.ray.address is not None,
        environment=readable_variables(settings.environment, variables),
    )


def _path_of(base: Path, dataset: str, prompt: Path) -> Path:
    try:
        return join_path(base, dataset)
    except ValueError:
        raise UsageError(
            f"no dataset can have the name {dataset!r}", FilePlace(prompt), "name an existing file"
        ) from None


def _content(prompt: Path) -> str:
    try:
        return read_text(prompt, "utf-8-sig")
    except FileNotFoundError:
        others = [file.name for file in prompt.parent.glob("*.j2")] if prompt.parent.is_dir() else []
        raise UsageError(
            f"the prompt file does not exist{did_you_mean(prompt.name, others)}",
            FilePlace(prompt),
            "check the path",
        ) from None
    except IsADirectoryError:
        raise UsageError("this is a folder", FilePlace(prompt), "name a prompt file in it") from None
    except UnicodeDecodeError:
        raise UsageError("the prompt file is not UTF-8", FilePlace(prompt), "save it in UTF-8") from None
    except OSError as error:
        raise UserError(
            f"the prompt file cannot be read: {error.strerror}", FilePlace(prompt), "check its permissions"
        ) from None


def _declared(prompt: Path, name: str | None, header: Header, project: ProjectFile) -> _Declared:
    own = header.experiments
    shared = project.settings.experiments
    if name is None:
        if not own and not shared:
            raise UsageError("the prompt declares no experiment", FilePlace(prompt), HOW_TO_DECLARE)
        name = next(iter(own or shared))
    if name in own:
        return _Declared(name, own[name], prompt.parent)
    if name in shared:
        return _Declared(name, shared[name], project.root)
    known = [*own, *shared]
    raise UsageError(
        f"the prompt has no experiment `{name}`{did_you_mean(name, known)}",
        FilePlace(prompt),
        f"its experiments are {in_code(known)}" if known else HOW_TO_DECLARE,
    )


def _models(
    names: Sequence[str], project: ProjectFile, prompt: Path, base: Path
) -> tuple[ModelReference, ...]:
    named = project.settings.models
    try:
        return tuple(
            find_model(name, named, project.root if name in named else base) for name in dict.fromkeys(names)
        )
    except UsageError as error:
        raise UsageError(error.message, error.place or FilePlace(prompt), error.remedy) from None


def _judging(
    metrics: Sequence[str], named: Mapping[str, NamedMetric], project: ProjectFile, prompt: Path, base: Path
) -> tuple[dict[str, ModelReference], dict[str, ModelReference]]:
    try:
        return judging_models(metrics, named, project.settings, project.root, base)
    except UsageError as error:
        message = f"a metric names a model that judges: {error.message}"
        raise UsageError(message, error.place or FilePlace(prompt), error.remedy) from None


def _defaults(header: Header) -> dict[str, Any]:
    if not isinstance(header.input_keys, dict):
        return {}
    return {
        name: key.default
        for name, key in header.input_keys.items()
        if key is not None and "default" in key.model_fields_set
    }


def _template(prompt: Path, text: str) -> Template:
    """Return the parsed template; raises `UsageError` for the first invalid key of its declarations."""
    template = Template(source_of(str(prompt), text))
    problems = template.declarations.problems
    if problems:
        place = line_column(line_starts(text), problems[0].span.start)
        raise UsageError(problems[0].message, FilePlace(prompt, *place), "correct the header")
    return template
