"""Prompts in `.json.gz` files, as Ragas saves them, on the command line and in a program."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import promptls
from promptls.cli.main import main

SAVED = {"format_version": "1.0", "type": "Prompt", "instruction": "Grade {a}: é", "examples": []}


def test_prompts_that_ragas_packed_are_read_shown_checked_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "grade.json.gz"
    file.write_bytes(gzip.compress(json.dumps(SAVED).encode()))
    assert promptls.load(file).render(a="b").string == "Grade b: é"
    assert main(["check", str(file)]) == 0
    assert main(["render", str(file), "--data", '{"a": "b"}', "--string"]) == 0
    assert capsys.readouterr().out.endswith("Grade b: é")
    back = tmp_path / "back.json.gz"
    assert main(["convert", str(file), "-o", str(tmp_path / "grade.yml.j2")]) == 0
    assert main(["convert", str(tmp_path / "grade.yml.j2"), "--to", "simple-prompt", "-o", str(back)]) == 0
    assert json.loads(gzip.decompress(back.read_bytes()))["instruction"] == "Grade {a}: é"
