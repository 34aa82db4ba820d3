from __future__ import annotations

from pathlib import Path

import pytest

from promptls.format.prompt_file import file_edits, typing_edits
from promptls.lint.rule import apply_edits
from promptls.workspace.workspace import Workspace

ROOT = Path("/project")
LOOSE = "- name:  a\n  content: {{x}}\n\n\n\n- name:  b\n  content: c\n"
LAID_OUT = "- name: a\n  content: {{ x }}\n\n- name: b\n  content: c\n"
TAGS_ALONE = LOOSE.replace("{{x}}", "{{ x }}")


def laid_out(main: str, name: str = "main.yml.j2", **others: str) -> str:
    """Return the formatted text of the named file."""
    files = {"main.yml.j2": main, **{f"{key}.yml.j2": text for key, text in others.items()}}
    workspace = Workspace([ROOT])
    for key, text in files.items():
        workspace.open(str(ROOT / key), text, 1)
    return apply_edits(files[name], file_edits(workspace.snapshot, str(ROOT / name)))


@pytest.mark.parametrize(
    ("include", "due"),
    [
        ("- name: first\n  content: d\n{% include 's.yml.j2' %}\n", LAID_OUT),
        ("{% for x in xs %}\n{% include 's.yml.j2' %}\n{% endfor %}\n- name: last\n  content: d\n", LAID_OUT),
        ("- name: first\n  content: |\n    As in:\n    {% include 's.yml.j2' %}\n", TAGS_ALONE),
        (
            "- name: a\n  content: |\n    {% filter indent(4) %}{% include 's.yml.j2' %}{% endfilter %}\n",
            TAGS_ALONE,
        ),
        (
            "{% set s %}\n{% include 's.yml.j2' %}\n{% endset %}\n- name: a\n  content: '{{ s }}'\n",
            TAGS_ALONE,
        ),
    ],
)
def test_a_section_keeps_its_lines_where_they_are_text_of_a_prompt(include: str, due: str) -> None:
    assert laid_out(include, "s.yml.j2", s=LOOSE) == due


def test_a_section_that_is_a_text_keeps_its_lines() -> None:
    prose = "Labels:  \n- Billing:   money\n\n\n- Account:   {{x}}\n"

    after = laid_out("- name: a\n  content: |\n    b\n{% include 's.yml.j2' %}\n", "s.yml.j2", s=prose)

    assert after == prose.replace("{{x}}", "{{ x }}")


def test_a_file_that_is_no_prompt_is_left_alone() -> None:
    workspace = Workspace([ROOT])
    path = str(ROOT / "site.yml.j2")
    workspace.open(path, "- hosts:  all\n  tasks: {{x}}\n", 1)

    assert file_edits(workspace.snapshot, path) == ()
    assert typing_edits(workspace.snapshot, path, 28, "}") == ()
    assert laid_out("instruction:   {{x}}  \n") == "instruction: {{ x }}  \n"
