"""A window of VS Code that many tests use, one after the other.

A window takes some ten seconds to open and to start its server; setting one back takes one.
"""

from __future__ import annotations

from pathlib import Path

from workbench import Workbench


class KeptWindow:
    """A window with the example project; `set_back` makes both what they were in the beginning."""

    def __init__(self, workbench: Workbench, folder: Path) -> None:
        self.workbench = workbench
        self.folder = folder
        self._project = _contents(folder)

    def set_back(self) -> None:
        """Close what a test has opened, and undo what it did to the files."""
        self.workbench.close_editors()
        self.workbench.clear_notifications()
        for name in _contents(self.folder).keys() - self._project.keys():
            (self.folder / name).unlink()
        for name, content in self._project.items():
            if (self.folder / name).read_bytes() != content:
                (self.folder / name).write_bytes(content)


def _contents(folder: Path) -> dict[Path, bytes]:
    """The files of a folder, by their paths in it."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
