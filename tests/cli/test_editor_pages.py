from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from promptls import __version__
from promptls.workspace.settings import SETTINGS_FILE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
EDITORS = ROOT / "docs" / "editors"
PAGE = (EDITORS / "README.md").read_text("utf-8")


def toml(name: str) -> dict[str, Any]:
    return tomllib.loads((EDITORS / name).read_text("utf-8"))


def test_the_page_names_every_configuration() -> None:
    links = set(re.findall(r"\]\((?!https?:)([^)#]+)\)", PAGE))
    assert [link for link in links if not (EDITORS / link).exists()] == []
    assert {path.name for path in EDITORS.iterdir()} - {"README.md"} <= links


def test_helix_takes_prompt_files_for_the_language_of_the_server() -> None:
    read = toml("helix.toml")
    (language,) = read["language"]
    assert [entry["glob"] for entry in language["file-types"]] == ["*.yml.j2", "*.yaml.j2"]
    assert language["language-servers"] == list(read["language-server"])
    assert [grammar["name"] for grammar in read["grammar"]] == [language["grammar"]]


def test_zed_has_the_language_its_server_and_its_grammar() -> None:
    extension, language = toml("zed/extension.toml"), toml("zed/languages/prompt/config.toml")
    assert extension["language_servers"]["promptls"]["languages"] == [language["name"]]
    assert list(extension["grammars"]) == [language["grammar"]]
    assert language["path_suffixes"] == ["yml.j2", "yaml.j2"]


def test_helix_and_zed_build_the_same_grammar() -> None:
    (helix,) = toml("helix.toml")["grammar"]
    zed = toml("zed/extension.toml")["grammars"]["jinja"]
    assert (helix["source"]["git"], helix["source"]["rev"]) == (zed["repository"], zed["commit"])


@pytest.mark.parametrize(("name", "servers"), [("sublime.json", "clients"), ("kate.json", "servers")])
def test_the_server_is_the_command(name: str, servers: str) -> None:
    ((_, client),) = json.loads((EDITORS / name).read_text("utf-8"))[servers].items()
    assert client["command"] == ["promptls"]


def test_jetbrains_starts_the_server_for_prompt_files() -> None:
    template = json.loads((EDITORS / "jetbrains" / "template.json").read_text("utf-8"))
    installer = json.loads((EDITORS / "jetbrains" / "installer.json").read_text("utf-8"))
    (mapping,) = template["fileTypeMappings"]
    assert mapping["fileType"]["patterns"] == ["*.yml.j2", "*.yaml.j2"]
    assert template["programArgs"]["default"] == "promptls"
    assert installer["run"]["exec"]["onSuccess"]["configureServer"]["command"] == "promptls"


def test_mason_installs_this_version() -> None:
    package = yaml.safe_load((EDITORS / "upstream" / "mason.yaml").read_text("utf-8"))
    assert package["source"]["id"] == f"pkg:pypi/promptls@{__version__}"
    assert package["bin"] == {"promptls": "pypi:promptls"}


def test_the_schema_store_takes_the_schema_for_the_file_of_the_settings() -> None:
    entry = json.loads((EDITORS / "upstream" / "schemastore.json").read_text("utf-8"))
    assert entry["fileMatch"] == [SETTINGS_FILE]
    assert set(entry) == {"name", "description", "fileMatch", "url"}


def test_kate_finds_the_language_that_the_server_is_for() -> None:
    language = ET.parse(EDITORS / "kate-prompt.xml").getroot()
    ((_, server),) = json.loads((EDITORS / "kate.json").read_text("utf-8"))["servers"].items()
    assert re.fullmatch(server["highlightingModeRegex"], language.get("name", ""))
    contexts = {context.get("name") for context in language.iter("context")}
    styles = {style.get("name") for style in language.iter("itemData")}
    for element in language.iter():
        assert element.get("attribute", "Text") in styles
        if element.tag != "context":
            assert element.get("context", "#stay") in {*contexts, "#stay", "#pop"}
