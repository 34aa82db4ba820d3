"""Prompt templates and prompt objects of any length for the benchmarks; always the same."""

from __future__ import annotations

import json
from collections.abc import Sequence

HEADER = """\
{#---
name: benchmark
input_keys: [user, turns, documents, locale, tone]
output_key: answer
examples:
  - {user: Ann, turns: [], documents: [], locale: en, tone: calm, answer: Hello.}
---#}
{% set limit = 12 %}
"""

PARTS = (
    """\
- name: instructions {n}
  role: system
  content: |
    You answer questions about order {n} in the language {{{{ locale }}}}.
    {{% if tone == "calm" and limit > {n} %}}
    Stay calm, and address the person as {{{{ user | title }}}}.
    {{% else %}}
    Be brief: no more than {{{{ limit }}}} sentences.
    {{% endif %}}
    A sentence of plain prose, as most lines of a prompt are, with nothing to it.
""",
    """\
{{% for document in documents %}}
- name: document {n} {{{{ loop.index }}}}
  role: user
  content: |
    {{{{ document.title | trim }}}}
    {{{{ document.text | truncate(200) }}}}
    Another sentence that the model reads, about the document above.
{{% endfor %}}
""",
    """\
{{# the chat so far #}}
{{% for turn in turns if turn.text %}}
- name: turn {n}
  role: {{{{ turn.role }}}}
  truncation_priority: 5
  content: "{{{{ escape_special_characters(turn.text) }}}}"
{{% endfor %}}
""",
)

OBJECT = """\
{# a prompt for answers #}
{% set limit = 12 %}
{% set locale = "en" %}
name: benchmark
instruction: |
  Answer in the language {{ locale }}.
  Use nothing but the context, and say so where it does not tell.
input_keys: [question, context]
output_key: answer
output_type: json
examples:
"""

EXAMPLES = (
    """\
  - question: How many parcels has order {n}?
    context: "Order {n}: three parcels."
    answer: |
      {{"number": 3}}
""",
    """\
  - question: 'What does order {n} cost?'
    context: |
      No more than {{{{ limit }}}} of them are paid for.
      Order {n} costs nine.
      Nobody knows more of it than that.
    answer: {{number: {n}}}
""",
    """\
  - question: When was order {n} sent?
    context: Order {n} was sent on day {n}
    answer:
      number: {n}
""",
)


def template(lines: int) -> str:
    """Return a valid parts template of at least `lines` lines, and at most ten more."""
    return _grown(HEADER, PARTS, lines)


def prompt_object(lines: int) -> str:
    """Return a valid prompt object of at least `lines` lines, and at most five more."""
    return _grown(OBJECT, EXAMPLES, lines)


EVALUATION = """\
# an evaluation of sums
abbr: sums
reader_cfg:
  input_columns: [question]
  output_column: answer
infer_cfg:
  prompt_template:
    type: PromptTemplate
    template:
      round:
        - role: HUMAN
          prompt: |
            Answer in {{ limit }} words.
"""

TURNS = (
    """\
        - role: BOT
          prompt: 'The sum {n} is known.'
        - role: HUMAN
          prompt: |
            Question {n}: {{question}}
            Take no more than {{{{ limit }}}} steps, as most prompts say.
            A sentence of plain prose.
""",
)


def evaluation_prompt(lines: int) -> str:
    """Return a valid evaluation prompt of at least `lines` lines."""
    behind = "  retriever: {type: ZeroRetriever}\n  inferencer: {type: GenInferencer}\n"
    return _grown(EVALUATION, TURNS, lines) + behind


def saved_json(lines: int) -> str:
    """Return a prompt object as Ragas saves it, of at least `lines` lines; `limit` is in its texts."""
    examples: list[object] = []
    saved = {
        "ragas_version": "0.3.0",
        "language": "english",
        "name": "benchmark",
        "instruction": "Answer the question. {{ limit",
        "examples": examples,
    }
    text = json.dumps(saved, indent=4)
    while text.count("\n") < lines:
        for _ in range(max((lines - text.count("\n")) // 9, 1)):
            number = len(examples)
            examples.append(
                {"input": {"question": f"What is {number}? {{{{ limit"}, "output": {"number": number}}
            )
        text = json.dumps(saved, indent=4)
    return text


def _grown(beginning: str, pieces: Sequence[str], lines: int) -> str:
    """Return the beginning, followed by as many numbered pieces as needed for this number of lines."""
    found = [beginning]
    count = beginning.count("\n")
    number = 0
    while count < lines:
        piece = pieces[number % len(pieces)].format(n=number)
        found.append(piece)
        count += piece.count("\n")
        number += 1
    return "".join(found)


def typing_place(text: str) -> int:
    """Return the offset in the middle of the text, after a variable, at which a typed `|` is an error."""
    marker = "{{ limit"
    return text.index(marker, len(text) // 2 if text.count(marker) > 1 else 0) + len(marker)
