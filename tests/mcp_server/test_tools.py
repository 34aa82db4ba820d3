from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client

from promptls.cli.main import main
from promptls.ide.agent_tools import TOOLS
from promptls.mcp.folder import Folder
from promptls.mcp.server import create_server

BROKEN = "- name: a\n  role: sytem\n  content: Hi {{ user }}\n"


async def call(name: str, trusts: bool = False, max_cost: float | None = None, **arguments: Any) -> Any:
    """Call one tool of a server in the working directory, over the protocol."""
    async with Client(create_server(Folder(Path.cwd(), trusts, max_cost))) as client:
        return await client.call_tool(name, arguments)


async def text_of(name: str, **arguments: Any) -> str:
    answer = await call(name, **arguments)
    assert not answer.is_error, answer.content[0].text
    return str(answer.content[0].text)


async def error_of(name: str, **arguments: Any) -> str:
    answer = await call(name, **arguments)
    assert answer.is_error
    return str(answer.content[0].text)


async def test_every_declared_tool_is_offered_with_its_schema(folder: Path) -> None:
    async with Client(create_server(Folder(folder))) as client:
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(offered) == [tool.name for tool in TOOLS]
    assert offered["check_prompts"].annotations.read_only_hint
    assert not offered["run_experiment"].annotations.read_only_hint


async def test_findings_name_file_place_rule_and_fix(folder: Path) -> None:
    (folder / "a.yml.j2").write_text(BROKEN)
    assert "a.yml.j2:2:9 warning unknown-role" in await text_of("check_prompts")


async def test_findings_are_data_too(folder: Path) -> None:
    (folder / "a.yml.j2").write_text(BROKEN)
    found = (await call("check_prompts", rules=["unknown-role"])).structured_content["findings"]
    assert [(each["path"], each["line"], each["rule"]) for each in found] == [("a.yml.j2", 2, "unknown-role")]


async def test_the_page_of_a_rule_explains_it(folder: Path) -> None:
    assert "# unknown-role" in await text_of("explain_rule", rule="unknown-role")


async def test_a_misspelled_rule_is_answered_with_the_right_one(folder: Path) -> None:
    assert "unknown-role" in await error_of("explain_rule", rule="unknown-roles")


async def test_the_inputs_are_listed_with_their_places(folder: Path) -> None:
    (folder / "a.yml.j2").write_text(BROKEN)
    assert "read at a.yml.j2:3" in await text_of("show_contract", file="a.yml.j2")


async def test_the_text_of_a_prompt_is_read_as_it_is_edited(folder: Path) -> None:
    (folder / "a.yml.j2").write_text(BROKEN)
    assert await text_of("read_prompt", file="a.yml.j2") == BROKEN
    error = await error_of("edit_prompt", file="a.yml.j2", old="role: user", new="role: system")
    assert "read_prompt shows the text" in error


async def test_an_unknown_argument_is_answered_with_the_right_one(folder: Path) -> None:
    error = await error_of("edit_prompt", file="a.yml.j2", olds="a", new="b")
    assert "edit_prompt has no argument `olds`; did you mean `old`?" in error


async def test_an_unknown_tool_is_answered_with_the_tools(folder: Path) -> None:
    assert "check_prompts, explain_rule" in await error_of("improve")


async def test_a_prompt_renders_with_the_given_data(folder: Path) -> None:
    (folder / "a.yml.j2").write_text("- name: a\n  role: user\n  content: Hi {{ user }}\n")
    assert "Hi Ada" in await text_of("render_prompt", file="a.yml.j2", data={"user": "Ada"})


async def test_a_failed_rendering_names_the_line(folder: Path) -> None:
    (folder / "a.yml.j2").write_text("- name: a\n  role: user\n  content: '{{ 1 / zero }}'\n")
    assert "at a.yml.j2:3" in await error_of("render_prompt", file="a.yml.j2", data={"zero": 0})


async def test_tokens_are_counted_part_by_part(example: Path) -> None:
    reported = await text_of("count_tokens", paths=["triage_v1.yml.j2"])
    assert "  labels (system): 97" in reported


async def test_changes_since_the_last_commit_are_shown_as_they_render(example: Path) -> None:
    commit(example)
    priorities = example / "sections" / "priorities.yml.j2"
    priorities.write_text(priorities.read_text().replace("blocked from work", "cannot work at all"))
    reported = await text_of("preview_changes", file="triage_v1.yml.j2")
    assert "+- P0: cannot work at all" in reported


async def test_an_edit_is_checked_at_once(folder: Path) -> None:
    (folder / "a.yml.j2").write_text("- name: a\n  role: user\n  content: Hi\n")
    reported = await text_of("edit_prompt", file="a.yml.j2", old="role: user", new="role: usr")
    assert "unknown-role" in reported
    assert "role: usr" in (folder / "a.yml.j2").read_text()


async def test_an_ambiguous_edit_changes_nothing(folder: Path) -> None:
    text = "- name: a\n  role: user\n  content: Hi Hi\n"
    (folder / "a.yml.j2").write_text(text)
    assert "occurs 2 times" in await error_of("edit_prompt", file="a.yml.j2", old="Hi", new="Ho")
    assert (folder / "a.yml.j2").read_text() == text


async def test_an_edit_touches_prompts_only(folder: Path) -> None:
    (folder / "metrics.py").write_text("x = 1\n")
    assert "not a prompt" in await error_of("edit_prompt", file="metrics.py", old="1", new="2")
    assert (folder / "metrics.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("name", ["../secret.yml.j2", "/etc/passwd", "link.yml.j2"])
async def test_files_outside_of_the_folder_are_refused(folder: Path, name: str) -> None:
    (folder / "link.yml.j2").symlink_to("/etc/passwd")
    assert "outside of" in await error_of("render_prompt", file=name)


async def test_wrong_arguments_are_named(folder: Path) -> None:
    assert "`count`" in await error_of("list_runs", count="many")


async def test_prompts_are_resources(folder: Path) -> None:
    (folder / "a.yml.j2").write_text(BROKEN)
    async with Client(create_server(Folder(folder))) as client:
        (resource,) = (await client.list_resources()).resources
        read = await client.read_resource(resource.uri)
    assert (resource.uri, read.contents[0].text) == ("promptls://prompts/a.yml.j2", BROKEN)


def test_without_the_package_the_command_names_the_one_that_installs_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("promptls.cli.commands.mcp.find_spec", lambda _name: None)
    assert main(["mcp"]) == 2
    assert "pip install 'promptls[mcp]'" in capsys.readouterr().err


def commit(folder: Path) -> None:
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "First version"]):
        subprocess.run([*git, *words], check=True, capture_output=True)


async def test_keys_do_not_reach_an_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    (folder / "a.yml.j2").write_text("- name: a\n  role: user\n  content: sk-planted-0123456789abcdef\n")
    answer = await call("render_prompt", file="a.yml.j2")
    assert "planted" not in json.dumps(answer.model_dump(mode="json"))
