"""Conversions: the converted template renders to the messages of its source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from jinja2 import Environment

from promptls.convert.formats import convert, guess
from promptls.dialects.prompt_poet.template_rendering import render
from promptls.dialects.ragas.prompt_object import format_prompt, read_prompt_object
from promptls.lint.runner import check
from promptls.text.errors import UsageError, UserError
from promptls.workspace.workspace import Workspace
from support.example_counts import examples

MAIN = "/project/main.yml.j2"


def messages(text: str, data: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [(part.role, part.content) for part in render(MAIN, data, unsaved={MAIN: text}).parts]


def errors(text: str) -> list[str]:
    workspace = Workspace([Path("/project")])
    workspace.open(MAIN, text, 1)
    return [
        finding.message
        for finding in check(workspace.snapshot, MAIN)
        if finding.severity in {"error", "warning"}
    ]


# What Prompt Poet makes of texts, nobody can write otherwise.
TEXTS = st.text(max_size=40).filter(
    lambda text: "\\n" not in text and "\\r" not in text and "<|space|>" not in text
)
SPECIAL = st.text(alphabet="{}%#-: \n'\"|>&*!?[],@`\\xn#\t", max_size=25).filter(
    lambda text: "\\n" not in text
)
VALUES = st.text(alphabet="ab {}%:#'\"\n-é漢", min_size=1, max_size=12).filter(
    lambda text: text == text.strip()
)


def edges_are_kept(text: str) -> bool:
    """Return whether content can represent the white space at the text's ends."""
    edge = text[: len(text) - len(text.lstrip())] + text[len(text.rstrip()) :]
    return set(edge) <= {" ", "\n"}


@examples(250)
@given(
    st.lists(
        st.tuples(st.sampled_from(["system", "user", "assistant"]), TEXTS | SPECIAL), min_size=1, max_size=3
    )
)
@example([("user", "{{{{ a | b }} {% raw %} {{ endraw }} {# b"), ("user", "")])
@example([("system", "  a\n\n   b: c\n# d\n"), ("user", "{")])
@example([("user", "a\r\nb\rc\u2028d\u0085e\x07\x7f\u200d\ufeff")])
@example([("user", "#}---#}")])
def test_chat_messages_come_back(chat: list[tuple[str, str]]) -> None:
    assume(all(edges_are_kept(text) for _, text in chat))
    source = json.dumps([{"role": role, "content": text} for role, text in chat])

    made = convert(source, "a.json", "chat", "parts")

    assert messages(made.text, {}) == chat
    assert all("it stays text" in each for each in made.lost)


def test_losses_in_chat_messages_are_reported() -> None:
    source = {
        "model": "gpt",
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {}}],
            },
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "user", "content": "a\\nb", "name": "Ann"},
            {"role": "user", "content": "\tx"},
        ],
    }

    made = convert(json.dumps(source), "a.json", "chat", "parts")

    assert made.lost == (
        "settings beside the messages: `model`",
        "message 1: a piece of the type `image_url`, which is not a text",
        "message 2: `tool_calls`",
        "a written `\\n` or `\\r` becomes a line break, which Prompt Poet makes of it",
        "tabs and other white space at the ends of a message, which Prompt Poet strips",
    )
    assert "- name: Ann\n  role: user\n" in made.text


@pytest.mark.parametrize(
    "text", ["", "{", "3", '{"a": 1}', '["a"]', '[{"content": "a"}]', '[{"role": "user", "content": 3}]']
)
def test_what_is_no_chat_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        convert(text, "a.json", "chat", "parts")


FIELDS = st.sampled_from(
    ["{a}", "{b!r}", "{a:>8}", "{d.key}", "{e[1]}", "{d[key]}", "{{", "}}", "{{x}}", "{b!s:.3}"]
)


@examples(250)
@given(
    st.lists(FIELDS | SPECIAL.map(lambda text: text.replace("{", "{{").replace("}", "}}")), max_size=6),
    VALUES,
    VALUES,
)
@example(["{{", "{a}", "}}"], "x", "y")
@example(["{a}", "\n  b"], "x\ny", "y")
@example(["{a}", "}}"], ":", ":")
def test_a_text_with_fields_is_filled_in_as_before(pieces: list[str], first: str, second: str) -> None:
    text = "".join(pieces)
    data = {"a": first, "b": second, "d": {"key": second}, "e": ["x", first]}
    expected = text.format(**{**data, "d": Keyed(second)})
    assume(edges_are_kept(expected) and "\\" not in expected and not text.endswith("\n"))
    assume(text and not text[0].isspace() and not text[-1].isspace())
    assume(expected == expected.strip())

    made = convert(text, "a.txt", "f-string", "parts")

    assert messages(made.text, data) == [("user", expected)]
    # A single brace directly after a field is one too many in most texts, so it gets a warning.
    assert [message for message in errors(made.text) if "closes nothing" not in message] == []


