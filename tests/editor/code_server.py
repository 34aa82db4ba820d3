"""A running code-server with the extension in it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START_SECONDS = 60

# Nothing that greets, asks, or looks for news may stand in a test's way.
USER_SETTINGS: dict[str, Any] = {
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Default Dark Modern",
    "workbench.tips.enabled": False,
    # A file that is opened again begins at its beginning.
    "workbench.editor.restoreViewState": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "window.autoDetectColorScheme": False,
    "window.autoDetectHighContrast": False,
    "chat.disableAIFeatures": True,
    "extensions.autoCheckUpdates": False,
    "extensions.ignoreRecommendations": True,
    "security.workspace.trust.startupPrompt": "never",
    "git.enabled": False,
}


@dataclass(frozen=True, slots=True)
class CodeServer:
    """The address and folders of a running code-server."""

    address: str
    user_data: Path

    @property
    def storage(self) -> Path:
        """Return the folder with the extension's own environment."""
        return self.user_data / "User" / "globalStorage" / "promptls.promptls"

    def logs(self) -> str:
        """Return what the extension has logged so far, in all windows."""
        found = sorted(self.user_data.glob("logs/*/exthost*/promptls.promptls/*.log"))
        return "\n".join(path.read_text("utf-8", errors="replace") for path in found)

    def keep_logs(self, path: Path) -> None:
        """Write the extension's logs to a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.logs(), "utf-8")


@contextmanager
def running(
    command: Path,
    home: Path,
    extension: Path,
    *,
    machine_settings: dict[str, Any],
    trust: bool = True,
    others: Sequence[Path] = (),
    user_settings: Mapping[str, Any] | None = None,
) -> Iterator[CodeServer]:
    """Run code-server with the extension, with all its files below `home`.

    Without `trust`, every folder is opened in Restricted Mode. `machine_settings` are those
    of the machine rather than the user. `others` are further extensions.
    """
    user_data = home / "user"
    own = ["--user-data-dir", str(user_data), "--extensions-dir", str(home / "extensions")]
    of_user = {**USER_SETTINGS, **(user_settings or {})}
    for folder, settings in (("User", of_user), ("Machine", machine_settings)):
        (user_data / folder).mkdir(parents=True)
        (user_data / folder / "settings.json").write_text(json.dumps(settings), "utf-8")
    installed = [word for path in (extension, *others) for word in ("--install-extension", path)]
    subprocess.run(
        [command, *own, *installed, "--force"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    arguments = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}"]
    arguments += ["--disable-telemetry", "--disable-update-check"]
    if trust:
        arguments.append("--disable-workspace-trust")
    with (home / "code-server.log").open("w", encoding="utf-8") as log:
        # A session of its own, so that the extension host and the servers end with it.
        process = subprocess.Popen(
            [command, *own, *arguments], stdout=log, stderr=log, start_new_session=True
        )
        try:
            _wait_until_it_answers(f"{address}/healthz", process)
            yield CodeServer(address, user_data)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_answers(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"code-server ended with exit code {process.returncode} before it answered")
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"code-server did not answer within {START_SECONDS} seconds")
