from __future__ import annotations

import pytest

from promptls.semantic.template import Template
from promptls.syntax.source import Source
from support.accepting import accepted
from support.completing import HEADER, completions, in_content, in_header

ACCEPTED = [
    (in_content("{{ us<CURSOR>"), "user", in_content("{{ user")),
    (in_content("{{ us<CURSOR>xx }}"), "user", in_content("{{ user }}")),
    (in_content("{{us<CURSOR>}}"), "user", in_content("{{ user }}")),
    (in_content("{{<CURSOR>}}"), "user", in_content("{{ user }}")),
    (in_content("{%-e<CURSOR>"), "extends", in_content('{%- extends "name.yml.j2" %}')),
    (in_content("{%i<CURSOR>%}"), "if", in_content("{% if condition %}\n    \n    {% endif %}")),
    (in_content("{% fo<CURSOR>}"), "for", in_content("{% for item in items %}\n    \n    {% endfor %}")),
    (in_content("{% if user %}{% end<CURSOR>}"), "endif", in_content("{% if user %}{% endif %}")),
    (in_content("{{user|<CURSOR>}}"), "upper", in_content("{{user|upper }}")),
    (in_content("{{ user | def<CURSOR> }}"), "default", in_content("{{ user | default }}")),
    (in_content("{{ user | repl<CURSOR> }}"), "replace", in_content("{{ user | replace() }}")),
    (in_content("{{ user.<CURSOR> }}"), "name", in_content("{{ user.name }}")),
    (in_content("{{ user .<CURSOR>}}"), "name", in_content("{{ user.name }}")),
    (in_content("{{ user .na<CURSOR> }}"), "name", in_content("{{ user.name }}")),
    (in_content("{{ user\n      .<CURSOR>}}"), "name", in_content("{{ user\n      .name }}")),
    (in_content("{% if user.tone == <CURSOR> %}"), '"kind"', in_content('{% if user.tone == "kind" %}')),
    (
        f'{HEADER}- name: a\n  content: "{{{{ user.tone == <CURSOR> }}}}"\n',
        "'kind'",
        f"{HEADER}- name: a\n  content: \"{{{{ user.tone == 'kind' }}}}\"\n",
    ),
    (in_content("{{ user['n<CURSOR>'] }}"), "name", in_content("{{ user['name'] }}")),
    (in_content("{% i<CURSOR>"), "if", in_content("{% if condition %}\n    \n    {% endif %}")),
    (in_content("{% i<CURSOR> %}"), "if", in_content("{% if condition %}\n    \n    {% endif %}")),
    (in_content("Say {% i<CURSOR> %} it"), "if", in_content("Say {% if condition %}{% endif %} it")),
    (
        in_content("{%- f<CURSOR> -%}"),
        "for",
        in_content("{%- for item in items -%}\n    \n    {%- endfor -%}"),
    ),
    (in_content("{% s<CURSOR>"), "set", in_content("{% set name = value %}")),
    (in_content("{% if user %}x{% e<CURSOR>"), "endif", in_content("{% if user %}x{% endif %}")),
    (in_content("{% if user %}x{% e<CURSOR> %}"), "endif", in_content("{% if user %}x{% endif %}")),
    (in_content("x<|sp<CURSOR>"), "<|space|>", in_content("x<|space|>")),
    (in_content("x<|<CURSOR>ace|>"), "<|space|>", in_content("x<|space|>ace|>")),
    ("- name: a\n  ro<CURSOR>\n", "role", "- name: a\n  role: system\n"),
    ("- name: a\n  ro<CURSOR>le: user\n  content: x\n", "role", "- name: a\n  role: user\n  content: x\n"),
    ("- name: a\n  con<CURSOR>\n", "content", "- name: a\n  content: |\n    \n"),
    ("- con<CURSOR>\n", "content", "- content: |\n    \n"),
    ("- {name: a, co<CURSOR>}\n", "content", "- {name: a, content: }\n"),
    ("- name: a\n  role: us<CURSOR>xx # who\n", "user", "- name: a\n  role: user # who\n"),
    ("- name: a\n  role:<CURSOR>\n", "user", "- name: a\n  role: user\n"),
    ("- name: a\n  role: 'x<CURSOR>y'\n", "user", "- name: a\n  role: 'user'\n"),
    (
        "- name: a\n  sec<CURSOR>\n",
        "sections",
        "- name: a\n  sections:\n    - name: name\n      content: |\n        \n",
    ),
    (
        "- name: a\n  content: x\npa<CURSOR>",
        "part",
        "- name: a\n  content: x\n- name: name\n  role: system\n  content: |\n    ",
    ),
    ("- <CURSOR>\n", "part", "- name: name\n  role: system\n  content: |\n    \n"),
    (in_header("exa<CURSOR>\n"), "examples", in_header("examples:\n  - \n")),
    (
        in_header("examples:\n  - <CURSOR>\n"),
        "example",
        in_header("examples:\n  - user: user\n    turns: turns\n    answer: answer\n"),
    ),
    (
        in_header("examples:\n  exa<CURSOR>\n"),
        "example",
        in_header("examples:\n  - user: user\n    turns: turns\n    answer: answer\n"),
    ),
    (
        in_header("experiments:\n  <CURSOR>\n"),
        "experiment",
        in_header(
            "experiments:\n  name:\n    dataset: rows.csv\n    models: [local:smollm2]\n"
            "    metrics: [exact_match]\n"
        ),
    ),
    (
        in_header("experiments:\n  e:\n    models: [lo<CURSOR>cal:x, echo]\n"),
        "local:smollm2",
        in_header("experiments:\n  e:\n    models: [local:smollm2, echo]\n"),
    ),
    (
        in_header("experiments:\n  e:\n    models:\n      - local:<CURSOR>\n"),
        "local:smollm2",
        in_header("experiments:\n  e:\n    models:\n      - local:smollm2\n"),
    ),
    (
        "{#<CURSOR>",
        "header",
        "{#---\nname: name\ndescription: What the prompt does.\ninput_keys:\n  text: {type: string}\n---#}\n",
    ),
]


