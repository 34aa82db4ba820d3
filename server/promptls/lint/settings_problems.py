"""Problems in a project's settings, including unknown names of rules, datasets, metrics and models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final, TypeAlias

from promptls.dialects.opencompass.meta_template import build_layout
from promptls.dialects.opencompass.prompt_list import OpenCompassError
from promptls.dialects.opencompass.vocabulary import META_KEYS, META_ROLE_KEYS
from promptls.lint.analysis.declared_experiments import NameProblem, wrong_options, wrong_thresholds
from promptls.lint.fixes.misspellings import near_file, near_folder
from promptls.lint.registry import RULES_BY_NAME
from promptls.lint.rules.experiments.models_and_metrics import (
    metric_models,
    metric_problem,
    model_problem,
    retirement,
)
from promptls.lint.rules.experiments.named_datasets import dataset_problem
from promptls.lint.rules.header.declarations import encoding_problem
from promptls.lint.runner import severity_of
from promptls.models.model_names import PROVIDERS, provider_shadowed_by, shadowing_message
from promptls.security.files import current_scope, is_file, is_folder
from promptls.settings.valid_part import MAX_PROBLEMS
from promptls.text.errors import FilePlace
from promptls.text.suggest import did_you_mean, is_close, is_typo
from promptls.workspace.settings import ProjectFile, SettingsProblem, place_of_setting, place_order

_Keys: TypeAlias = tuple[str | int, ...]
_Problem: TypeAlias = tuple[_Keys, str]
"""The keys that lead to a setting, and what is wrong with it."""


def settings_problems(project: ProjectFile) -> tuple[SettingsProblem, ...]:
    """Return the problems of the settings themselves, and the names in them that cannot be resolved.

    The names are those of rules, the encoding, the functions file, template folders, models, and the
    datasets, metrics and models of experiments. Names are not checked if the rule for them is off.
    """
    named = chain(
        _unknown_rules(project),
        _unknown_encoding(project),
        _large_step(project),
        _missing_functions(project),
        _missing_template_paths(project),
        _unknown_in_experiments(project),
        _wrong_metrics(project),
        _shadowing_models(project),
        _wrong_models(project),
        _retired_models(project),
        _unknown_rate_limits(project),
        _wrong_addresses(project),
        _wrong_meta_templates(project),
    )
    found = [
        *project.problems,
        *(
            SettingsProblem(place_of_setting(project, keys), text)
            for keys, text in islice(named, MAX_PROBLEMS)
        ),
    ]
    if next(named, None) is not None:
        place = FilePlace(project.path) if project.path is not None else None
        message = f"{MAX_PROBLEMS} names in these settings lead to nothing; the others are not looked up"
        found.append(SettingsProblem(place, message))
    return tuple(sorted(found, key=lambda problem: place_order(problem.place)))


def _unknown_rules(project: ProjectFile) -> Iterator[_Problem]:
    for name in project.settings.rules:
        if name not in RULES_BY_NAME:
            yield ("rules", name), f"there is no rule `{name}`{did_you_mean(name, RULES_BY_NAME)}"


def _unknown_encoding(project: ProjectFile) -> Iterator[_Problem]:
    problem = encoding_problem(project.settings.encoding, project.root, "in the folder of these settings")
    if problem is not None:
        yield ("encoding",), f"`encoding`: {problem.message}"


def _large_step(project: ProjectFile) -> Iterator[_Problem]:
    limit, step = project.settings.token_limit, project.settings.truncation_step
    if limit is not None and step is not None and 0 < limit < step:
        message = f"each truncation removes {step} tokens or more, and only {limit} are allowed"
        yield ("truncation_step",), message


def _missing_functions(project: ProjectFile) -> Iterator[_Problem]:
    named = project.settings.functions
    if not named or not current_scope().allows(project.root / named) or is_file(project.root / named):
        return
    message = f"`functions`: there is no file `{named}` in the folder of these settings"
    if is_folder(project.root / named):
        message = f"`functions`: `{named}` is a folder, and no Python file"
    near = near_file(project.root / named, named, (".py",))
    meant = f"; did you mean `{near}`?" if near else ""
    yield ("functions",), message + meant


def _missing_template_paths(project: ProjectFile) -> Iterator[_Problem]:
    """Yield the folders in `template_paths` that do not exist, with the name of a similar folder."""
    for index, named in enumerate(project.settings.template_paths):
        folder = project.root / named
        if not current_scope().allows(folder) or is_folder(folder):
            continue
        keys = ("template_paths", index)
        if is_file(folder):
            yield keys, f"`template_paths`: `{named}` is a file, and no folder"
            continue
        near = near_folder(folder, named)
        meant = f"; did you mean `{near}`?" if near else ""
        yield keys, f"`template_paths`: there is no folder `{named}` in the folder of these settings{meant}"


def _unknown_in_experiments(project: ProjectFile) -> Iterator[_Problem]:
    beside = "these settings" if project.path is None else f"`{project.path.name}`"
    for name, declared in project.settings.experiments.items():
        found = {
            ("dataset", "unknown-dataset"): [
                dataset_problem(declared.dataset, project.root / declared.dataset, beside)
            ],
            ("models", "unknown-model"): [
                model_problem(model, project.settings, project.root) for model in declared.models
            ],
            ("metrics", "unknown-metric"): [
                metric_problem(metric, project.root, beside, project.settings.metrics)
                for metric in declared.metrics
            ],
        }
        for (key, rule), problems in found.items():
            for index, problem in enumerate(problems):
                if problem is not None and severity_of(RULES_BY_NAME[rule], project.settings) is not None:
                    item = () if key == "dataset" else (index,)
                    yield ("experiments", name, key, *item), f"experiment `{name}`: {problem.text}"
        if severity_of(RULES_BY_NAME["unknown-metric"], project.settings) is None:
            continue
        if not any(found["metrics", "unknown-metric"]):
            for metric, wrong in wrong_thresholds(declared, project.root, project.settings.metrics):
                yield ("experiments", name, "thresholds", metric), f"experiment `{name}`: {wrong.text}"


def _wrong_metrics(project: ProjectFile) -> Iterator[_Problem]:
    """Yield metrics whose `use` is unknown, and options that their metric does not accept."""
    if severity_of(RULES_BY_NAME["unknown-metric"], project.settings) is None:
        return
    beside = "these settings" if project.path is None else f"`{project.path.name}`"
    for name, metric in project.settings.metrics.items():
        found: list[tuple[tuple[str, ...], NameProblem | None]] = [
            (("use",), metric_problem(metric.use, project.root, beside))
        ]
        for wrong in wrong_options(metric, project.root):
            option = ("columns", wrong.name) if wrong.below else (wrong.name,)
            found.append((option, NameProblem(wrong.message, wrong.meant)))
        for keys, problem in found:
            if problem is not None:
                yield ("metrics", name, *keys), f"metric `{name}`: {problem.text}"


def _shadowing_models(project: ProjectFile) -> Iterator[_Problem]:
    """Yield the models that have the same name as a provider's model; no rule turns this off."""
    for name in project.settings.models:
        if (provider := provider_shadowed_by(name)) is not None:
            # A name with escape sequences is not found in the text.
            yield _nearest(project, ("models", name)), shadowing_message(name, provider)


