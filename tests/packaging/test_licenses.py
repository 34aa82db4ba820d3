"""Licenses: our own in everything that is distributed, and those of bundled packages."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
LICENSE = (ROOT / "LICENSE").read_text("utf-8")
NOTICES = "THIRD_PARTY_NOTICES.txt"

pytestmark = pytest.mark.install


@pytest.fixture(scope="module")
def extension() -> ZipFile:
    built = subprocess.run(
        [ROOT / "scripts/build-extension.sh"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return ZipFile(built.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def wheel(extension: ZipFile) -> ZipFile:
    """Return the server's wheel as it is bundled with the extension."""
    (name,) = (name for name in extension.namelist() if name.endswith(".whl"))
    return ZipFile(io.BytesIO(extension.read(name)))


def test_the_extension_has_our_license(extension: ZipFile) -> None:
    (name,) = (name for name in extension.namelist() if name.startswith("extension/LICENSE"))
    assert extension.read(name).decode() == LICENSE


def test_the_extension_has_the_license_of_each_package_in_it(extension: ZipFile) -> None:
    notices = extension.read(f"extension/{NOTICES}").decode()
    for package in (ROOT / "vscode-client/package.json", ROOT / "vscode-client/web/package.json"):
        for name in json.loads(package.read_text("utf-8"))["dependencies"]:
            assert f"\n{name} " in notices
    assert "Permission is hereby granted" in notices
    assert "Redistribution and use in source and binary forms" in notices
    assert "node_modules" not in notices


def test_the_extension_carries_the_lock_files(extension: ZipFile) -> None:
    for lock in (ROOT / "vscode-client/requirements.txt", ROOT / "server/promptls/models/smollm2.txt"):
        assert extension.read(f"extension/wheel/{lock.name}") == lock.read_bytes()


def test_the_wheel_has_our_license_and_those_of_what_its_pages_contain(wheel: ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/licenses/LICENSE"))
    assert wheel.read(name).decode() == LICENSE
    notices = wheel.read(f"promptls/pages/{NOTICES}").decode()
    assert all(f"\n{name} " in notices for name in ("preact", "uplot", "diff"))
    assert "promptls/models/smollm2.txt" in wheel.namelist()


def test_the_source_distribution_has_our_license(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--sdist", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", f"server/promptls/pages/{NOTICES}"} <= names
