"""The Chromium of this machine, with the options of the tests."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def launched(playwright: Playwright) -> Browser:
    """Start a Chromium without a window."""
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    return playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
