"""Attacks on the pages of `promptls preview` and `promptls results`, from web pages and other users."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

from support.finished_run import write_run
from support.page_reader import PATIENCE, write_pages
from support.waiting import wait_until

PROMPT = "- name: a\n  role: user\n  content: Hello\n"
_COMMAND = """\
import sys
from pathlib import Path
from promptls.cli.main import main
from promptls.cli.pages import page_server
page_server.FOLDER = Path(sys.argv.pop(1))
sys.exit(main())
"""
"""The command line, with pages in place of the built ones."""


@dataclass(frozen=True)
class Served:
    """A served page: its port, its secret path, and the names below it."""

    port: int
    root: str
    page: str
    name: str
    process: subprocess.Popen[str]

    @property
    def path(self) -> str:
        """Return the path of the page."""
        return self.root + self.page

    @property
    def socket(self) -> str:
        """Return the path of its WebSocket."""
        return f"{self.root}live-{self.name}"

    @property
    def headers(self) -> list[str]:
        """Return the headers that a browser sends for its own page."""
        return [f"Host: 127.0.0.1:{self.port}", f"Origin: http://127.0.0.1:{self.port}"]


@contextmanager
def serving(folder: Path, command: str, *options: str, **environment: str) -> Iterator[Served]:
    """Run a command that serves a page; the page of the truncation lab is after that of the preview."""
    words = [sys.executable, "-c", _COMMAND, str(folder / "pages"), command, "prompt.yml.j2", *options]
    with subprocess.Popen(
        words,
        cwd=folder / "project",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)(/[\w-]+/)\n", process.stdout.readline())
            assert found
            yield Served(int(found[1]), found[2], "", command, process)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a prompt with a run, the pages, and a secret beside them."""
    folder = tmp_path_factory.mktemp("served")
    write_pages(folder / "pages")
    (folder / "secret.js").write_text("SECRET", "utf-8")
    project = folder / "project"
    project.mkdir()
    dataset = project / "rows.csv"
    dataset.write_text("q\na\n", "utf-8")
    table = "row,model,exact_match,error\n1,echo,pass,\n"
    write_run(project / "prompt.yml.j2", PROMPT, table, experiment="e", dataset=dataset)
    return folder


@pytest.fixture(scope="module")
def preview(folder: Path) -> Iterator[Served]:
    with serving(folder, "preview", "--no-open") as served:
        yield served


@pytest.fixture(scope="module")
def results(folder: Path) -> Iterator[Served]:
    with serving(folder, "results", "--no-open") as served:
        yield served


@pytest.fixture(params=["preview", "lab", "results"])
def served(request: pytest.FixtureRequest) -> Served:
    """Serve each of the three pages."""
    if request.param == "lab":
        preview: Served = request.getfixturevalue("preview")
        return Served(preview.port, preview.root, "lab", "truncation", preview.process)
    page: Served = request.getfixturevalue(request.param)
    return page