def _wrong_models(project: ProjectFile) -> Iterator[_Problem]:
    """Yield the unknown models of metrics, of `judge` and `default_model`, and of the `models` table."""
    if severity_of(RULES_BY_NAME["unknown-model"], project.settings) is None:
        return
    for name, metric in project.settings.metrics.items():
        for key, wrong_model in metric_models(metric, project.settings):
            yield ("metrics", name, key), f"metric `{name}`: {wrong_model.text}"
    for key, model in (("judge", project.settings.judge), ("default_model", project.settings.default_model)):
        problem = model_problem(model, project.settings, project.root) if model is not None else None
        if problem is not None:
            yield (key,), f"`{key}`: {problem.text}"
    for name in project.settings.models:
        if provider_shadowed_by(name) is not None:
            continue
        problem = model_problem(name, project.settings)
        if problem is not None:
            yield ("models", name, "provider"), f"model `{name}`: {problem.text}"


def _retired_models(project: ProjectFile) -> Iterator[_Problem]:
    """Yield the retired models in `models`, experiments, metrics, `judge` and `default_model`."""
    settings = project.settings
    if severity_of(RULES_BY_NAME["retired-model"], settings) is None:
        return
    named: list[tuple[tuple[str | int, ...], str | None]] = [
        *((("models", name, "model"), name) for name in settings.models),
        (("judge",), settings.judge),
        (("default_model",), settings.default_model),
        *((("metrics", name, "model"), metric.model) for name, metric in settings.metrics.items()),
    ]
    for experiment, declared in settings.experiments.items():
        named += [
            (("experiments", experiment, "models", index), name) for index, name in enumerate(declared.models)
        ]
    for keys, name in named:
        # A model that the settings name themselves is reported where they do.
        if name is None or (name in settings.models and keys[0] != "models"):
            continue
        if (message := retirement(name, settings)) is not None:
            yield keys, message


