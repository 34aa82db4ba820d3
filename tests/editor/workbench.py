"""A VS Code window, used through keyboard, mouse and screen."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

from playwright.sync_api import Error, Frame, Locator, Page, expect

# Generous: the machine may run other tests. Everything waits for what it needs, and goes on at once.
PATIENCE: Final = 60_000
"""Milliseconds."""

expect.set_options(timeout=PATIENCE)


class Workbench:
    """What a user sees and does in one window."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._pictures: Path | None = None
        page.set_default_timeout(PATIENCE)

    def keep_pictures(self, folder: Path, name: str) -> None:
        """Save all further pictures in a folder, with this prefix."""
        folder.mkdir(parents=True, exist_ok=True)
        self._pictures = folder / name

    def open_folder(self, address: str, folder: Path) -> None:
        """Open a folder; return whether its files are listed."""
        is_empty = next(folder.iterdir(), None) is None
        self.page.goto(f"{address}/?folder={quote(str(folder))}")
        view = self.page.locator(".explorer-folders-view")
        expect(view if is_empty else view.locator(".monaco-list-row").first).to_be_visible()

    def open_file(self, name: str) -> None:
        """Open a file by its name, with the cursor at its start."""
        self.page.keyboard.press("Control+P")
        box = self.page.locator(".quick-input-widget input[type=text]")
        expect(box).to_be_focused()
        box.fill(name)
        expect(self.page.locator(".quick-input-list .monaco-list-row.focused")).to_contain_text(name)
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".editor-group-container .tab.active", has_text=name)).to_be_visible()
        self.focus_editor()

    def run_command(self, title: str) -> None:
        """Run a command from the palette, as soon as its extension is activated."""
        box = self.page.locator(".quick-input-widget input[type=text]")
        found = self.page.locator(".quick-input-list .monaco-list-row.focused")
        deadline = time.monotonic() + PATIENCE / 1000
        while True:
            self.page.keyboard.press("F1")
            expect(box).to_be_focused()
            box.fill(f">{title}")
            try:
                expect(found).to_contain_text(title, timeout=5_000)
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                self.page.keyboard.press("Escape")
            else:
                self.page.keyboard.press("Enter")
                return

    def choose(self, label: str) -> None:
        """Choose an item of the quick pick."""
        item = self.page.locator(".quick-input-list .monaco-list-row").get_by_text(label, exact=True)
        expect(item).to_be_visible()
        item.click()

    def answer(self, title: str, text: str) -> None:
        """Type an answer into the input box with this title."""
        widget = self.page.locator(".quick-input-widget", has_text=title)
        expect(widget.locator("input[type=text]")).to_be_focused()
        widget.locator("input[type=text]").fill(text)
        self.page.keyboard.press("Enter")

    def focus_editor(self) -> None:
        """Focus the first editor group."""
        self.page.keyboard.press("Control+1")
        expect(self.page.locator(".editor-instance .monaco-editor.focused").first).to_be_visible()

    def go_to(self, line: int, column: int = 1) -> None:
        """Move the cursor; both arguments count from 1."""
        self.focus_editor()
        self.page.keyboard.press("Control+G")
        box = self.page.locator(".quick-input-widget input[type=text]")
        expect(box).to_be_focused()
        box.fill(f":{line}:{column}")
        self.page.keyboard.press("Enter")
        expect(self.status("Ln ")).to_contain_text(f"Ln {line}, Col {column}")

    def type(self, text: str) -> None:
        """Type at the cursor, key by key."""
        self.page.keyboard.type(text)

    def line(self, text: str) -> Locator:
        """Return the visible lines that contain a text, with the decorations in them."""
        return self.page.locator(".view-line", has_text=text)

    def hover(self, line: int, column: int) -> Locator:
        """Hover over a place; return the hover's content."""
        self.go_to(line, column)
        popup = self.page.locator(".monaco-editor .monaco-hover:not(.hidden) .monaco-hover-content")
        deadline = time.monotonic() + PATIENCE / 1000
        while True:
            # The text moves under the mouse while lenses and hints come in, which takes a pop-up away:
            # the mouse is then moved to the place again, as a person would.
            cursor = self.page.locator(".monaco-editor.focused .cursors-layer .cursor").first.bounding_box()
            assert cursor is not None
            x, y = cursor["x"] + 3, cursor["y"] + cursor["height"] / 2
            self.page.mouse.move(x, y + 200)
            self.page.mouse.move(x - 1, y)
            self.page.mouse.move(x, y)
            try:
                expect(popup).to_be_visible(timeout=5_000)
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
            else:
                return popup

    def problems(self) -> Locator:
        """Return the rows of the problems panel, which is opened if necessary."""
        rows = self.page.locator(".markers-panel .monaco-list-row")
        if self.page.locator(".markers-panel").count() == 0:
            self.page.keyboard.press("Control+Shift+M")
            expect(self.page.locator(".markers-panel")).to_be_visible()
            self.focus_editor()
        return rows

    def problem(self, text: str) -> Locator:
        """Return the problems that contain a text."""
        return self.problems().filter(has_text=text)

    def lens(self, text: str | re.Pattern[str]) -> Locator:
        """Return the code lenses that contain a text."""
        return self.page.locator(".codelens-decoration a", has_text=text)

    def click_lens(self, text: str) -> None:
        """Click a code lens when it has stopped moving: lenses are laid out again when the text changes."""
        lens = self.lens(text).first
        expect(lens).to_be_visible()
        box = None
        while box is None or box != lens.bounding_box():
            box = lens.bounding_box()
            self.page.wait_for_timeout(100)
        # By place: a click on the element would scroll the whole workbench to it.
        self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def notification(self, text: str | re.Pattern[str]) -> Locator:
        """Return the notifications that contain a text."""
        return self.page.locator(".notifications-toasts .notification-toast", has_text=text)

    def dialog(self, text: str | re.Pattern[str]) -> Locator:
        """Return the dialog that contains a text."""
        return self.page.locator(".monaco-dialog-box", has_text=text)

    def status(self, text: str | re.Pattern[str]) -> Locator:
        """Return the status bar items that contain a text."""
        return self.page.locator(".statusbar-item", has_text=text)

    def panel(self, text: str, patience: int = PATIENCE) -> Frame:
        """Return the page of the panel that shows a text, within `patience` milliseconds."""
        end = time.monotonic() + patience / 1000
        while time.monotonic() < end:
            shown = next((frame for frame in self.page.frames if _shows(frame, text)), None)
            if shown is not None:
                return shown
            self.page.wait_for_timeout(100)
        raise AssertionError(f"no panel shows {text!r}")

    def screenshot(self, what: str) -> None:
        """Save a picture of the window; requires `keep_pictures`."""
        assert self._pictures is not None
        self.page.screenshot(path=f"{self._pictures}-{what}.png")


def _shows(frame: Frame, text: str) -> bool:
    try:
        root = frame.query_selector("#root")
        return root is not None and text in root.inner_text()
    except Error:  # The frame went away meanwhile.
        return False
