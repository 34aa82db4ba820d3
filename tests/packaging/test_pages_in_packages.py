"""Wheels and sdists contain the browser pages, whatever they are built from."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("THIRD_PARTY_NOTICES.txt", "browser.css", "preview.js", "results.js", "truncation.js")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a folder with the content of an sdist and a page of each name, but no build script."""
    root = tmp_path / "sources"
    package = root / "server" / "promptls"
    package.mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, root / name)
    shutil.copy(ROOT / "server/promptls/__init__.py", package)
    (package / "pages").mkdir()
    for name in PAGES:
        (package / "pages" / name).write_text("page", "utf-8")
    (root / ".gitignore").write_text("server/promptls/pages\n", "utf-8")
    return root


def wheel_of(root: Path, target: Path) -> list[str]:
    (wheel,) = WheelBuilder(str(root)).build(directory=str(target), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_a_wheel_has_the_pages(sources: Path, tmp_path: Path) -> None:
    assert {f"promptls/pages/{name}" for name in PAGES} <= set(wheel_of(sources, tmp_path / "out"))


def test_a_wheel_of_an_sdist_has_the_pages(sources: Path, tmp_path: Path) -> None:
    (sdist,) = SdistBuilder(str(sources)).build(directory=str(tmp_path / "out"))
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (root,) = (tmp_path / "unpacked").iterdir()
    assert {f"promptls/pages/{name}" for name in PAGES} <= set(wheel_of(root, tmp_path / "out"))


def test_without_pages_and_a_way_to_build_them_there_is_no_wheel(sources: Path, tmp_path: Path) -> None:
    (sources / "server/promptls/pages/preview.js").unlink()
    with pytest.raises(RuntimeError, match=r"they are not in this archive\.\n.*`make setup`"):
        wheel_of(sources, tmp_path / "out")


@pytest.mark.parametrize(
    ("script", "is_built"), [("echo page > server/promptls/pages/preview.js", True), ("exit 1", False)]
)
def test_a_checkout_builds_the_pages(sources: Path, tmp_path: Path, script: str, *, is_built: bool) -> None:
    (sources / "server/promptls/pages/preview.js").unlink()
    (sources / "scripts").mkdir()
    path = sources / "scripts" / "build-pages.sh"
    path.write_text(f'cd "$(dirname "$0")/.."\n{script}\n', "utf-8")
    if is_built:
        assert "promptls/pages/preview.js" in wheel_of(sources, tmp_path / "out")
    else:
        with pytest.raises(RuntimeError, match="cannot be built"):
            wheel_of(sources, tmp_path / "out")


def test_pre_commit_needs_no_pages(sources: Path, tmp_path: Path) -> None:
    (sources / "server/promptls/pages/preview.js").unlink()
    (sources / "py_env-python3").mkdir()
    assert "promptls/__init__.py" in wheel_of(sources, tmp_path / "out")