_PARAMETERS: Final = {
    "temperature": (int, float),
    "top_p": (int, float),
    "max_tokens": (int,),
    "seed": (int,),
    "frequency_penalty": (int, float),
    "presence_penalty": (int, float),
}
"""Parameters that most providers have, and their types."""


def _wrong_addresses(project: ProjectFile) -> Iterator[_Problem]:
    """Yield addresses of models that no client can use, and parameters that no provider accepts."""
    for name, model in project.settings.models.items():
        address = model.base_url
        if address is not None and not address.startswith(("http://", "https://")):
            message = f"`base_url` of `{name}` begins with `http://` or `https://`"
            yield ("models", name, "base_url"), message
        elif address is not None and address.rstrip("/").endswith("/chat/completions"):
            message = f"`base_url` of `{name}` ends before `/chat/completions`, which each request adds"
            yield ("models", name, "base_url"), message
        for key, value in model.parameters.items():
            keys = ("models", name, "parameters", key)
            types = _PARAMETERS.get(key)
            if types is None and (meant := next((each for each in _PARAMETERS if is_typo(key, each)), None)):
                yield keys, f"`{key}` is probably a typo of `{meant}`"
            elif types is not None and (isinstance(value, bool) or not isinstance(value, types)):
                yield keys, f"`{key}` is a number, and not {json.dumps(value, default=str)}"


def _wrong_meta_templates(project: ProjectFile) -> Iterator[_Problem]:
    """Yield the meta templates that OpenCompass rejects, and the misspelled keys that it ignores."""
    for name, meta in project.settings.meta_templates.items():
        if misspelled := list(_misspelled_meta_keys(project, name, meta)):
            yield from misspelled
            continue
        try:
            build_layout(meta)
        except OpenCompassError as error:
            at = ("meta_templates", name, *error.at[1:])  # the first one is the key of a file
            yield _nearest(project, at), f"meta template `{name}`: {error.message}"


def _misspelled_meta_keys(project: ProjectFile, name: str, meta: Any) -> Iterator[_Problem]:
    roles = [
        (("meta_templates", name, key, index), role, META_ROLE_KEYS)
        for key in ("round", "reserved_roles")
        for index, role in enumerate(meta.get(key) or () if isinstance(meta, dict) else ())
    ]
    for path, value, known in ((("meta_templates", name), meta, META_KEYS), *roles):
        for key in value if isinstance(value, dict) else ():
            meant = next((each for each in sorted(known) if is_close(str(key), each)), None)
            if key not in known and meant is not None:
                message = f"OpenCompass ignores `{key}`; did you mean `{meant}`?"
                yield _nearest(project, (*path, key)), message


def _nearest(project: ProjectFile, keys: _Keys) -> _Keys:
    """Return the keys of a setting that is in the file, or of the nearest one around it that is."""
    around = (keys[:length] for length in range(len(keys), 0, -1))
    return next((each for each in around if place_of_setting(project, each) is not None), keys)


def _unknown_rate_limits(project: ProjectFile) -> Iterator[_Problem]:
    for name in project.settings.rate_limits:
        provider = name.partition(":")[0]
        if provider not in PROVIDERS and name not in project.settings.models:
            known = (*PROVIDERS, *project.settings.models)
            message = f"`rate_limits`: there is no provider `{provider}`{did_you_mean(provider, known)}"
            yield ("rate_limits", name), message