class Keyed(dict[str, str]):
    """A mapping whose key is also an attribute, for `str.format`."""

    def __init__(self, value: str) -> None:
        super().__init__(key=value)
        self.key = value


def test_fields_with_invalid_names_are_renamed_and_reported() -> None:
    made = convert("{} {my var} {if} {token_limit}", "a.txt", "f-string", "parts")

    assert len(made.lost) == 4
    data = {"input_0": "1", "my_var": "2", "if_value": "3", "token_limit_": "4", "token_limit_value": "4"}
    data = {name: value for name, value in data.items() if name in made.text}
    assert messages(made.text, data) == [("user", "1 2 3 4")]


@pytest.mark.parametrize("text", ["{", "}", "{a", "{a + 1}", "{f(x)}", "{a:{b}}"])
def test_braces_that_are_no_fields_are_refused(text: str) -> None:
    with pytest.raises(UserError):
        convert(text, "a.txt", "f-string", "parts")


PROMPTY = """\
---
name: ask
description: Asks.
model:
  api: chat
inputs:
  question: {type: string, description: What is asked.}
sample:
  question: "Who?"
  context: [a, b]
---
system:
You are { helpful }: yes.
{% for each in context %}
- {{each}}
{%- endfor %}

# user:
{{question | upper}} # really
"""


def test_a_prompty_file_keeps_its_jinja_and_declares_its_inputs() -> None:
    made = convert(PROMPTY, "ask.prompty", "prompty", "parts")

    body = PROMPTY.split("---\n")[2]
    system, user = body.split("\n# user:\n")
    data = {"question": "who\nis: it", "context": ["1 # x", "2: y"]}
    jinja = Environment()
    expected = [
        jinja.from_string(each.removeprefix("system:\n").strip()).render(data) for each in (system, user)
    ]
    assert messages(made.text, data) == [("system", expected[0]), ("user", expected[1])]
    assert "question: {type: string, description: What is asked., default: Who?}" in made.text.replace(
        '"', ""
    )
    assert made.lost == ("`model` of the front matter",)
    assert errors(made.text) == []


@pytest.mark.parametrize(
    "template",
    ["jinja2", "{type: jinja2}", "{format: jinja2}", "{format: {kind: jinja2}, parser: {kind: prompty}}"],
)
def test_a_prompty_file_of_any_release_is_read(template: str) -> None:
    text = (
        f"---\ninputs: {{n: {{kind: float, default: 2}}}}\ntemplate: {template}\n---\nuser:\nb {{{{ n }}}}\n"
    )

    made = convert(text, "a.prompty", "prompty", "parts")

    assert messages(made.text, {"n": 2}) == [("user", "b 2")]
    assert "n: {type: number, default: 2}" in made.text
    assert made.lost == ()


@pytest.mark.parametrize(
    "text",
    [
        "Sum up:\n\n{{ document }}\n",
        "{% if short %}\nBe short.\n{% endif %}\nIt's “{{ document }}”: {{ count + 1 }}\n\n",
        "{% for each in items %}\n- {{ each.name }}: {{ each['text'] | upper }}\n{% endfor %}\nEnd",
        "{% macro quoted(text) %}'{{ text }}'\n{% endmacro %}\n{{ quoted(document) }}!",
        "{% set all %}{{ document }}, {{ count }}{% endset %}{{ all }} {{- all }}",
        "{% raw %}{{ name }}{% endraw %} {# what comes in #}{{ document -}}  \n  x",
        "{%- if short -%}\n  Be short.\n{%- endif -%}",
        " \n{{- document | safe -}} \n",
        "a: {{ count }} # {{ missing | default('it\\'s') }}",
    ],
)
def test_a_text_with_jinja_becomes_one_message_that_renders_the_same(text: str) -> None:
    made = convert(text, "a.jinja2", "jinja", "parts")

    items = [{"name": "x: y", "text": "one\ntwo"}, {"name": "z", "text": "it's"}]
    data = {"document": "It's\n- a: b\n", "count": 2, "short": True, "items": items}
    # Prompt Poet strips white space at the beginning.
    assert messages(made.text, data) == [("user", Environment().from_string(text).render(data).lstrip())]
    assert errors(made.text) == []
    assert made.lost == ()


