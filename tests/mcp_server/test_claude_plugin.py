from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from promptls.cli.main import main
from promptls.ide.agent_tools import TOOLS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "integrations" / "claude-code"
SKILL = PLUGIN / "skills" / "improve-prompt" / "SKILL.md"


@pytest.mark.parametrize("name", [".mcp.json", ".lsp.json"])
def test_the_plugin_starts_commands_that_exist(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    declared = json.loads((PLUGIN / name).read_text("utf-8"))
    server = declared.get("mcpServers", declared)["promptls"]
    assert server["command"] == "promptls"
    assert main([*server["args"], "--help"]) == 0


def test_the_plugin_has_the_name_of_its_servers_and_the_author_of_the_package() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    assert manifest["name"] == "promptls"
    package = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert [manifest["author"]] == package["project"]["authors"]


def test_a_checkout_offers_the_plugin() -> None:
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    (offered,) = marketplace["plugins"]
    assert (offered["name"], (ROOT / offered["source"]).resolve()) == ("promptls", PLUGIN)


def test_the_skill_declares_when_to_use_it() -> None:
    _, header, _ = SKILL.read_text("utf-8").split("---\n", 2)
    declared = yaml.safe_load(header)
    assert declared["name"] == SKILL.parent.name
    assert "experiment" in declared["description"]


@pytest.mark.parametrize("page", [SKILL, ROOT / "AGENTS.md", ROOT / "docs" / "agents.md"])
def test_the_pages_name_tools_that_exist(page: Path) -> None:
    words = set(re.findall(r"`([a-z]+_[a-z]+)`", page.read_text("utf-8")))
    arguments = {name for tool in TOOLS for name in tool.arguments}
    assert words - arguments - {tool.name for tool in TOOLS} - {"ask_above"} == set()


def test_the_page_lists_every_tool() -> None:
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    assert [tool.name for tool in TOOLS if f"| `{tool.name}` |" not in page] == []


def test_the_command_of_the_page_starts_the_server() -> None:
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    command = re.search(r"claude mcp add promptls -- (.*)", page)
    assert command is not None
    assert shlex.split(command[1]) == ["promptls", "mcp"]
