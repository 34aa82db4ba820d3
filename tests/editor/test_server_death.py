"""A server that dies in a real VS Code: it is restarted, and no text is lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from code_server import CodeServer
from example_project import PROMPT
from playwright.sync_api import expect
from workbench import Workbench


def servers_of(code_server: CodeServer) -> Iterator[int]:
    """Return the language server processes of a code-server, which run in the extension's folder."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = (process / "cwd").readlink() == code_server.storage
            words = (process / "cmdline").read_text("utf-8").split("\0")
        except OSError:  # It has ended meanwhile, or is another user's.
            continue
        if is_ours and "server" in words:
            yield int(process.name)


def go_to_key(workbench: Workbench, project: Path) -> None:
    """Open a prompt and put the cursor before the `role` of a part."""
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    lines = (project / PROMPT).read_text("utf-8").splitlines()
    workbench.go_to(lines.index("- name: ticket") + 2, 3)


def test_a_server_that_is_killed_is_started_again_with_what_was_typed(
    code_server: CodeServer, project: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    workbench = open_folder(code_server, project)
    go_to_key(workbench, project)
    workbench.page.keyboard.press("Delete")
    expect(workbench.problem("unknown-part-key").first).to_be_visible()
    killed = list(servers_of(code_server))
    assert killed
    for process in killed:
        os.kill(process, signal.SIGKILL)
    # The new server hears of the text as it was typed, and of what is typed from now on.
    workbench.type("r")
    expect(workbench.problems()).to_have_count(0)
    workbench.page.keyboard.press("Backspace")
    expect(workbench.problem("unknown-part-key").first).to_be_visible()
    assert not set(servers_of(code_server)) & set(killed)


def test_a_preview_follows_a_server_that_was_started_again(
    code_server: CodeServer, project: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    workbench = open_folder(code_server, project)
    go_to_key(workbench, project)
    workbench.run_command("promptls: Preview Prompt")
    preview = workbench.panel("answer format")
    workbench.focus_editor()
    for process in list(servers_of(code_server)):
        os.kill(process, signal.SIGKILL)
    # The panel asks for the new text while the client restarts the server.
    workbench.page.keyboard.press("ArrowUp")
    workbench.page.keyboard.press("End")
    workbench.type(" of today")
    expect(preview.locator(".part", has_text="ticket of today")).to_be_visible()
    expect(workbench.notification("promptls")).to_have_count(0)


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[1])


def test_typing_while_the_server_is_killed_does_not_stop_the_client(
    code_server: CodeServer, project: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    workbench = open_folder(code_server, project)
    go_to_key(workbench, project)
    killed = list(servers_of(code_server))
    # The host of the extensions learns of the death and of the typed text at about the same time.
    hosts = {parent_of(process) for process in killed} - {1, *killed}
    assert hosts
    for host in hosts:
        os.kill(host, signal.SIGSTOP)
    workbench.page.keyboard.press("Delete")
    for process in killed:
        os.kill(process, signal.SIGKILL)
    for host in hosts:
        os.kill(host, signal.SIGCONT)
    expect(workbench.problem("unknown-part-key").first).to_be_visible()
    assert not set(servers_of(code_server)) & set(killed)


def test_a_server_that_dies_again_and_again_is_reported_with_a_button_that_starts_it(
    code_server: CodeServer, project: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    workbench = open_folder(code_server, project)
    workbench.open_file(PROMPT)
    expect(workbench.lens("Preview")).to_be_visible()
    killed: set[int] = set()
    end = time.monotonic() + 120
    while workbench.status("Restart Server").count() == 0:
        assert time.monotonic() < end, f"{len(killed)} processes were killed, and nothing was said"
        for process in set(servers_of(code_server)) - killed:
            os.kill(process, signal.SIGKILL)
            killed.add(process)
        workbench.page.wait_for_timeout(500)
    # The language client reports each failure too, and VS Code shows few messages at once.
    workbench.run_command("Notifications: Show Notifications")
    messages = workbench.page.locator(".notifications-center .notification-list-item")
    message = messages.filter(has_text="is not restarted")
    expect(message).to_be_visible()
    workbench.screenshot("reported")
    message.get_by_role("button", name="Try Again").click()
    expect(workbench.lens("Preview")).to_be_visible()
    assert set(servers_of(code_server)) - killed
