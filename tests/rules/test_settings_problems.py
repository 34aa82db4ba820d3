from pathlib import Path

from promptls.rules.settings_problems import settings_problems
from promptls.workspace.project_settings import find_project


def test_a_severity_for_a_rule_that_does_not_exist_is_a_problem_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('[rules]\nunknown-role = "off"\nunknown-rol = "off"\n', "utf-8")

    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2"))

    assert problem.message == "there is no rule `unknown-rol`; did you mean `unknown-role`?"
    assert problem.place is not None
    assert problem.place.line == 2


def test_an_unknown_rule_of_the_editor_has_no_place(tmp_path: Path) -> None:
    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2", {"rules": {"no-such-rule": "off"}}))

    assert problem.place is None
