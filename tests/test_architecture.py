from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ROOT / "server" / "promptls"


def test_the_rooms_import_only_what_lies_below_them() -> None:
    lint_imports = shutil.which("lint-imports", path=os.pathsep.join([str(Path(sys.executable).parent)]))
    assert lint_imports is not None
    checked = subprocess.run(
        [lint_imports, "--config", "pyproject.toml"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_room_says_what_belongs_in_it() -> None:
    silent = [room.parent.name for room in ROOMS.rglob("__init__.py") if '"""' not in room.read_text()]
    assert silent == []


def test_every_module_says_what_its_one_job_is() -> None:
    silent = [
        str(module.relative_to(ROOMS))
        for module in ROOMS.rglob("*.py")
        if not module.read_text("utf-8").startswith('"""')
    ]
    assert silent == []


def test_no_module_is_named_for_what_belongs_nowhere() -> None:
    shelves = {"utils", "helpers", "helper", "managers", "manager", "services", "service", "common", "misc"}
    found = [str(path.relative_to(ROOMS)) for path in ROOMS.rglob("*") if path.stem in shelves]
    assert found == []
