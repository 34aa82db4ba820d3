from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from promptls.cli.commands.completions import SHELLS
from promptls.cli.main import COMMANDS, main

needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")

COMPLETE = """\
source ./script
COMP_WORDS=(promptls "$@")
COMP_CWORD=$#
$(complete -p promptls | sed -E 's/.*-F ([^ ]+) .*/\\1/')
printf -- '%s\\n' "${COMPREPLY[@]}"
"""


def completed(folder: Path, *words: str) -> set[str]:
    """Return what bash offers for the last word."""
    done = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completions", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out, "utf-8")
    return tmp_path


@needs_bash
def test_bash_completes_commands_options_choices_and_files(folder: Path) -> None:
    (folder / "quiz.yml.j2").touch()

    assert set(COMMANDS) <= completed(folder, "")
    assert completed(folder, "comp") == {"compare", "completions"}
    assert completed(folder, "check", "--fo") == {"--format"}
    assert completed(folder, "check", "--format", "") == {"text", "json", "sarif", "github", "junit"}
    assert completed(folder, "run", "qu") == {"quiz.yml.j2"}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_names_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completions", shell]) == 0
    script = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in script] == []
