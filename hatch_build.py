"""The build hook of hatch: no wheel and no sdist lacks the pages for a browser."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGES: Final = ("browser.css", "preview.js", "results.js", "truncation.js")


class PagesHook(BuildHookInterface):  # type: ignore[misc, type-arg] # hatchling is only there while it builds
    """Builds the pages ahead of a wheel or an sdist, unless they are up to date."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the pages; an editable installation gets them from `make setup`.

        Raises RuntimeError if there are none, and they cannot be built.
        """
        del build_data
        root = Path(self.root)
        # pre-commit makes its environment in its clone; its hooks check and format, and show no page.
        is_for_pre_commit = any(root.glob("py_env-*"))
        if version != "editable" and not is_for_pre_commit:
            _make_pages(root)


def _make_pages(root: Path) -> None:
    folder, script = root / "server" / "promptls" / "pages", root / "scripts" / "build-pages.sh"
    problem = "they are not in this archive"
    if script.is_file():
        problem = _built_by(script)
    if problem and not all((folder / name).is_file() for name in PAGES):
        raise RuntimeError(
            f"The pages of `promptls preview` and `promptls results` cannot be built: {problem}.\n"
            "Install Node.js 20 or later with npm, or run `make setup`, and try again."
        )
    if problem and script.is_file():
        sys.stderr.write(f"promptls: the pages are those of an earlier build: {problem}\n")


def _built_by(script: Path) -> str:
    """Return why the script could not build the pages; empty if it could."""
    try:
        done = subprocess.run(  # noqa: S603 - a script of this repository
            [shutil.which("bash") or "bash", str(script)], capture_output=True, text=True, check=False
        )
    except OSError as error:
        return f"bash cannot be run ({error.strerror})"
    said = (done.stderr or done.stdout).strip()[-2000:]
    return "" if done.returncode == 0 else said or f"{script.name} ended with exit code {done.returncode}"
