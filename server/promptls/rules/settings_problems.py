"""What is wrong in a project's settings: also names of rules, data sets, metrics and models."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.rules.check import severity_of
from promptls.rules.registry import RULES_BY_NAME
from promptls.rules.unknown_dataset import dataset_objection
from promptls.rules.unknown_metric import metric_objection
from promptls.rules.unknown_model import model_objection
from promptls.text.nearest import did_you_mean
from promptls.workspace.project_settings import ProjectFile, SettingsProblem, place_of_setting


def settings_problems(project: ProjectFile) -> tuple[SettingsProblem, ...]:
    """The problems of the settings themselves, and of the names in them that lead to nothing.

    These are rules whose severity is set, and the data sets, metrics and models of experiments, as far as
    the rules for them are not off.
    """
    found = (*project.problems, *_unknown_rules(project), *_unknown_in_experiments(project))
    return tuple(sorted(found, key=_order))


def _order(problem: SettingsProblem) -> tuple[int, int]:
    place = problem.place
    return (-1, 0) if place is None or place.line is None else (place.line, place.column or 0)


def _unknown_rules(project: ProjectFile) -> Iterator[SettingsProblem]:
    for name in project.settings.rules:
        if name not in RULES_BY_NAME:
            place = place_of_setting(project, ("rules", name))
            yield SettingsProblem(place, f"there is no rule `{name}`{did_you_mean(name, RULES_BY_NAME)}")


def _unknown_in_experiments(project: ProjectFile) -> Iterator[SettingsProblem]:
    beside = "these settings" if project.path is None else f"`{project.path.name}`"
    for name, declared in project.settings.experiments.items():
        found = {
            ("dataset", "unknown-dataset"): [
                dataset_objection(declared.dataset, project.root / declared.dataset, beside)
            ],
            ("models", "unknown-model"): [
                model_objection(model, project.settings) for model in declared.models
            ],
            ("metrics", "unknown-metric"): [
                metric_objection(metric, project.root, beside) for metric in declared.metrics
            ],
        }
        for (key, rule), objections in found.items():
            for objection in objections:
                if objection is not None and severity_of(RULES_BY_NAME[rule], project.settings) is not None:
                    place = place_of_setting(project, ("experiments", name, key))
                    yield SettingsProblem(place, f"experiment `{name}`: {objection.text}")
