"""Completion and hover in a settings file."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.completion.documentation import documentation
from promptls.ide.settings_file import complete_settings, explain_setting
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace

CURSOR = "|"


def at(text: str, name: str = "promptls.toml") -> tuple[Snapshot, str, int]:
    path = str(Path("/project") / name)
    workspace = Workspace([Path("/project")])
    workspace.open(path, text.replace(CURSOR, "", 1), 1)
    return workspace.snapshot, path, text.index(CURSOR)


OFFERED = {
    "|": ["encoding", "token_limit", "roles"],
    "[|": ["rules", "models.", "rendering"],
    "encoding = |": ["o200k_base"],
    'encoding = "o2|00"': ["o200k_base"],
    "[rules]\nun|": ["unknown-role", "unused-input"],
    '[rules]\nunknown-role = "|': ["error", "off"],
    "rules.un|": ["unknown-role"],
    'rules = { unknown-role = "|" }': ["hint"],
    '[models.fast]\nprovider = "|"': ["openai", "local"],
    "[models.fast]\n|": ["provider", "base_url"],
    'roles = [\n  "user",\n  "|"\n]': ["assistant"],
    "[inlay_hints]\ntokens = |": ["true", "false"],
    "default_model = '|'": ["local:smollm2"],
    "[experiments.first.budget]\n|": ["calls", "cost"],
    "[experiments.first.|": ["experiments.first.budget"],
    "[rate_limits.|": ["rate_limits.openai"],
    '[metrics.near]\nuse = "|"': ["exact_match"],
    '[metrics.near]\nuse = "string_similarity"\n|': ["use", "columns", "method"],
    'metrics.near = { use = "string_similarity", | }': ["method"],
    '[metrics.near]\n|\nuse = "string_similarity"\n[metrics.far]\nuse = "exact_match"\n': ["method"],
    '[metrics.near]\nuse = "string_similarity"\n[metrics.near.columns]\n|': ["method"],
    '[metrics.near]\nmodel = "|"': ["local:smollm2"],
    "[metrics.near]\nembeddings = '|'": ["local:smollm2"],
    'judge = "|"': ["local:smollm2"],
    "[models.fast.parameters]\n|": ["temperature"],
    '[models.fast]\napi_key_env = "|"': ["OPENAI_API_KEY"],
    '[models.fast]\nprovider = "local"\nmodel = "|"': ["smollm2"],
}


@pytest.mark.parametrize(("text", "expected"), OFFERED.items(), ids=OFFERED)
def test_what_the_schema_has_is_offered(text: str, expected: list[str]) -> None:
    found = complete_settings(*at(text))

    labels = [item.label for item in found.items] if found else []
    assert [label for label in expected if label not in labels] == []


@pytest.mark.parametrize(
    "text", ["# |", 'name = "x" |', 'encoding = """\n|', "[nobody]\n|", "token_limit = |", "é = '😀|'"]
)
def test_nothing_is_offered_where_nothing_is_known(text: str) -> None:
    assert complete_settings(*at(text)) is None


def test_a_key_is_written_with_what_its_value_takes() -> None:
    found = complete_settings(*at("|"))
    there = complete_settings(*at("enc|od = 'x'"))

    assert found is not None
    assert there is not None
    assert {item.label: item.snippet for item in found.items}["roles"] == "roles = [$1]$0"
    assert {item.label: item.plain_text for item in there.items}["encoding"] == "encoding"
    assert (there.insert.start, there.insert.end, there.replace.end) == (0, 3, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[tool.promptls]\nenc|", "encoding"),
        ("[tool.promptls.rules]\n|", "unknown-role"),
        ("[tool.|", "tool.promptls"),
    ],
)
def test_in_pyproject_only_the_own_table_counts(text: str, expected: str) -> None:
    found = complete_settings(*at(text, "pyproject.toml"))

    assert found is not None
    assert expected in {item.label for item in found.items}
    assert complete_settings(*at("[tool.ruff]\n|", "pyproject.toml")) is None
    assert complete_settings(*at("|", "pyproject.toml")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("enc|oding = 'x'", 'text, by default `"o200k_base"`'),
        ("[ren|dering]\n", "Limits of the rendering process."),
        ("[rules]\nunknown-r|ole = 'off'", "its severity; by default"),
        ("[rendering]\ntime|out = 3", "Maximum seconds per rendering; more than 5 only in a trusted folder."),
        ("[models.fast]\nprovider = 'ope|nai'", "**openai**: OpenAI"),
        ("[experiments.first]\nmetrics = ['exact_|match']", "the expected text"),
        ("[metrics.a]\nuse = 'string_similarity'\nmeth|od = 'x'", "option of `string_similarity`"),
    ],
)
def test_a_key_is_explained(text: str, expected: str) -> None:
    found = explain_setting(*at(text))

    assert found is not None
    assert expected in found.markdown


@pytest.mark.parametrize("text", ["nobo|dy = 1", "[nobo|dy]", "encoding = 'o2|'", "|", "[|"])
def test_what_is_no_setting_is_not_explained(text: str) -> None:
    assert explain_setting(*at(text)) is None


def test_an_offered_key_is_documented() -> None:
    snapshot, path, offset = at("[rendering]\n|")

    assert "seconds" in documentation(snapshot, path, "timeout", "setting", ("", "rendering"), offset)


def test_no_place_of_any_prefix_fails() -> None:
    text = '[rules]\n"a" = { b = ["c", \'d\'], "e.f" = 1 } # g\n[[x.y]]\nk."l" = """m\n"""\nn = [1,\n2]\n'
    for end in range(len(text) + 1):
        complete_settings(*at(f"{text[:end]}|"))
        explain_setting(*at(f"{text[:end]}|{text[end:]}"))


def test_files_are_offered_where_a_setting_names_one(tmp_path: Path) -> None:
    for name in ("helpers.py", "rows.csv", "notes.md"):
        (tmp_path / name).write_text("")
    offered = {}
    for text in ("functions = '|'", "[experiments.first]\ndataset = '|'"):
        workspace = Workspace([tmp_path])
        path = str(tmp_path / "promptls.toml")
        workspace.open(path, text.replace(CURSOR, ""), 1)
        found = complete_settings(workspace.snapshot, path, text.index(CURSOR))
        offered[text.split(" = ")[0]] = [item.label for item in found.items] if found else []

    assert offered == {"functions": ["helpers.py"], "[experiments.first]\ndataset": ["rows.csv"]}
