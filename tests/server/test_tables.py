from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys

from promptls.server import commands, features, requests
from promptls.server.server import create_server


def test_every_request_and_command_module_is_used_by_a_handler() -> None:
    named = inspect.getsource(features) + inspect.getsource(commands)
    for package in (requests, commands):
        for module in pkgutil.iter_modules(package.__path__):
            is_used = f'"{package.__name__.rpartition(".")[2]}.{module.name}"' in named
            assert is_used or module.name in {"arguments", "followed_run"}, module.name


def test_servers_share_nothing() -> None:
    first, second = create_server(), create_server()

    assert first.protocol is not second.protocol
    assert first.protocol.fm is not second.protocol.fm
    assert first.protocol.fm.features is not second.protocol.fm.features


def test_nothing_heavy_is_loaded_before_initialize_is_answered() -> None:
    program = "import sys, promptls.server.server as s; s.create_server(); print(*sorted(sys.modules))"
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
    needed = "promptls.server.lifecycle, promptls.server.session"
    program = f"import sys, {needed}; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()

    later = {
        "promptls.ide.completion",
        "promptls.ide.experiment_runs",
        "promptls.ide.hover",
        "promptls.ide.document_symbols",
        "promptls.server.state.latest_renderings",
        "promptls.rendering.make",
    }
    assert later & set(loaded) == set()
