from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "scripts").glob("*.sh"))
STEPS = ROOT / "scripts" / "steps.sh"


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PROMPTLS_CACHE": str(folder / "cache")}
    return subprocess.run(
        ["bash", "-c", f'source "{STEPS}"\ncd "{folder}"\n{script}'],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_is_one_that_bash_can_read(script: Path) -> None:
    read = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr


def test_a_step_says_what_it_does_and_keeps_its_output_to_itself(tmp_path: Path) -> None:
    ended = run(tmp_path, 'step "making tea" "3 minutes" echo noise')
    assert re.fullmatch(r"• making tea \(3 minutes the first time\) … done in \d s\n", ended.stdout)


def test_a_step_that_fails_shows_its_output_and_ends_the_script(tmp_path: Path) -> None:
    ended = run(tmp_path, 'step "making tea" "3 minutes" bash -c "echo no water; exit 3"\necho further')
    assert ended.returncode != 0
    assert "no water" in ended.stderr
    assert "further" not in ended.stdout


def test_what_was_done_is_done_until_its_files_change(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        "echo 1 >input\n"
        "is_done stamp input || echo first\n"
        "mark_done stamp input\n"
        "is_done stamp input && echo second\n"
        "echo 2 >input\n"
        "is_done stamp input || echo third\n",
    )
    assert ended.stdout.split() == ["first", "second", "third"]
