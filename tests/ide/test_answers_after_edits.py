"""After edits of a prompt object, evaluation prompt or JSON file, all answers equal those for the same text
opened again.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.ide.document_symbols import document_symbols
from promptls.ide.hover import hover
from promptls.ide.semantic_tokens import file_run
from promptls.lint.runner import check
from promptls.text.positions import PositionEncoding, Span
from promptls.workspace.workspace import Workspace
from support.example_counts import examples

pytestmark = pytest.mark.thorough

OBJECT = """\
name: benchmark  # a comment
instruction: |
  Answer {{ question }}.
  {% if tone %}
  As {{ tone }} as you can.
  {% endif %}
input_keys: [question, tone]
output_key: answer
output_type: json
examples:
  - question: "Why?"
    tone: 'calm'
    answer: {number: 1, list: [1,
      2]}
  - question: |
      What does it
      say?
    tone: plain words
      that go on
    answer:
      number: 2
  # one more
  - {question: "How, then?", tone: kind, answer: {number: [3]}}
  - question: When?
    tone: sad
    answr: "x"
"""
FLOW = """\
instruction: "Say, {{ why }}."
input_keys: [why,
  what]
output_key: answer
examples: [
  {why: "this", what: plain words, answer: 1},  # a comment
  {why: 'that', what: {a: b, c: [d, e]}, answer: {{ x }}},
  {"why": "or","what":"the other",
   answer: [1, 2, {k: v}]},
]
language: english
"""
JSON = """\
{
  "name": "saved",
  "instruction": "Say \\"it\\", and be brief.",
  "output_format_instruction": "",
  "examples": [
    {
      "why": "first",
      "answer": {"number": 1, "of": [1, 2, {"k": null}]}
    },
    {"why": "\\ud83d\\ude00 smiles", "answer": {"number": 2}},
    {
      "why": "third", "why": "again",
\t\t\t"answer": {"number": true}
    }
  ],
  "input_keys": ["why"],
  "output_key": "answer",
  "output_type": "json",
  "language": "english"
}
"""
EVALUATION = """\
reader_cfg: {input_columns: [question, context], output_column: answer}
infer_cfg:
  prompt_template:
    template:
      begin:
      - role: SYSTEM
        fallback_role: HUMAN
        prompt: Answer {{ how }}.
      round:
      - role: HUMAN
        prompt: "{question}: why?"
      - role: BOT
        prompt: |
          {answer}
          indeed
      - {role: HUMN, prompt: "{context}"}
  retriever: {type: ZeroRetriever}
"""
TEXTS = {
    "an object": ("a.yml.j2", OBJECT),
    "an object with other line ends": ("a.yml.j2", OBJECT.replace("\n", "\r\n")),
    "an object with its examples in brackets": ("a.yml.j2", FLOW),
    "a JSON object in a template": ("a.yml.j2", JSON),
    "a JSON file": ("a.json", JSON),
    "a JSON file with other line ends": ("a.json", JSON.replace("\n", "\r\n")),
    "an evaluation prompt": ("a.yml.j2", EVALUATION),
}
TYPED = (
    "x", " ", "\n", "\n  ", "\n    ", "\t", "'", '"', '"', '\\"', ":", ": ", ",", ", ", "- ", "#", " #", "|",
    "? ", "[", "]", "{", "}", "},", "], ", "&a ", "*a", "!t ", "{{ y }}", "{{", "}}", "{% if a %}",
    "{% endif %}", "---\n", "\u2028", "\\ud83d", "# c\n", "key: v\n", "    tone: v\n", '"k": "v",',
    ', "k": 1', "{why: 1}, ", "  - question: z\n    tone: t\n    answer: {}\n",
    '{"why": "w", "answer": {}},', "x: |\n        y\n", "",
)  # fmt: skip


def opened(name: str, text: str) -> Workspace:
    """Return a workspace in which the text is open as a prompt file."""
    workspace = Workspace()
    workspace.set_editor_settings({"include": ["**", "*"]})
    workspace.open(f"/answers/{name}", text, 1)
    return workspace


def answers(workspace: Workspace, name: str, offsets: list[int]) -> list[object]:
    """Return all answers about the file: findings, symbols, semantic tokens and hovers."""
    snapshot, path = workspace.snapshot, f"/answers/{name}"
    return [
        snapshot.kind(path),
        check(snapshot, path),
        document_symbols(snapshot, path),
        file_run(snapshot, path, PositionEncoding.UTF16).numbers,
        *(hover(snapshot, path, offset, None) for offset in offsets),
    ]


@given(st.sampled_from(sorted(TEXTS)), st.data())
@examples(60)
def test_answers_after_edits_equal_those_of_a_fresh_parse(which: str, data: st.DataObject) -> None:
    name, text = TEXTS[which]
    workspace = opened(name, text)
    place = data.draw(st.integers(0, len(text)))
    undone: list[tuple[Span, str]] = []
    for version in range(2, 8):
        check(workspace.snapshot, f"/answers/{name}")
        source = workspace.snapshot.open_files[f"/answers/{name}"].template.source
        if data.draw(st.booleans()) and undone:
            span, typed = undone.pop()
        else:
            start = min(place, len(source))
            end = min(len(source), start + data.draw(st.sampled_from((0, 0, 0, 0, 1, 1, 4, 30))))
            span, typed = Span(start, end), data.draw(st.sampled_from(TYPED))
            undone.append((Span(start, start + len(typed)), source.text[start:end]))
        workspace.edit(f"/answers/{name}", version, [(span, typed)])
        place = data.draw(st.sampled_from((span.start + len(typed), span.start, max(span.start - 1, 0))))

        now = workspace.snapshot.open_files[f"/answers/{name}"].template.source.text
        offsets = [place, len(now) // 2, len(now) - 9]
        assert answers(workspace, name, offsets) == answers(opened(name, now), name, offsets)
