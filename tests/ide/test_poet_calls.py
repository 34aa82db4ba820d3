"""What is reported of the uses of Prompt Poet's `Prompt` in a Python file, and where."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from promptls.api.poet_prompt import Prompt
from promptls.ide.library_calls import findings_in_library_calls
from promptls.ide.poet_calls import CONSTRUCTOR, MEMBERS, TRUNCATE
from promptls.settings.project import Project

PROGRAM = """import tiktoken
from prompt_poet import Prompt

def build(data):
    prompt = Prompt(template_path="main.yml.j2", template_data=data, encode_func=encode)
    prompt.tokenize()
    prompt.truncate(token_limit=1000, truncation_step=100)
    return prompt.messages
"""


def found(folder: Path, text: str) -> list[str]:
    """The words under each finding."""
    (folder / "main.yml.j2").write_text("- name: a\n  content: b\n")
    findings = findings_in_library_calls(text, str(folder / "program.py"), Project())
    assert all(finding.rule == "wrong-arguments" for finding in findings)
    return [text[finding.span.start : finding.span.end] for finding in findings]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("template_data=", "template_dat=", "template_dat"),
        ("main.yml", "mian.yml", '"mian.yml.j2"'),
        ("template_data=data", 'raw_template="- name: a"', "template_path"),
        ("encode)", 'tiktoken.get_encoding("o200k_base"))', 'tiktoken.get_encoding("o200k_base")'),
        ("    prompt.tokenize()\n", "", "prompt.truncate"),
        ("truncation_step=", "truncate_step=", "truncate_step"),
        (", truncation_step=100", "", "prompt.truncate"),
        ("=1000", "=0", "0"),
        ("=100)", "=-5)", "-5"),
        ("prompt.messages", "prompt.message", "message"),
    ],
)
def test_a_wrong_use_is_reported_at_its_place(tmp_path: Path, old: str, new: str, place: str) -> None:
    assert found(tmp_path, PROGRAM) == []
    assert found(tmp_path, PROGRAM.replace(old, new)) == [place]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("prompt.tokenize()", "count(prompt)"),
        ("prompt.tokenize()", "prepare = lambda: prompt.tokenize()"),
        ("prompt.tokenize()", "prompt = other()"),
        ("token_limit=1000, truncation_step=100", "**limits"),
        ("token_limit=1000, truncation_step=100", "-1"),
        ("token_limit=1000, truncation_step=100", "1000, 100"),
        ("encode)", "encode, truncation_step=5)"),
        ("prompt.messages", "prompt.custom_attribute"),
        ("from prompt_poet", "from other_package"),
    ],
)
def test_a_right_use_is_not_reported(tmp_path: Path, old: str, new: str) -> None:
    assert found(tmp_path, PROGRAM.replace(old, new)) == []


def test_the_known_names_are_those_of_the_class() -> None:
    parameters = inspect.signature(Prompt).parameters
    assert tuple(name for name in parameters if name != "sandboxed") == CONSTRUCTOR
    assert tuple(inspect.signature(Prompt.truncate).parameters)[1:] == TRUNCATE
    assert {name for name in dir(Prompt) if not name.startswith("_")} | {
        "token_limit",
        "template_package_name",
    } == MEMBERS