@pytest.mark.parametrize(("fixture", "label", "after"), ACCEPTED)
def test_accepting_an_item_leaves_the_text_as_it_should_be(fixture: str, label: str, after: str) -> None:
    found, text, _, _ = completions(fixture)
    assert found is not None
    item = next(item for item in found.items if item.label == label)

    assert accepted(text, found, item) == after


@pytest.mark.parametrize(
    ("fixture", "label", "after"),
    [
        (in_content("{% f<CURSOR> %}"), "for", in_content("{% for  %}")),
        (in_content("{{ user | repl<CURSOR> }}"), "replace", in_content("{{ user | replace }}")),
        ("- name: a\n  con<CURSOR>\n", "content", "- name: a\n  content: \n"),
        ("- name: a\n  content: x\n<CURSOR>", "part", "- name: a\n  content: x\n- name: "),
    ],
)
def test_a_client_without_placeholders_gets_plain_text(fixture: str, label: str, after: str) -> None:
    found, text, _, _ = completions(fixture)
    assert found is not None
    item = next(item for item in found.items if item.label == label)

    assert accepted(text, found, item, with_snippets=False) == after


@pytest.mark.parametrize(
    "fixture",
    [
        "<CURSOR>",
        "- name: a\n  content: x\n<CURSOR>",
        "- <CURSOR>\n",
        "- name: a\n  <CURSOR>\n",
        "- name: a\n  content: x\n  <CURSOR>\n- name: b\n  content: y\n",
        "- name: a\n  sections:\n    - <CURSOR>\n",
        "- name: a\n  sections:\n    - name: s\n      <CURSOR>\n",
        "- {name: a, <CURSOR>}\n",
        "- name: a\n  role: <CURSOR>\n  content: x\n",
        "- name: a\n  content: |\n    {% <CURSOR> %}\n",
        "- name: a\n  content: |\n    {%<CURSOR>%} and more\n",
        "- name: a\n  content: |\n    {% <CURSOR>\n    more\n- name: b\n  content: y\n",
        '- name: a\n  content: "{% <CURSOR> %}"\n',
        "- name: a\n  content: |\n    {% if x %}\n    {% <CURSOR> %}\n    {% endif %}\n",
        "- name: a\n  content: |\n    {{ <CURSOR> }}\n",
        "- name: a\n  content: |\n    {{ x | <CURSOR> }}\n",
        "- name: a\n  content: |\n    {{ x is <CURSOR> }}\n",
        '- name: a\n  content: "{{ x.<CURSOR> }} {{ x.y }}"\n',
        "{#---\n<CURSOR>\n---#}\n- name: a\n  content: x\n",
        "{#---\nexperiments:\n  e:\n    dataset: d.csv\n    <CURSOR>\n---#}\n- name: a\n  content: x\n",
        "{#---\ninput_keys:\n  a:\n    <CURSOR>\n---#}\n- name: a\n  content: x\n",
        "instruction: Do.\ninput_keys: [a]\noutput_key: b\n<CURSOR>\n",
        "infer_cfg:\n  <CURSOR>\nreader_cfg: {}\n",
        "infer_cfg:\n  prompt_template:\n    template:\n      <CURSOR>\n",
    ],
)
def test_accepting_any_item_with_its_placeholders_leaves_valid_text(fixture: str) -> None:
    found, text, _, _ = completions(fixture)
    assert found is not None
    needs_argument = {"if", "is", "in", "not", "not in", "is not"}

    wrong = {}
    for item in found.items:
        if item.label in needs_argument and not item.snippet:
            continue
        after = filled_in(accepted(text, found, item))
        template = Template(Source.of(after))
        problems = [problem.message for problem in template.syntax_problems]
        problems += [each.message for each in template.declarations.problems if each.kind == "syntax"]
        if problems:
            wrong[item.label] = (after, problems)
    assert wrong == {}


def filled_in(text: str) -> str:
    """Return the text with an argument in each empty pair of parentheses."""
    return text.replace("()", "(1)").replace("not  }}", "not x }}")


@pytest.mark.parametrize(
    ("content", "label", "expected"),
    [
        ("{% macro f(b) %}{% endmacro %}{{ f<CURSOR>(1) }}", "f", "f"),
        ("{% macro f(b) %}{% endmacro %}{{ f<CURSOR> }}", "f", "f($1)$0"),
        ("{% macro f(b, c=1) %}{% endmacro %}{{ f(c<CURSOR>=2) }}", "c=", "c"),
        ("{% macro f(b, c=1) %}{% endmacro %}{{ f(c<CURSOR>) }}", "c=", "c="),
        ("{{ user.ge<CURSOR>('name') }}", "get", "get"),
    ],
)
def test_text_after_a_name_is_not_inserted_again(content: str, label: str, expected: str) -> None:
    found = completions(in_content(content))[0]

    assert found is not None
    item = next(item for item in found.items if item.label == label)
    assert (item.snippet or item.plain_text) == expected
