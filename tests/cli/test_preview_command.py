from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import InvalidStatus

from promptls.cli.main import main
from promptls.cli.pages import page_server
from promptls.cli.pages.live_preview import LivePreview
from promptls.cli.pages.page_server import Page, serving
from promptls.preview.choice import Choice
from promptls.rendering.limits import Limits
from promptls.rendering.worker import RenderWorker
from promptls.text.failure import Failure
from promptls.workspace.workspace import Workspace
from support.growing_chat import GROWING_CHAT
from support.page_reader import PATIENCE, Reader, reading_page, write_pages


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of pages in the place of the built ones."""
    folder = tmp_path / "pages"
    write_pages(folder)
    monkeypatch.setattr(page_server, "FOLDER", folder)
    return folder


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


PAGES = (Page("preview", "promptls preview", echo),)


async def got(address: str, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """The answer to a request, with the headers that a browser would send unless others are given."""
    port = int(address.split(":")[2].split("/", maxsplit=1)[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = {"Host": f"127.0.0.1:{port}", "Connection": "close", **headers}
    request = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    writer.write(f"GET {path} HTTP/1.1\r\n{request}\r\n".encode())
    head, _, body = (await asyncio.wait_for(reader.read(), PATIENCE)).decode().partition("\r\n\r\n")
    writer.close()
    status, *rest = head.split("\r\n")
    return int(status.split()[1]), dict(line.split(": ", 1) for line in rest), body


def path_of(address: str) -> str:
    return "/" + address.split("/", 3)[3]


async def test_the_page_comes_with_a_policy_that_lets_nothing_else_in(pages: Path) -> None:
    async with serving(PAGES, 0) as address:
        status, headers, body = await got(address, path_of(address))
        script = await got(address, path_of(address) + "preview.js")

    assert status == 200
    assert '<script src="preview.js"></script>' in body
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert (script[0], script[2]) == (200, "/* preview.js */")


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 404),
        ("/wrong-token/", {}, 404),
        ("/wrong-token/preview.js", {}, 404),
        ("{page}../../pyproject.toml", {}, 404),
        ("{page}truncation.js", {}, 404),
        ("{page}", {"Host": "evil.example"}, 421),
        ("{page}", {"Host": "127.0.0.1"}, 421),
        ("{page}preview.js", {"Origin": "https://evil.example"}, 403),
        ("{page}preview.js", {"Origin": "null"}, 403),
        ("{page}live-preview", {}, 404),
    ],
)
async def test_what_is_not_the_page_itself_is_turned_away(
    pages: Path, path: str, headers: dict[str, str], status: int
) -> None:
    async with serving(PAGES, 0) as address:
        found = await got(address, path.format(page=path_of(address)), **headers)

    assert found[0] == status
    assert "preview" not in found[2]


@pytest.mark.parametrize(
    ("token", "origin", "status"),
    [(None, "https://evil.example", 403), (None, None, 404), ("x", "own", 404)],
)
async def test_a_web_socket_of_anything_but_the_page_is_refused(
    pages: Path, token: str | None, origin: str | None, status: int
) -> None:
    async with serving(PAGES, 0) as address:
        own = address[: address.index("/", 8)]
        socket = (
            address.replace("http", "ws") + "live-preview"
            if token is None
            else f"ws{own[4:]}/{token}/live-preview"
        )
        with pytest.raises(InvalidStatus) as refused:
            await connect(socket, origin=own if origin == "own" else origin)

    assert refused.value.response.status_code == status


async def test_without_built_pages_the_message_says_how_to_get_them(pages: Path) -> None:
    (pages / "preview.js").unlink()
    with pytest.raises(Failure, match="holds no pages") as missing:
        async with serving(PAGES, 0):
            pass
    assert "make setup" in str(missing.value.remedy)


async def test_a_port_that_is_taken_is_named(pages: Path) -> None:
    async with serving(PAGES, 0) as address:
        port = int(address.split(":")[2].split("/")[0])
        with pytest.raises(Failure, match=f"the port {port} cannot be listened on"):
            async with serving(PAGES, port):
                pass


def test_a_file_that_is_no_prompt_is_refused_before_anything_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.yml").write_text("a: 1\n", "utf-8")
    assert main(["preview", str(tmp_path / "notes.yml"), "--no-open"]) == 2
    assert "no prompt file" in capsys.readouterr().err


async def shows(page: Reader, *expected: str | int) -> None:
    """Wait for a rendering with these contents, or for a failure at a line from 0."""
    while True:
        result = (await page.received())["result"]
        rendering, failure = result["rendering"], result["failure"]
        shown = [part["content"] for part in rendering["parts"]] if rendering else [failure["line"]]
        if shown == list(expected):
            return


@asynccontextmanager
async def reading(file: Path, page: str = "preview") -> AsyncIterator[Reader]:
    """A page that shows a file, which is watched."""
    workspace = Workspace([file.parent], trusted=True)
    workspace.scan()
    worker = RenderWorker(Limits())
    live = LivePreview(workspace, str(file), worker, Choice())
    watching = asyncio.ensure_future(live.watch())
    pages = (
        Page("preview", "promptls preview", live.converse),
        Page("truncation", "promptls truncation lab", live.converse_lab, "lab"),
    )
    async with reading_page(pages, page) as reader:
        yield reader
    watching.cancel()
    await worker.close()


@pytest.fixture
def prompt(tmp_path: Path, pages: Path) -> Path:
    folder = tmp_path / "prompts"
    folder.mkdir()
    file = folder / "a.yml.j2"
    file.write_text(
        '- name: a\n  content: |\n{% include "rules.yml.j2" %}\n- name: b\n  content: two\n', "utf-8"
    )
    (folder / "rules.yml.j2").write_text("    Be brief.\n", "utf-8")
    return file


async def test_a_page_follows_the_file_what_it_includes_and_what_it_will_include(prompt: Path) -> None:
    async with reading(prompt) as page:
        await page.send(type="ready")
        await shows(page, "Be brief.", "two")

        (prompt.parent / "rules.yml.j2").write_text("    Be kind.\n", "utf-8")
        await shows(page, "Be kind.", "two")

        prompt.write_text(prompt.read_text("utf-8").replace("rules", "others"), "utf-8")
        await shows(page, 2)

        (prompt.parent / "others.yml.j2").write_text("    Others.\n", "utf-8")
        await shows(page, "Others.", "two")


async def test_a_page_is_answered_about_the_prompt_and_about_no_other_file(prompt: Path) -> None:
    async with reading(prompt) as page:
        await page.send(type="ready")
        await page.received()
        questions: list[dict[str, Any]] = [
            {"question": "tokens", "argument": {"texts": ["a b"], "encoding": "o200k_base"}},
            {"question": "source", "argument": {"of": str(prompt.parent / "rules.yml.j2")}},
            {"question": "source", "argument": {"of": "/etc/passwd"}},
            {"question": "rows", "argument": {}},
            {"question": "nothing"},
            {"question": "tokens", "argument": {"texts": 7, "encoding": "o200k_base"}},
        ]
        answers = {}
        for number, question in enumerate(questions):
            await page.send(type="ask", id=number, **question)
        while len(answers) < len(questions):
            answer = await page.received("answer")
            answers[answer["id"]] = answer.get("result", answer.get("error"))

    assert answers[0]["texts"] == [{"ids": [64, 287], "starts": [0, 1]}]
    assert answers[1]["text"] == "    Be brief.\n"
    assert answers[2] == "this is no file of the prompt"
    assert "no data set" in answers[3]
    assert answers[4] == "there is no question `nothing`"
    assert "must be of type list" in answers[5]


async def test_rubbish_from_a_page_is_passed_over(prompt: Path) -> None:
    async with reading(prompt) as page:
        await page.connection.send("no json")
        await page.send(type="choose", choice={"limit": "many"})
        await page.send(type="choose", choice=7)
        await page.send(type="ask", id=None)
        await page.send(type="ready")
        await shows(page, "Be brief.", "two")


async def test_the_lab_explores_a_free_limit_and_says_when_the_prompt_has_changed(prompt: Path) -> None:
    prompt.write_text(GROWING_CHAT, "utf-8")
    async with reading(prompt, "truncation") as page:
        await page.send(type="ready")
        first = (await page.received())["result"]["found"]
        await page.send(type="explore", options={"limit": 123})
        second = (await page.received())["result"]["found"]
        prompt.write_text(GROWING_CHAT.replace("kind", "brief"), "utf-8")
        await page.received("stale")
        await page.send(type="explore", options={"limit": 0})
        refused = await page.received("fail")

    assert 123 not in first["limits"]
    assert 123 in second["limits"]
    assert "must be 1 or more" in refused["message"]
