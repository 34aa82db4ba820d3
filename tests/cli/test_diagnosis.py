from __future__ import annotations

from pathlib import Path

import pytest

from promptls.cli.diagnosis import Check, diagnose

SETTINGS = """\
default_model = "mine"
[models.mine]
provider = "openai"
model = "gpt-x"
api_key_env = "MY_SECRET_KEY"
"""


def found(folder: Path, environment: dict[str, str] | None = None) -> dict[str, Check]:
    return {f"{check.topic} {check.name}": check for check in diagnose(folder, environment or {})}


def test_this_installation_is_sound(tmp_path: Path) -> None:
    assert [check for check in diagnose(tmp_path, {}) if check.state == "broken"] == []


def test_every_declared_package_is_looked_for(tmp_path: Path) -> None:
    checks = found(tmp_path)
    assert {"packages pygls", "packages jinja2", "packages bpe-openai"} <= set(checks)
    assert "packages ruff" not in checks


def test_both_encodings_load(tmp_path: Path) -> None:
    checks = found(tmp_path)
    assert checks["tokens o200k_base"].state == checks["tokens cl100k_base"].state == "fine"


def test_a_wrong_setting_is_shown_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('encodin = "o200k_base"\n')
    check = found(tmp_path)["settings file"]
    assert check.state == "broken"
    assert "`encoding`" in check.detail
    assert str(tmp_path / "promptls.toml") in str(check.remedy)


def test_a_key_is_named_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "promptls.toml").write_text(SETTINGS)
    monkeypatch.setenv("MY_SECRET_KEY", "sk-12345")
    checks = diagnose(tmp_path, {"MY_SECRET_KEY": "sk-12345"})
    assert Check("keys", "MY_SECRET_KEY", "fine", "is set") in checks
    assert "sk-12345" not in repr(checks)


def test_the_default_model_is_looked_for_first(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('default_model = "locl:smollm2"\n')
    models = [check for check in diagnose(tmp_path, {}) if check.topic == "models"]
    assert (models[0].name, models[0].state) == ("locl:smollm2", "broken")
    assert "local:smollm2" in str(models[0].remedy)


def test_a_program_that_is_not_there_is_no_failure(tmp_path: Path) -> None:
    assert found(tmp_path, {"PATH": str(tmp_path)})["editors VS Code"].state == "absent"
