"""`python -m promptls` imports nothing from the folder that it is started in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import promptls
from promptls.cli.permission import install_model
from promptls.security.processes import find_program

pytestmark = pytest.mark.usefixtures("real_starts")

PACKAGES = str(Path(promptls.__file__).parents[1])
LIBRARIES = ["yaml", "jinja2", "orjson", "pygls", "lsprotocol", "pydantic", "regex", "rich", "platformdirs"]
PROMPT = "- name: a\n  role: user\n  content: hello\n"


def environment() -> dict[str, str]:
    """Return the environment without the measurement of coverage, which imports modules before promptls."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a prompt and modules with the names of all others, which write to the file
    `canary`.
    """
    folder = tmp_path_factory.mktemp("planted")
    (folder / "p.yml.j2").write_text(PROMPT, "utf-8")
    # `-m` itself imports a few, with the working folder first on the path, before anything can prevent it.
    (folder / "probe.py").write_text("import sys\nprint(*sys.modules)", "utf-8")
    probe = subprocess.run(
        [sys.executable, "-m", "probe"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    names = {*sys.stdlib_module_names, *LIBRARIES} - {name.partition(".")[0] for name in probe.stdout.split()}
    for name in names - {"probe"}:
        (folder / f"{name}.py").write_text(
            f"open({str(folder / 'canary')!r}, 'a').write('{name} ')\n", "utf-8"
        )
    assert {"yaml", "jinja2", "orjson", "typing", "json"} <= names
    return folder


@pytest.mark.parametrize(
    "words",
    [["--version"], ["check", "."], ["render", "p.yml.j2"], ["tokens", "p.yml.j2"], ["doctor"], ["server"]],
)
def test_a_command_in_a_folder_runs_none_of_its_modules(planted: Path, words: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "promptls", *words],
        cwd=planted,
        env={**environment(), "PYTHONPATH": PACKAGES},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    canary = planted / "canary"
    assert not canary.exists(), canary.read_text("utf-8")
    assert "Traceback" not in ended.stderr


def test_a_folder_that_the_user_puts_on_the_path_stays_there(tmp_path: Path) -> None:
    (tmp_path / "p.yml.j2").write_text(
        "{#---\nfunctions: f.py\n---#}\n- {name: a, role: user, content: '{{ f() }}'}\n"
    )
    (tmp_path / "f.py").write_text("from beside import word\ndef f():\n    return word\n", "utf-8")
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "beside.py").write_text("word = 'found'\n", "utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "promptls", "render", "../p.yml.j2"],
        cwd=folder,
        env={**environment(), "PYTHONPATH": os.pathsep.join([PACKAGES, str(folder)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "found" in ended.stdout, ended.stderr


def test_an_installation_runs_no_module_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"
    )
    command = [sys.executable, "-m", "planted"]
    monkeypatch.setattr("promptls.models.weights.installation", lambda _name: command)
    monkeypatch.chdir(tmp_path)

    assert not install_model("smollm2")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("relative", ["", ".", "tools"])
def test_programs_are_not_looked_for_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: str
) -> None:
    for folder in (tmp_path, tmp_path / "tools"):
        folder.mkdir(exist_ok=True)
        for name in ("uv", "uv.exe"):
            (folder / name).touch(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", relative)

    assert find_program("uv") is None
    monkeypatch.setenv("PATH", os.pathsep.join([relative, str(tmp_path / "tools")]))
    assert find_program("uv") is not None
