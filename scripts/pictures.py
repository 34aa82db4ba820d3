"""Takes the pictures of the documentation in a real VS Code: `make pictures`.

They are written to `docs/pictures`, with few colors so that they stay small. The projects are the example and
the tutorial; the answers are those of the embedded model.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
sys.path.insert(0, str(ROOT / "tests" / "editor"))

from chromium import launched  # noqa: E402
from code_server import CodeServer, running  # noqa: E402
from example_project import copy_example  # noqa: E402
from PIL import Image  # noqa: E402
from playwright.sync_api import expect, sync_playwright  # noqa: E402
from workbench import Workbench  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame

PROMPTLS = Path(sys.executable).with_name("promptls")
COLORS = 96
SIZE = {"width": 1120, "height": 680}
SETTINGS = {
    "workbench.colorTheme": "Default Light Modern",
    "breadcrumbs.enabled": False,
    "editor.minimap.enabled": False,
    "editor.fontSize": 14,
    "editor.stickyScroll.enabled": False,
    "editor.scrollBeyondLastLine": False,
    "editor.wordWrap": "on",
    "workbench.activityBar.location": "default",
    "window.commandCenter": False,
    "workbench.layoutControl.enabled": False,
}
_FILE = re.compile(r'^```\w+ title="([\w./]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    script = ROOT / "scripts"
    command = Path(_last_line([script / "install-code-server.sh"]))
    extension = Path(_last_line([script / "build-extension.sh"]))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        triage, reviews = home / "support_triage", home / "reviews"
        copy_example(triage)
        _tutorial(reviews)
        for prompt in ("v1", "v2"):
            _run(reviews, f"{prompt}.yml.j2")
        _run(triage, "triage_v2.yml.j2")
        browser = launched(playwright)
        machine = {"promptls.server.path": str(PROMPTLS)}
        with running(
            command, home / "server", extension, machine_settings=machine, user_settings=SETTINGS
        ) as server:
            _editor(browser, server, triage)
            _finding(browser, server, triage)
            _preview(browser, server, reviews)
            _results(browser, server, reviews)
            _typing(browser, server, reviews)
        browser.close()
    for picture in sorted(PICTURES.iterdir()):
        print(f"{picture.stat().st_size // 1024:4} KB  {picture.relative_to(ROOT)}")  # noqa: T201


def _editor(browser: Browser, server: CodeServer, project: Path) -> None:
    with _opened(browser, server, project) as workbench:
        workbench.open_file("triage_v2.yml.j2")
        expect(workbench.lens(re.compile("labels_exact_match"))).to_be_visible()
        _show_preview(workbench, "answer format")
        workbench.go_to(51)  # the last line: all parts are in sight
        _save(workbench, "editor")


def _finding(browser: Browser, server: CodeServer, project: Path) -> None:
    with _opened(browser, server, project) as workbench:
        prompt = project / "triage_v1.yml.j2"
        prompt.write_text(prompt.read_text("utf-8").replace("characters(text)", "characters(txet)"), "utf-8")
        workbench.open_file(prompt.name)
        line = next(
            number for number, text in enumerate(prompt.read_text("utf-8").splitlines(), 1) if "txet" in text
        )
        workbench.go_to(line)
        expect(workbench.line(re.compile(r"~\d+\stokens")).first).to_be_visible()
        popup = workbench.hover(line, 35)
        expect(popup).to_contain_text("did you mean")
        _save(workbench, "finding")
        expect(popup).to_be_visible()


def _preview(browser: Browser, server: CodeServer, project: Path) -> None:
    with _opened(browser, server, project) as workbench:
        workbench.open_file("v1.yml.j2")
        expect(workbench.lens(re.compile("same_mood"))).to_be_visible()
        _show_preview(workbench, "positive or negative")
        workbench.focus_editor()
        _save(workbench, "preview")


def _results(browser: Browser, server: CodeServer, project: Path) -> None:
    with _opened(browser, server, project) as workbench:
        workbench.open_file("v2.yml.j2")
        expect(workbench.lens(re.compile("same_mood"))).to_be_visible()
        workbench.run_command("promptls: Show Results")
        results = workbench.panel("same_mood")
        expect(results.get_by_label("Scores")).to_be_visible()
        _save(workbench, "results")


def _typing(browser: Browser, server: CodeServer, project: Path) -> None:
    """Write the animated picture: the preview follows what is typed."""
    with _opened(browser, server, project) as workbench:
        workbench.open_file("v1.yml.j2")
        expect(workbench.lens(re.compile("same_mood"))).to_be_visible()
        preview = _show_preview(workbench, "positive or negative")
        lines = (project / "v1.yml.j2").read_text("utf-8").splitlines()
        workbench.go_to(next(number for number, line in enumerate(lines, 1) if "Is this review" in line), 5)
        frames = [_picture(workbench)]
        typed = ""
        for words in ("Answer ", "with one word, ", "Positive ", "or Negative. "):
            workbench.type(words)
            typed += words
            expect(preview.get_by_text(typed.strip())).to_be_visible()
            frames.append(_picture(workbench))
    first, *others = [frame.quantize(COLORS, dither=Image.Dither.NONE) for frame in frames]
    durations = [1500, *[700] * (len(others) - 1), 2500]
    first.save(PICTURES / "typing.gif", save_all=True, append_images=others, duration=durations, loop=0)


@contextmanager
def _opened(browser: Browser, server: CodeServer, project: Path) -> Iterator[Workbench]:
    workbench = Workbench(browser.new_page(viewport=SIZE))
    workbench.open_folder(server.address, project)
    workbench.page.keyboard.press("Control+B")  # no side bar
    yield workbench
    workbench.page.close()


def _show_preview(workbench: Workbench, text: str) -> Frame:
    """Show the preview, and return its page once it shows a text."""
    workbench.click_lens("Preview")
    workbench.page.mouse.move(SIZE["width"] / 4, SIZE["height"] - 60)  # no lens is marked as under the mouse
    return workbench.panel(text)


def _save(workbench: Workbench, name: str) -> None:
    """Write a picture of the window, with the few colors that it has."""
    picture = _picture(workbench)
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)


def _picture(workbench: Workbench) -> Image.Image:
    workbench.page.wait_for_timeout(1500)  # for what moves: scroll bars, pop-ups
    return Image.open(io.BytesIO(workbench.page.screenshot())).convert("RGB")


def _tutorial(folder: Path) -> None:
    """Write the files that the tutorial shows."""
    for name, text in _FILE.findall((ROOT / "docs" / "tutorial.md").read_text("utf-8")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def _run(folder: Path, prompt: str) -> None:
    subprocess.run([PROMPTLS, "run", prompt, "--trust"], cwd=folder, check=True, capture_output=True)  # noqa: S603 - a command of this checkout


def _last_line(command: list[Path]) -> str:
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout  # noqa: S603 - a script of this checkout
    return found.strip().splitlines()[-1]


if __name__ == "__main__":
    if shutil.which("bash") is None:
        sys.exit("The scripts need bash.")
    main()
