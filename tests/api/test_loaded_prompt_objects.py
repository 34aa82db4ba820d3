"""Prompt objects loaded from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import promptls
from promptls import PromptError

YAML = """\
{#--- name: ignored ---#}
instruction: Sort the ticket{% if strict %} strictly{% endif %}.
input_keys: [ticket]
output_key: label
examples:
  - {ticket: It broke, label: {kind: bug}}
"""
SAVED = {"type": "Prompt", "format_version": "1.0", "instruction": "Is {a} {{b}} {{% x", "examples": []}


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def test_a_prompt_object_renders_to_one_message_with_its_tokens(tmp_path: Path) -> None:
    template = promptls.load(written(tmp_path, "triage.yml.j2", YAML))
    example = 'ticket: "It broke"\nlabel: {"kind": "bug"}'
    text = f"Sort the ticket strictly.\n\n{example}\n\nticket: No sound\nlabel: \n"
    assert template.format(ticket="No sound", strict=True) == text
    prompt = template.render(ticket="No sound", strict=True)
    assert prompt.messages == [{"role": "user", "content": text}]
    assert prompt.tokens.total == prompt.count("gpt-4o").total > 0


def test_the_release_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "triage.yml.j2", YAML)
    assert '"No sound"' in promptls.load(path, ragas_version="0.1.21").format(ticket="No sound")
    assert '"No sound"' not in promptls.load(path).format(ticket="No sound")


def test_a_file_that_ragas_saved_is_not_jinja(tmp_path: Path) -> None:
    template = promptls.load(written(tmp_path, "saved.json", SAVED))
    assert template.format(a="x", more=1) == "Is x {b} {% x"


@pytest.mark.parametrize(
    ("name", "content", "kind", "said"),
    [
        ("a.json", "{", "load", "not JSON"),
        ("a.json", {"instruction": "a"}, "load", "The prompt object has no `input_keys`"),
        ("a.json", SAVED, "data", "no `a`"),
        ("a.yml.j2", "instruction: x\noutput_key: a\n", "load", "The prompt object has no `input_keys`"),
        ("a.yml.j2", "instruction: x\noutput_key: a\ninput_keys: [b]\n", "data", "no `b`"),
        ("a.yml.j2", "instruction: {{\n", "load", "unexpected"),
    ],
)
def test_errors_are_reported_with_the_file(
    name: str, content: Any, kind: str, said: str, tmp_path: Path
) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(PromptError, match=said) as caught:
        promptls.load(path).render()
    assert (caught.value.kind, caught.value.path) == (kind, str(path))