def test_a_field_in_chat_messages_stays_text_and_is_reported() -> None:
    made = convert('[{"role": "user", "content": "Hi {{name}}"}]', "a.json", "chat", "parts")

    assert messages(made.text, {}) == [("user", "Hi {{name}}")]
    assert made.lost == ("message 1: `{{name}}` as an input; it stays text, as messages have no inputs",)


def test_a_text_with_jinja_declares_its_inputs() -> None:
    text = "{{ range(3) }}{{ b }}{{ a }}{% if b %}{% set c = b %}{% else %}{% set c = a %}{% endif %}{{ c }}"

    made = convert(text, "a.j2", "jinja", "parts")

    assert "input_keys:\n  b: {}\n  a: {}\n---#}" in made.text


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        (
            "{% include 'a.txt' %}",
            "`include 'a.txt'`: the lines of the other file need the indentation of the part",
        ),
        (
            "{% set all %}{{ a }}{% endset %}{{ all | upper }}",
            "`all | upper`: its filter gets a text whose line breaks are escaped",
        ),
    ],
)
def test_what_a_text_with_jinja_loses_is_reported(text: str, lost: str) -> None:
    assert convert(text, "b.j2", "jinja", "parts").lost == (lost,)


def test_a_text_that_jinja_cannot_read_is_refused_at_its_line() -> None:
    with pytest.raises(UserError) as caught:
        convert("a\n{% if x %}", "a.j2", "jinja", "parts")

    assert caught.value.place is not None
    assert caught.value.place.line == 1


def test_a_tag_at_the_end_of_a_message_trims_nothing_of_the_next_one() -> None:
    made = convert("system:\nBe {{ tone -}}\nuser:\n{{- question }}\n", "a.prompty", "prompty", "parts")

    assert messages(made.text, {"tone": "kind", "question": "Why?"}) == [
        ("system", "Be kind"),
        ("user", "Why?"),
    ]


def test_a_prompty_file_without_roles_is_one_message() -> None:
    made = convert("---\nname: a\n---\nBe kind.\n", "a.prompty", "prompty", "parts")

    assert messages(made.text, {}) == [("system", "Be kind.")]


def test_a_sample_in_another_file_is_reported_as_lost() -> None:
    made = convert("---\nsample: ${file:a.json}\n---\nsystem:\nb\n", "a.prompty", "prompty", "parts")

    assert made.lost == ("`sample` of the front matter, which names a file",)


@pytest.mark.parametrize(
    "text",
    [
        "---\na: [\n---\nsystem:\nb\n",
        "system:\n{% if a %}\nuser:\nb\n{% endif %}\n",
        "system:\n{{ a\n",
        "---\ntemplate: mustache\n---\nsystem:\nb\n",
        "---\ntemplate: {format: {kind: mustache}}\n---\nsystem:\nb\n",
    ],
)
def test_a_prompty_file_that_cannot_be_carried_over_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        convert(text, "a.prompty", "prompty", "parts")


DIALOGUE = """\
reader_cfg: {input_columns: [question, A], output_column: answer}
infer_cfg:
  prompt_template:
    type: PromptTemplate
    template:
      begin:
        - {role: SYSTEM, fallback_role: HUMAN, prompt: "Choose. {unknown} {{question}}"}
        - </E>
      round:
        - {role: HUMAN, prompt: "Q: {question}\\nA. {A}\\nAnswer: {answer}"}
        - {role: BOT, prompt: "{answer}"}
    ice_token: </E>
  retriever: {type: ZeroRetriever}
  inferencer: {type: GenInferencer}
"""


def opencompass_text(template: str, row: dict[str, str]) -> str:
    """Return OpenCompass's text: its columns joined, the answer's column empty."""
    for column, value in row.items():
        template = template.replace(f"{{{column}}}", "" if column == "answer" else value)
    return template


def test_an_evaluation_prompt_asks_what_opencompass_asks() -> None:
    row = {"question": "Why: x?\nTell.", "A": "because", "answer": "B"}

    made = convert(DIALOGUE, "a.yml", "opencompass", "parts")

    assert messages(made.text, row) == [
        ("system", opencompass_text("Choose. {unknown} {{question}}", row)),
        ("user", opencompass_text("Q: {question}\nA. {A}\nAnswer: {answer}", row)),
    ]
    assert made.lost == ()


