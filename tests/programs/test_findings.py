"""Findings about calls that load templates in a Python file, and their places."""

from __future__ import annotations

import sysconfig
from itertools import islice
from pathlib import Path

import pytest

from promptls.lint.rule import apply_edits
from promptls.programs.findings import findings_of_python
from promptls.semantic.kind import Kind
from promptls.workspace.workspace import Workspace

TEMPLATE = """\
- name: a
  content: |
    {{ locale }} {{ user.name | trim }} {{ tone | default('dry') }}
{% for m in history %}
- name: b
  content: "{{ m.content }}{% if m.role == 'tool' %}{{ m.id }}{% endif %}"
{% endfor %}
"""
GIVEN = '"locale": "en", "user": {"name": "Ada"}, "history": []'


def found(folder: Path, data: str, *, before: str = "", after: str = "") -> list[tuple[str, str]]:
    """Return the underlined text and message of each finding in a call with this data."""
    (folder / "main.yml.j2").write_text(TEMPLATE)
    text = f'{before}Prompt(template_path="main.yml.j2", template_data={{{data}}}){after}\n'
    (folder / "call.py").write_text(text)
    workspace = Workspace([folder])
    reported = findings_of_python(workspace.snapshot, str(folder / "call.py"))
    assert reported.kind is Kind.PROGRAM
    return [(text[each.span.start : each.span.end], each.message) for each in reported.findings]


WRONG = {
    "an input is left out": (
        GIVEN.replace('"locale": "en", ', ""),
        [("Prompt", "`locale` is not given to `main.yml.j2`")],
    ),
    "an input is misspelled": (
        GIVEN.replace("locale", "lcale"),
        [("lcale", "`locale` is not given to `main.yml.j2`; `lcale` is, which it does not read")],
    ),
    "a value is of another type": (
        GIVEN.replace('{"name": "Ada"}', '"Ada"'),
        [("user", "`main.yml.j2`: `user` is a text, and is used as mapping with name")],
    ),
    "a row lacks what its role asks for": (
        GIVEN.replace("[]", '[{"role": "user", "content": 1}, {"role": "tool", "content": 2}]'),
        [("history", "`main.yml.j2`: `history[…]` lacks `id`, which is read where `role` is 'tool'")],
    ),
    "rows of a comprehension have another key": (
        GIVEN.replace("[]", '[{"role": each.role, "text": each.text} for each in rows]'),
        [("text", "`main.yml.j2`: `history[…]` lacks `content`; it has `text`")],
    ),
    "something that nothing reads": (f'{GIVEN}, "more": 1', [("more", "`main.yml.j2` does not read `more`")]),
    "what Prompt Poet refuses": (
        f'{GIVEN}, "token_limit": 1', [("token_limit", "Prompt Poet refuses `token_limit` in the data")]
    ),
    "all that is read": (f'{GIVEN}, "tone": None', []),
    "rows that are not known": (GIVEN.replace("[]", '[{"role": role(), "content": 1}, *more, {**one}]'), []),
}  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), WRONG.values(), ids=WRONG)
def test_a_call_is_reported_if_its_template_lacks_a_value(
    data: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert found(tmp_path, data) == expected


def test_a_misspelled_key_is_changed_to_the_input(tmp_path: Path) -> None:
    (tmp_path / "main.yml.j2").write_text(TEMPLATE)
    text = f'Prompt(template_path="main.yml.j2", template_data={{{GIVEN.replace("locale", "lcale")}}})\n'
    (tmp_path / "call.py").write_text(text)
    (finding,) = findings_of_python(Workspace([tmp_path]).snapshot, str(tmp_path / "call.py")).findings
    (fix,) = finding.fixes
    assert apply_edits(text, fix.edits) == text.replace("lcale", "locale")


def test_a_value_that_its_declaration_excludes_is_reported_at_its_key(tmp_path: Path) -> None:
    header = "{#---\ninput_keys: {tone: {enum: [dry, kind]}}\n---#}\n"
    (tmp_path / "main.yml.j2").write_text(f"{header}- name: a\n  content: '{{{{ tone }}}}'\n")
    text = 'Prompt(template_path="main.yml.j2", template_data={"tone": "polite"})\n'
    (tmp_path / "call.py").write_text(text)
    (finding,) = findings_of_python(Workspace([tmp_path]).snapshot, str(tmp_path / "call.py")).findings
    assert finding.message == "`main.yml.j2`: `tone` is `polite`, and not one of `dry`, `kind`"
    assert text[finding.span.start : finding.span.end] == "tone"
    assert [each.message for each in finding.related] == ["it is declared here"]


def test_a_comment_suppresses_a_call(tmp_path: Path) -> None:
    assert found(tmp_path, "", after="  # promptls: ignore[missing-template-data]") == []


def test_places_count_letters_of_other_planes(tmp_path: Path) -> None:
    (first, *_) = found(tmp_path, GIVEN.replace("locale", "lcale"), before="x = '🎉é'; ")
    assert first[0] == "lcale"


@pytest.mark.parametrize(
    "text",
    [
        "Prompt(template_path='gone.yml.j2', template_data={})\n",
        "Prompt(template_path='other.yml.j2', template_data={})\n",
        "Prompt(template_path='main.yml.j2', template_data=data)\n",
        "Prompt(template_path='main.yml.j2', template_data={} if a else {'b': 1})\n",
        "Prompt(template_path='main.yml.j2', **more)\n",
        "Prompt(template_path='main.yml.j2', template_data={**more})\n",
        "Prompt(template_path='main.yml.j2', template_data={}",
        "print('template_path')\n",
    ],
)
def test_a_program_of_which_nothing_is_known_is_left_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "main.yml.j2").write_text(TEMPLATE)
    (tmp_path / "other.yml.j2").write_text("hosts: {{ all }}\n")
    (tmp_path / "call.py").write_text(text)
    reported = findings_of_python(Workspace([tmp_path]).snapshot, str(tmp_path / "call.py"))
    assert reported.findings == ()
    assert reported.suppressed == ()


def test_installed_packages_are_left_alone() -> None:
    folder = Path(sysconfig.get_paths()["purelib"])
    snapshot = Workspace([folder]).snapshot
    for path in islice(sorted(folder.rglob("*.py")), 0, None, 200):
        assert not [
            each
            for each in findings_of_python(snapshot, str(path)).findings
            if each.rule == "missing-template-data"
        ]
