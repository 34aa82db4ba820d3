"""What is wrong in a project's settings, names of rules included."""

from __future__ import annotations

from promptls.rules.registry import RULES_BY_NAME
from promptls.text.nearest import did_you_mean
from promptls.workspace.project_settings import ProjectFile, SettingsProblem, place_of_setting


def settings_problems(project: ProjectFile) -> tuple[SettingsProblem, ...]:
    """The problems of the settings, and those severities that are set for rules that there are none of."""
    unknown = (
        SettingsProblem(
            place_of_setting(project, ("rules", name)),
            f"there is no rule `{name}`{did_you_mean(name, RULES_BY_NAME)}",
        )
        for name in project.settings.rules
        if name not in RULES_BY_NAME
    )
    return (*project.problems, *unknown)
