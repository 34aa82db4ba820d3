"""Jinja as Prompt Poet runs it: names, undefined values, the sandbox, and the place of an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptls.dialects.prompt_poet.environment import CompiledTemplates
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.template_rendering import RenderOptions, render, render_text
from promptls.dialects.prompt_poet.vocabulary import escape, unescape


class Folder:
    """Templates of one folder that exists only in memory, beside a real one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def text(self, entry: str, data: dict[str, Any] | None = None, **others: str) -> str:
        return self._run(entry, data or {}, others)

    def failure(self, entry: str, data: dict[str, Any] | None = None, **others: str) -> PromptPoetError:
        with pytest.raises(PromptPoetError) as caught:
            self._run(entry, data or {}, others)
        return caught.value

    def _run(self, entry: str, data: dict[str, Any], others: dict[str, str]) -> str:
        unsaved = {str(self.path / f"{name}.yml.j2"): text for name, text in others.items()}
        path = str(self.path / "entry.yml.j2")
        return render_text(path, data, unsaved={**unsaved, path: entry}).text


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_a_missing_input_is_empty(folder: Folder) -> None:
    assert folder.text("a{{ missing }}b{% for x in missing %}c{% endfor %}") == "ab"


def test_an_attribute_of_a_missing_input_fails_at_its_line(folder: Folder) -> None:
    found = folder.failure("one\n{{ user.name }}")
    assert (found.kind, found.line, found.path) == ("render", 1, str(folder.path / "entry.yml.j2"))
    assert found.message.startswith("'user' is undefined. Pass it in the template data")


def test_a_value_of_another_shape_is_distinguished_from_a_missing_one(folder: Folder) -> None:
    found = folder.failure("{{ user.name.first }}", {"user": "Ann"})
    assert "'str object' has no attribute 'name'. Give the value the shape" in found.message


def test_a_failure_in_an_included_file_names_that_file(folder: Folder) -> None:
    found = folder.failure("\n{% include 'part.yml.j2' %}", part="\n\n{{ 1 // 0 }}")
    assert (found.line, found.path) == (2, str(folder.path / "part.yml.j2"))


def test_a_syntax_error_in_an_included_file_names_that_file(folder: Folder) -> None:
    found = folder.failure("{% include 'part.yml.j2' %}", part="\n{% for %}")
    assert (found.line, found.path, found.kind) == (1, str(folder.path / "part.yml.j2"), "render")


def test_unsaved_text_counts_before_the_saved_file(folder: Folder) -> None:
    (folder.path / "part.yml.j2").write_text("saved")
    assert folder.text("{% include 'part.yml.j2' %}") == "saved"
    assert folder.text("{% include 'part.yml.j2' %}", part="typed") == "typed"


def test_names_are_looked_up_from_the_entry_templates_folder(folder: Folder) -> None:
    (folder.path / "inner").mkdir()
    (folder.path / "inner" / "a.yml.j2").write_text("{% include 'b.yml.j2' %}")
    (folder.path / "inner" / "b.yml.j2").write_text("inner")
    assert folder.text("{% include './/inner/a.yml.j2' %}", b="outer") == "outer"


def test_a_name_that_leads_out_of_the_folder_is_refused(folder: Folder) -> None:
    assert "Jinja refuses `..`" in folder.failure("{% include '../other.yml.j2' %}").message


def test_a_file_that_is_not_there_is_named_with_its_folder(folder: Folder) -> None:
    found = folder.failure("{% include 'nope.yml.j2' %}")
    assert f"There is no file `nope.yml.j2` in {folder.path}" in found.message


def test_a_recursive_include_is_reported(folder: Folder) -> None:
    assert "includes itself" in folder.failure("{% include 'entry.yml.j2' %}").message


def test_a_missing_entry_template_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PromptPoetError, match="There is no template"):
        render(str(tmp_path / "none.yml.j2"), {})


def test_a_file_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.yml.j2").write_bytes(b"- name: \xff")
    with pytest.raises(PromptPoetError, match="not UTF-8"):
        render(str(tmp_path / "a.yml.j2"), {})


def test_too_deeply_nested_brackets_are_reported(folder: Folder) -> None:
    found = folder.failure("{{ " + "(" * 500 + "1" + ")" * 500 + " }}")
    assert "nests brackets or blocks too deep" in found.message


