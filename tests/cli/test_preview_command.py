from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from promptls.cli.main import main
from promptls.cli.pages import page_server
from promptls.cli.pages.live_preview import LivePreview
from promptls.cli.pages.page_server import Page, serving
from promptls.preview.preview_result import RenderingChoice
from promptls.rendering.worker import Limits, RenderWorker
from promptls.text.errors import UserError
from promptls.workspace.workspace import Workspace
from support.growing_chat import GROWING_CHAT
from support.page_reader import Reader, reading_page, write_pages


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of pages in place of the built ones."""
    folder = tmp_path / "pages"
    write_pages(folder)
    monkeypatch.setattr(page_server, "FOLDER", folder)
    return folder


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


PAGES = (Page("preview", "promptls preview", echo),)


async def test_without_built_pages_the_message_says_how_to_get_them(pages: Path) -> None:
    (pages / "preview.js").unlink()
    with pytest.raises(UserError, match="has no pages") as missing:
        async with serving(PAGES, 0):
            pass
    assert "make setup" in str(missing.value.remedy)


async def test_a_port_that_is_taken_is_named(pages: Path) -> None:
    async with serving(PAGES, 0) as address:
        port = int(address.split(":")[2].split("/")[0])
        with pytest.raises(UserError, match=f"the port {port} cannot be listened on"):
            async with serving(PAGES, port):
                pass


def test_a_file_that_is_no_prompt_is_refused_before_anything_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.yml").write_text("a: 1\n", "utf-8")
    assert main(["preview", str(tmp_path / "notes.yml"), "--no-open"]) == 2
    assert "not a prompt file" in capsys.readouterr().err


async def shows(page: Reader, *expected: str | int) -> None:
    """Wait for a rendering with these contents, or for a failure at a line, counted from 0."""
    while True:
        result = (await page.received())["result"]
        rendering, failure = result["rendering"], result["failure"]
        shown = [part["content"] for part in rendering["parts"]] if rendering else [failure["line"]]
        if shown == list(expected):
            return


@asynccontextmanager
async def reading(file: Path, page: str = "preview") -> AsyncIterator[Reader]:
    """Connect to the page of a file that is watched."""
    workspace = Workspace([file.parent], trusted=True)
    workspace.scan()
    worker = RenderWorker(Limits())
    live = LivePreview(workspace, str(file), worker, RenderingChoice())
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
        for index, question in enumerate(questions):
            await page.send(type="ask", id=index, **question)
        while len(answers) < len(questions):
            answer = await page.received("answer")
            answers[answer["id"]] = answer.get("result", answer.get("error"))

    assert answers[0]["texts"] == [{"ids": [64, 287], "starts": [0, 1]}]
    assert answers[1]["text"] == "    Be brief.\n"
    assert answers[2] == "this is not a file of the prompt"
    assert "no dataset" in answers[3]
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


async def test_the_lab_applies_a_limit_and_a_step_to_the_file(prompt: Path) -> None:
    prompt.write_text(GROWING_CHAT, "utf-8")
    async with reading(prompt, "truncation") as page:
        await page.send(type="apply", limit=0, step=10)
        refused = await page.received("fail")
        await page.send(type="apply", limit=123, step=10)
        await page.received("applied")

    assert "at least 1" in refused["message"]
    assert "token_limit: 123" in prompt.read_text("utf-8")
    assert "truncation_step: 10" in prompt.read_text("utf-8")


async def test_a_page_asks_a_model_and_the_answer_is_stored(tmp_path: Path, pages: Path) -> None:
    del pages
    file = tmp_path / "a.yml.j2"
    file.write_text("- name: question\n  content: '{{ text }}'\n", "utf-8")
    async with reading(file) as page:
        argument = {"model": "echo", "data": {"text": "Where is it?"}}
        await page.send(type="ask", id=1, question="model", argument=argument)

        piece = await page.received("answerText")
        answered = await page.received("answer")

    assert piece["text"] == answered["result"]["answer"]["response"] == "Where is it?"
    assert (tmp_path / "experiments" / "answers" / "a.json").is_file()


async def test_a_page_asks_the_user_before_a_key_is_sent(
    tmp_path: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del pages
    monkeypatch.setenv("OFFICE_KEY", "planted-0123456789abcdef")
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "promptls.toml").write_text(
        '[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "https://llm.example.com/v1"\n'
        'api_key_env = "OFFICE_KEY"\n'
    )
    file = tmp_path / "a.yml.j2"
    file.write_text("- name: question\n  content: hi\n", "utf-8")
    async with reading(file) as page:
        await page.send(type="ask", id=1, question="model", argument={"model": "office"})
        confirmation = await page.received("confirm")
        await page.send(type="confirmed", yes=False)
        answered = await page.received("answer")

    assert "OFFICE_KEY" in confirmation["question"]
    assert "https://llm.example.com" in confirmation["question"]
    assert answered["result"] == {"answer": None, "message": "Nothing was run, and no key was sent."}
