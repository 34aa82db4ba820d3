from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys

from promptls.protocol.dispatch import resolved
from promptls.protocol.method_table import COMMANDS, METHODS
from promptls.protocol.server import create_server


def test_every_method_and_command_has_its_handler() -> None:
    for method in METHODS:
        handler = resolved(method.handler)
        assert asyncio.iscoroutinefunction(handler) == (method.form == "typed, later"), method.name
    for command in COMMANDS.values():
        assert asyncio.iscoroutinefunction(resolved(command))


def test_every_request_file_is_in_the_table() -> None:
    from pathlib import Path

    import promptls.protocol as room

    folder = Path(inspect.getfile(room)).parent / "requests"
    named = {method.handler.split(":")[0] for method in METHODS}
    assert {f"requests.{file.stem}" for file in folder.glob("*.py") if file.stem != "__init__"} <= named


def test_servers_share_nothing() -> None:
    first, second = create_server(), create_server()

    assert first.protocol is not second.protocol
    assert first.protocol.fm is not second.protocol.fm
    assert first.protocol.json_handlers is not second.protocol.json_handlers


def test_nothing_heavy_is_loaded_before_initialize_is_answered() -> None:
    program = "import sys, promptls.protocol.server as s; s.create_server(); print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()

    heavy = {
        "pydantic",
        "yaml",
        "jinja2",
        "tiktoken",
        "httpx",
        "rich",
        "scipy",
        "promptls.workspace.workspace",
    }
    assert heavy & set(loaded) == set()


def test_the_first_diagnostics_wait_for_no_handler_of_a_request_and_for_nothing_that_renders() -> None:
    needed = "promptls.protocol.notifications.lifecycle, promptls.protocol.session"
    program = f"import sys, {needed}; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()

    later = {
        "promptls.features.completion",
        "promptls.features.experiment_runs",
        "promptls.features.hover",
        "promptls.features.workspace_symbols",
        "promptls.protocol.kept.renderings",
        "promptls.rendering.make",
    }
    assert later & set(loaded) == set()
