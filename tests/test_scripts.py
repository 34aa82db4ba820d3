from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
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


def command(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with the scripts, with stubs for the programs that they download."""
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    command(folder / ".venv/bin/python", f'exec {sys.executable} "$@"')
    return folder


def ended(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{checkout / 'bin'}:/usr/bin:/bin",
        "HOME": str(checkout),
        "PYTHON": sys.executable,
        "PROMPTLS_CACHE": str(checkout / "cache"),
    }
    return subprocess.run(
        ["bash", *words], cwd=checkout, capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.skipif(
    shutil.which("code", path="/usr/bin:/bin") is not None, reason="the script would open a VS Code"
)
def test_vs_code_in_the_browser_asks_for_a_password_and_for_trust(checkout: Path) -> None:
    command(checkout / "scripts/build-extension.sh", ":")
    command(checkout / "scripts/install-code-server.sh", f"echo {checkout}/bin/code-server")
    command(checkout / "bin/code-server", f'echo "$@" >>{checkout}/calls')
    (checkout / "example").mkdir()

    first, second = (ended(checkout, "scripts/vscode.sh", "example", "a.yml.j2") for _ in range(2))

    assert first.returncode == 0, first.stderr
    assert re.search(r"\?folder=\S+&payload=\S+openFile\S+/example/a\.yml\.j2", first.stdout)
    served = (checkout / "calls").read_text("utf-8").splitlines()[1]
    config = checkout / "cache/vscode/config.yaml"
    assert f"--config {config} --auth password --bind-addr 127.0.0.1:" in served
    assert "trust" not in served
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    passwords = [re.findall(r"Its password is (\S+),", each.stdout) for each in (first, second)]
    kept = re.findall(r"^password: (\S{20,})$", config.read_text("utf-8"), re.MULTILINE)
    assert passwords == [kept, kept]
    assert len(kept) == 1


@pytest.mark.parametrize(
    ("python", "npm", "code"),
    [
        ("echo No known vulnerabilities found", "echo found 0 vulnerabilities", 0),
        ("echo Found 2 known vulnerabilities in 1 package; exit 1", "echo found 0 vulnerabilities", 1),
        ("echo No known vulnerabilities found", "echo 1 high severity vulnerability; exit 1", 1),
        ("echo ConnectionError >&2; exit 1", "echo found 0 vulnerabilities", 2),
        ("echo Found 1 known vulnerability in 1 package; exit 1", "echo 405 Not Allowed; exit 1", 2),
    ],
)
def test_an_audit_distinguishes_a_finding_from_an_unavailable_service(
    checkout: Path, python: str, npm: str, code: int
) -> None:
    version = re.findall(r"readonly VERSION=(\S+)", (checkout / "scripts/audit.sh").read_text("utf-8"))[0]
    tools = f"pip-audit-{version}-{sys.version_info.major}.{sys.version_info.minor}"
    command(checkout / "cache" / tools / "bin/pip-audit", python)
    command(checkout / "bin/npm", npm)

    audited = ended(checkout, "scripts/audit.sh")

    assert audited.returncode == code, audited.stdout + audited.stderr
    assert ("the advisory service cannot be asked" in audited.stdout) == (code == 2)