def test_an_evaluation_prompt_in_python_is_read_and_not_run() -> None:
    text = (
        "raise SystemExit\n"
        "gsm8k_reader_cfg = dict(input_columns=['question'], output_column='answer')\n"
        "gsm8k_infer_cfg = dict(prompt_template=dict(type=PromptTemplate, template=dict(round=[\n"
        "    dict(role='HUMAN', prompt='Question: {question}\\n' + 'Think.'),\n"
        "    dict(role='BOT', prompt='{answer}')])),\n"
        "    retriever=dict(type=FixKRetriever, fix_id_list=[0]), inferencer=dict(type=GenInferencer))\n"
    )

    made = convert(text, "gsm8k.py", "opencompass", "parts")

    assert messages(made.text, {"question": "1 + 1?"}) == [("user", "Question: 1 + 1?\nThink.")]
    assert made.lost == ("the in-context examples that `FixKRetriever` chooses",)


OBJECT = """\
name: answer
instruction: |
  Answer the question: with {{braces}} and {context}.
input_keys: [question, context]
output_key: answer
output_type: json
examples:
  - {question: "Who?", context: "it is {me}", answer: {text: "{}"}}
"""


@examples(100)
@given(VALUES, VALUES)
def test_a_prompt_object_gives_the_text_that_ragas_gives(question: str, context: str) -> None:
    import yaml

    text = OBJECT.replace("{{braces}}", "braces")
    data = {"question": question, "context": context}
    expected = format_prompt(read_prompt_object(yaml.safe_load(text)), data)

    made = convert(text, "a.yml.j2", "object", "parts")

    assert messages(made.text, data) == [("user", expected)]
    assert errors(made.text) == []


def test_jinja_in_a_prompt_object_is_refused() -> None:
    with pytest.raises(UserError, match="Jinja"):
        convert(OBJECT, "a.yml.j2", "object", "parts")


PARTS = """\
{#---
name: triage
input_keys:
  text: {type: string}
  tone: {type: string}
output_key: response
output_type: json
examples:
  - {text: a, tone: b, response: {labels: [c]}}
---#}
- name: task
  role: system
  truncation_priority: 3
  content: |
    Sort the ticket in a {{ tone }} tone.
    Return {"labels": ["…"]}.
- name: ticket
  content: |
    {{ escape_special_characters(text) }}
"""


def test_a_parts_template_becomes_a_prompt_object() -> None:
    import yaml

    made = convert(PARTS, "a.yml.j2", "parts", "object")

    mapping = yaml.safe_load(Environment().from_string(made.text).render())
    prompt = read_prompt_object(mapping)
    text = format_prompt(prompt, {"text": "help", "tone": "calm"})
    assert text.startswith('Sort the ticket in a calm tone.\nReturn {"labels": ["…"]}.')
    assert text.endswith("\ntext: help\ntone: calm\nresponse: \n")
    assert mapping["examples"] == [{"text": "a", "tone": "b", "response": {"labels": ["c"]}}]
    assert made.lost == (
        "the `truncation_priority` of `task`",
        "the roles (system): a prompt object is one message",
        "the parts: their texts are one instruction now, and the inputs follow it",
    )
    assert errors(made.text) == []


def test_a_parts_template_with_tags_is_refused_at_its_place() -> None:
    with pytest.raises(UserError) as caught:
        convert("- name: a\n  content: |\n    {% if x %}b{% endif %}\n", "a.yml.j2", "parts", "object")

    assert caught.value.place is not None
    assert caught.value.place.line == 2


def test_there_is_no_way_between_some_forms() -> None:
    with pytest.raises(UsageError):
        convert("[]", "a.json", "chat", "object")


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("a.prompty", "system:\na", "prompty"),
        ("a.json", '[{"role": "user", "content": "a"}]', "chat"),
        ("-", '[{"role": "user", "content": "a"}]', "chat"),
        ("a.json", '{"infer_cfg": {"prompt_template": {}}}', "opencompass"),
        ("cfg.py", "infer_cfg = {}", "opencompass"),
        ("a.yml.j2", OBJECT, "object"),
        ("a.yml.j2", DIALOGUE, "opencompass"),
        ("a.yml.j2", PARTS, "parts"),
        ("a.txt", "Hi {name}", "f-string"),
        ("a.txt", "Hi", "f-string"),
        ("-", "---\nname: x\n---\nsystem:\nb", "prompty"),
        ("a.jinja2", "Hi {{ name }}", "jinja"),
        ("a.j2", "Hi {{ name }}", "jinja"),
        ("a.txt", "{% if a %}Hi{% endif %}", "jinja"),
        ("site.yml.j2", "- hosts: all\n", None),
        ("site.yml.j2", "hosts: {{ all }}\n", None),
        ("-", "Hi", None),
    ],
)
def test_the_form_of_a_file_is_guessed(name: str, text: str, form: str | None) -> None:
    assert guess(text, name) == form
