"""The small project that the tests open in each editor."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

PROMPT = "support.yml.j2"
TEXT = dedent(
    """\
    {#---
    input_keys:
      text: {type: string}
      tone: {type: string, description: How the answer is to sound.}
    output_key: answer
    examples:
      - {text: My printer is lost., tone: kind, answer: Look under the desk.}
    experiments:
      quick: {dataset: rows.csv, models: [echo], metrics: [exact_match]}
    ---#}
    - name: instructions
      role: system
      content: |
        Grüße 😀 and answer in a {{ tone }} tone.
    - name: question
      role: usr
      content: |
        {{ escape_special_characters(text) }}
    """
)


def make_project(folder: Path, text: str = TEXT) -> Path:
    """Write the project with `text` as its prompt into a new folder; return the path of the prompt."""
    folder.mkdir()
    (folder / "promptls.toml").write_text("")
    (folder / "rows.csv").write_text("text,tone,answer\nWhere is it?,kind,Here.\nWhen?,dry,Now.\n")
    (folder / PROMPT).write_text(text, "utf-8")
    return folder / PROMPT
