"""The files of random sessions, and how others change them on disk."""

from __future__ import annotations

import random
import shutil
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from session_documents import TEXTS

FILES = (
    "main.yml.j2",
    "macros.yml.j2",
    "sections/tail.yml.j2",
    "object.yml.j2",
    "other/a b é.yaml.j2",
    "notes.txt",
)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"rules": {"unknown-role": "off", "unused-input": "error"}},
    {"include": ["**"], "roles": ["robot", "user"]},
    {"exclude": ["other/**"], "token_limit": 20},
    {"rules": None, "encoding": "no-such-encoding", "nonsense": 1},
]
_CREATED, _CHANGED, _DELETED = 1, 2, 3
_SETTINGS_FILES = [
    'roles = ["robot"]\n',
    '[rules]\n"unknown-role" = "off"\n',
    'template_paths = ["other"]\n',
    "roles = [\n",
    "",
]


def prepared(root: Path) -> None:
    """Create the folder with a few files in it."""
    for name, text in zip(FILES, TEXTS, strict=False):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))


def random_file_change(
    dice: random.Random, root: Path, opened: Container[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Change something on disk; yield the client's notifications."""
    kind = dice.random()
    if kind < 0.15:
        path = root / "promptls.toml"
        kind_of_change = _write(path, dice.choice(_SETTINGS_FILES))
    elif kind < 0.25:
        yield from _rename(dice, root, opened)
        return
    else:
        path = root / dice.choice(FILES)
        if dice.random() < 0.3 and path.exists():
            path.unlink()
            kind_of_change = _DELETED
        else:
            kind_of_change = _write(path, dice.choice(TEXTS))
    changes = [{"uri": path.as_uri(), "type": kind_of_change}]
    yield "workspace/didChangeWatchedFiles", {"changes": changes}


def _write(path: Path, text: str) -> int:
    kind = _CHANGED if path.exists() else _CREATED
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return kind


def _rename(dice: random.Random, root: Path, opened: Container[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rename a file that is not open, or a folder without open files, there or back."""
    old, new = dice.choice([("other", "moved"), ("moved", "other"), ("object.yml.j2", "thing.yml.j2")])
    source, target = root / old, root / new
    below = [source, *source.rglob("*")]
    if not source.exists() or target.exists() or any(path.as_uri() in opened for path in below):
        return
    shutil.move(source, target)
    files = [{"oldUri": source.as_uri(), "newUri": target.as_uri()}]
    yield "workspace/didRenameFiles", {"files": files}