def test_a_misspelled_filter_gets_the_nearest_name(folder: Folder) -> None:
    found = folder.failure("\n{{ x | uper }}")
    assert (found.kind, found.line) == ("load", 1)
    assert "Did you mean `upper`?" in found.message


def test_a_filter_unknown_to_prompt_poet_in_a_branch_fails_when_it_runs(folder: Folder) -> None:
    entry = "{% if x %}{{ x | to_nice_yaml }}{% endif %}ok"
    assert folder.text(entry) == "ok"
    assert folder.failure(entry, {"x": 1}).kind == "render"


def test_a_method_that_hides_a_key_is_explained(folder: Folder) -> None:
    data = {"order": {"items": [1]}}
    assert 'mapping["items"]' in folder.failure("{% for x in order.items %}{% endfor %}", data).message
    assert folder.text('{% for x in order["items"] %}{{ x }}{% endfor %}', data) == "1"


@pytest.mark.parametrize("name", ["token_limit", "escape_special_characters"])
def test_reserved_names_are_refused_in_the_data(folder: Folder, name: str) -> None:
    found = folder.failure("x", {name: 1})
    assert (found.kind, f"`{name}` is a name that Prompt Poet sets itself" in found.message) == ("data", True)


def test_the_template_sees_the_token_limit_it_was_built_with(tmp_path: Path) -> None:
    path = str(tmp_path / "a.yml.j2")
    unsaved = {path: "{{ token_limit }}"}
    assert render_text(path, {}, unsaved=unsaved).text == "-1"
    assert render_text(path, {}, unsaved=unsaved, options=RenderOptions(token_limit=90)).text == "90"


def test_the_callers_data_are_left_alone(folder: Folder) -> None:
    data = {"g": {"name": "x"}, "h": [1, 2]}
    assert folder.text('{{ g.pop("name") }}{{ h.append(3) }}{{ h | length }}', data) == "xNone3"
    assert data == {"g": {"name": "x"}, "h": [1, 2]}


def test_a_namespace_can_be_set_in_the_sandbox(folder: Folder) -> None:
    assert folder.text("{% set ns = namespace(n=1) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}") == "2"


def test_a_long_range_is_legal_in_the_sandbox(folder: Folder) -> None:
    assert folder.text("{{ range(1000000) | length }}") == "1000000"


@pytest.mark.parametrize(
    "reach",
    [
        "{{ escape_special_characters.func.__globals__ }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ self._TemplateReference__context.environment.loader }}",
        "{{ ''['__class__'].__base__ }}",
        "{{ (''|attr('__class__')).__mro__ }}",
        "{{ '{0.__class__.__mro__}'.format('') }}",
        "{{ lipsum.__globals__['os'].listdir('/') }}",
    ],
)
def test_a_template_cannot_reach_the_file_system_through_attributes(folder: Folder, reach: str) -> None:
    found = folder.failure(f"one\n{reach}")
    assert (found.kind, found.line) == ("sandbox", 1)
    assert found.message.startswith("The sandbox of the template forbids this")


def test_a_template_compiles_once_until_its_text_changes(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, compiled = str(folder.path / "a.yml.j2"), CompiledTemplates()
    stored: list[str] = []
    original = CompiledTemplates.dump_bytecode
    monkeypatch.setattr(
        CompiledTemplates,
        "dump_bytecode",
        lambda self, bucket: (stored.append(bucket.key), original(self, bucket)),
    )
    for text, data in [("{{ x }}", {"x": 1}), ("{{ x }}", {"x": 2}), ("{{ x }}!", {"x": 3})]:
        made = render_text(path, data, unsaved={path: text}, compiled=compiled).text
        assert made == text.replace("{{ x }}", str(data["x"]))
    assert len(stored) == 2


def test_escaping_writes_line_breaks_and_drops_control_characters() -> None:
    assert escape("a\nb\r\tc\u2028d\u200d'") == "a\\nb\\rc\\u2028d'"


def test_unescaping_brings_back_line_breaks_only() -> None:
    assert unescape("a\\nb\\rc\\u2028") == "a\nb\rc\\u2028"


def test_escaping_wants_text(folder: Folder) -> None:
    assert "has no attribute 'replace'" in folder.failure("{{ escape_special_characters(3) }}").message