async def got(port: int, path: str, *headers: str) -> tuple[int, dict[str, str], str]:
    """Return the status, headers and body of the answer to a request with only these headers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""]).encode("latin-1"))
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)).decode()
    status, *lines = head.strip().split("\r\n")
    found = dict(line.split(": ", 1) for line in lines)
    body = await asyncio.wait_for(reader.readexactly(int(found.get("Content-Length", 0))), PATIENCE)
    writer.close()
    return int(status.split()[1]), found, body.decode()


UPGRADE = (
    *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


async def test_the_page_and_its_web_socket_answer_their_own_browser(served: Served) -> None:
    page = await got(served.port, served.path, served.headers[0])
    socket = await got(served.port, served.socket, *served.headers, *UPGRADE)

    assert (page[0], socket[0]) == (200, 101)
    assert f'<script src="{served.name}.js"></script>' in page[2]


@pytest.mark.parametrize(
    "hosts",
    [
        (),
        ("evil.example:{port}",),
        ("127.0.0.1.evil.example:{port}",),
        ("127.0.0.1",),
        ("127.0.0.1:1",),
        ("[::1]:{port}",),
        ("127.0.0.1:{port}", "evil.example"),
        ("evil.example", "127.0.0.1:{port}"),
        ("127.0.0.1:{port}", "127.0.0.1:{port}"),
    ],
)
async def test_another_host_is_refused(served: Served, hosts: tuple[str, ...]) -> None:
    named = [f"Host: {host.format(port=served.port)}" for host in hosts]

    assert (await got(served.port, served.path, *named))[0] == 421
    assert (await got(served.port, served.socket, *named, served.headers[1], *UPGRADE))[0] == 421


@pytest.mark.parametrize(
    "origins",
    [
        ("null",),
        ("https://evil.example",),
        ("http://127.0.0.1:1",),
        ("http://127.0.0.1",),
        ("https://127.0.0.1:{port}",),
        ("http://127.0.0.1:{port}.evil.example",),
        ("vscode-webview://localhost",),
        ("file://",),
        ("",),
        ("http://127.0.0.1:{port}", "https://evil.example"),
        ("http://127.0.0.1:{port}", "http://127.0.0.1:{port}"),
    ],
)
async def test_pages_of_other_origins_are_refused(served: Served, origins: tuple[str, ...]) -> None:
    headers = [served.headers[0], *(f"Origin: {origin.format(port=served.port)}" for origin in origins)]

    assert (await got(served.port, served.path, *headers))[0] == 403
    assert (await got(served.port, served.socket, *headers, *UPGRADE))[0] == 403


async def test_a_web_socket_needs_the_origin_of_the_page(served: Served) -> None:
    assert (await got(served.port, served.socket, served.headers[0], *UPGRADE))[0] == 404


@pytest.mark.parametrize("token", ["", "x", "{cut}", "{token}x", "{upper}", "%00"])
async def test_nothing_is_there_without_the_token(served: Served, token: str) -> None:
    own = served.root.strip("/")
    tried = token.format(token=own, cut=own[:-1], upper=own.swapcase())
    names = ["", served.page, f"{served.name}.js", "browser.css", f"live-{served.name}"]
    answers = [
        await got(served.port, f"/{tried}/{name}", *served.headers, *UPGRADE) for name in dict.fromkeys(names)
    ]

    assert {status for status, _, _ in answers} == {404}
    assert {body for _, _, body in answers} == {"There is nothing here: the address lacks its token.\n"}
    assert own not in str(answers)


@pytest.mark.parametrize(
    "path",
    [
        *("../secret.js", "../../secret.js", "..%2fsecret.js", "%2e%2e/secret.js", "..\\secret.js"),
        *("./preview.js", "/etc/passwd", "//etc/passwd", "C:\\Windows\\win.ini", "secret.js", "preview.js/"),
        *("preview.js%00", "project/prompt.yml.j2", "PREVIEW.JS", "live-nothing", "."),
    ],
)
async def test_no_other_file_is_served(served: Served, path: str) -> None:
    status, _, body = await got(served.port, served.root + path, served.headers[0])

    assert status == 404
    assert body == "There is no such page.\n"


@pytest.mark.parametrize("name", ["", "{name}.js", "browser.css", "nothing", "{name}"])
async def test_every_answer_keeps_scripts_and_frames_of_others_out(served: Served, name: str) -> None:
    _, headers, _ = await got(served.port, served.root + name.format(name=served.name), served.headers[0])
    policy = dict(line.split(" ", 1) for line in headers["Content-Security-Policy"].split("; "))

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert {name: headers[name] for name in headers if name.startswith(("X-", "Ref", "Cross", "Cache"))} == {
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


async def test_each_start_has_another_token(folder: Path, preview: Served) -> None:
    with serving(folder, "preview", "--no-open") as other:
        assert other.root != preview.root
        assert len(other.root) > 32


@pytest.mark.skipif(sys.platform == "win32", reason="the browser of the test is a shell script")
@pytest.mark.parametrize("command", ["preview", "results"])
def test_the_browser_gets_a_private_file_that_leads_to_the_page(
    folder: Path, tmp_path: Path, command: str
) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part\nmv {opened}.part {opened}\n', "utf-8")
    browser.chmod(0o700)
    with serving(folder, command, BROWSER=f"{browser} %s", TMPDIR=str(tmp_path)) as served:
        wait_until(opened.exists)
        argument = opened.read_text("utf-8")
        page = Path(argument.removeprefix("file://"))
        text = page.read_text("utf-8")
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (page, page.parent)]
        command_lines = json.dumps(served.process.args)
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(PATIENCE) == 0

    target = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', text)
    assert target
    assert unescape(target[1]) == f"http://127.0.0.1:{served.port}{served.root}"
    assert served.root.strip("/") not in argument + command_lines
    assert modes == [0o600, 0o700]
    assert not page.parent.exists()
