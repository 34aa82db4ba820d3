from __future__ import annotations

import pytest

from promptls.ide.completion.documentation import documentation
from support.completing import HEADER, INCLUDES, completions, in_content, in_header, labels

CONTAINED = [
    # tags: expressions
    (in_content("{{ <CURSOR>"), ["user", "turns", "range", "escape_special_characters", "true", "not"]),
    (in_content("{{ us<CURSOR>er }}"), ["user"]),
    (in_content("{{ other }} {{ <CURSOR> }}"), ["other"]),
    (in_content("{% set local = 1 %}{{ <CURSOR>"), ["local"]),
    # values that go through filters and macros on their way
    (in_content("{% for of, all in [user] | groupby('tone') %}{{ user.<CURSOR>"), ["name"]),
    (in_content("{{ turns[0].by }}{% for by, all in turns | groupby('by') %}{{ all[0].<CURSOR>"), ["by"]),
    (in_content("{% for group in turns | groupby('by') %}{{ group.<CURSOR>"), ["grouper", "list"]),
    (
        in_content("{% for row in turns | batch(2) %}{% for turn in row %}{{ turn.by }}{{ turn.<CURSOR>"),
        ["by"],
    ),
    (in_content("{% macro m(who) %}{{ who.<CURSOR> }}{% endmacro %}{{ m(user) }}"), ["name", "tone"]),
    (in_content("{% if user.tone == '<CURSOR>"), ["kind", "firm"]),
    (in_content("{% if user.tone not in ['kind', '<CURSOR>"), ["kind", "firm"]),
    (in_content("{% if user.tone == <CURSOR> %}"), ['"kind"', "user"]),
    (in_content("{% if user.tone in [<CURSOR>"), ['"firm"', "user"]),
    (in_content("{% for turn in turns %}{{ <CURSOR> }}{% endfor %}"), ["turn", "loop"]),
    (in_content("{% for turn in turns if <CURSOR> %}{% endfor %}"), ["turn"]),
    (in_content("{% macro greet(name, mark='!') %}{{ <CURSOR> }}{% endmacro %}"), ["name", "mark", "caller"]),
    (in_content("{% if user %}\n    {{ <CURSOR>"), ["user"]),
    (in_content("{% call(each) f() %}{{ <CURSOR> }}{% endcall %}"), ["each"]),
    (in_content("{% with a = 1 %}{{ <CURSOR> }}{% endwith %}"), ["a"]),
    # members
    (in_content("{{ user.<CURSOR>"), ["name", "tone", "items"]),
    (in_content("{{ user.<CURSOR> }} and more"), ["name", "tone"]),
    (in_content("{{ user.na<CURSOR>me.x }}"), ["name", "tone"]),
    (in_content("{{ user['<CURSOR>"), ["name", "tone"]),
    (in_content("{{ user.get('<CURSOR>') }}"), ["name", "tone"]),
    (in_content("{% for t in turns %}{{ t.said }}{{ t.<CURSOR> }}{% endfor %}"), ["said"]),
    (in_content("{% for t in turns %}{{ loop.<CURSOR> }}{% endfor %}"), ["index", "first", "cycle"]),
    (
        in_content("{% set ns = namespace(found=false) %}{% set ns.more = 1 %}{{ ns.<CURSOR> }}"),
        ["found", "more"],
    ),
    (in_content("{{ user.tone == '<CURSOR>"), ["kind", "firm"]),
    (in_content("{% for t in turns %}{{ t.said }}{{ f(t.<CURSOR>{% endfor %}"), ["said"]),
    (in_content("{% for t in turns %}{{ t.said }}{% endfor %}{{ (turns | first).<CURSOR> }}"), ["said"]),
    (in_content("{% for t in turns %}{{ t.said }}{% endfor %}{{ turns | map(attribute='<CURSOR>"), ["said"]),
    (
        in_content("{% for t in turns %}{{ t.said }}{% endfor %}{{ turns | selectattr('<CURSOR>') }}"),
        ["said"],
    ),
    (in_content("{{ turns[0].by.name }}{{ (turns | map(attribute='by') | last).<CURSOR> }}"), ["name"]),
    (in_content("{{ (x | trim).<CURSOR> }}"), ["lower", "split"]),
    # names that a tag gives
    (in_content("{% set tone = 1 %}{% set <CURSOR> %}"), ["tone"]),
    (in_content("{% block a %}{% block b %}x{% endblock %}{% endblock <CURSOR> %}"), ["a"]),
    (
        "{% extends 'b.yml.j2' %}\n{% block <CURSOR> %}\n-- b.yml.j2 --\n- name: a\n{% block head %}\n",
        ["head"],
    ),
    ("{% block a %}{{ self.<CURSOR> }}{% endblock %}\n- name: a\n  content: x\n", ["a"]),
    # filters and tests
    (in_content("{{ user | <CURSOR>"), ["default", "upper", "tojson", "selectattr"]),
    (in_content("{{ user | up<CURSOR> }}"), ["upper"]),
    (in_content("{% filter <CURSOR> %}x{% endfilter %}"), ["indent"]),
    (in_content("{{ user is <CURSOR>"), ["defined", "mapping", "divisibleby", "not"]),
    (in_content("{{ user is not <CURSOR>"), ["defined"]),
    # words of Jinja
    (in_content("{{ user <CURSOR>"), ["if", "and", "is", "not in"]),
    (in_content("{% for t <CURSOR>"), ["in"]),
    (in_content("{% include 'a' <CURSOR>"), ["ignore missing", "with context"]),
    (in_content("{% import 'a' <CURSOR>"), ["as"]),
    (in_content("{% from 'a' import b <CURSOR>"), ["as", "with context"]),
    # arguments
    (in_content("{{ user | truncate(<CURSOR>"), ["length=", "end=", "user"]),
    (in_content("{% macro f(a, b=1) %}{% endmacro %}{{ f(1, <CURSOR>"), ["b=", "user"]),
    # tags by name
    (in_content("{% <CURSOR>"), ["if", "for", "set", "include", "macro"]),
    (in_content("{% f<CURSOR> %}"), ["for", "from", "filter"]),
    (in_content("{% if user %}{% <CURSOR>"), ["endif", "else", "elif"]),
    # comments and text
    (in_content("{# promptls: ignore[<CURSOR>"), ["unknown-role", "unused-input"]),
    (in_content("{# promptls: ignore[unknown-role, <CURSOR>] #}"), ["unused-input"]),
    (in_content("{# p<CURSOR>"), ["promptls: ignore"]),
    (in_content("x <|<CURSOR>"), ["<|space|>"]),
    # parts
    ("- <CURSOR>", ["name", "content", "role", "part"]),
    ("- name: a\n  content: x\n<CURSOR>", ["part", "part with sections", "parts for a history"]),
    ("- name: a\n  <CURSOR>\n  content: x\n", ["role", "truncation_priority"]),
    ("- name: a\n  ro<CURSOR>\n", ["role", "content"]),
    ("- name: a\n  role: <CURSOR>\n  content: x\n", ["system", "user", "assistant"]),
    ("- name: a\n  role:<CURSOR>\n  content: x\n", ["system", "user"]),
    ("- name: a\n  role: 'us<CURSOR>'\n  content: x\n", ["user"]),
    ("- {name: a, ro<CURSOR>}\n", ["role"]),
    ("- name: a\n  sections:\n    - name: s\n      <CURSOR>\n", ["content"]),
    ("- name: a\n  content: '{{ x }}'\n  expected_template_data_keys: [<CURSOR>]\n", ["x"]),
    # a new file
    ("<CURSOR>", ["header", "part", "prompt object", "evaluation prompt"]),
    ("p<CURSOR>", ["part", "parts for a history", "prompt object"]),
    ("\nhea<CURSOR>\n", ["header"]),
    ("{#<CURSOR>", ["header"]),
    ("{#---\nna<CURSOR>", ["name", "input_keys"]),
    ("{#---\nna<CURSOR>\n- name: a\n  content: x\n", ["name", "input_keys"]),
    ("- na<CURSOR>", ["name"]),
    # the header
    (in_header("<CURSOR>\n"), ["name", "examples", "samples", "experiments"]),
    (in_header("encoding: <CURSOR>\n"), ["o200k_base", "cl100k_base"]),
    (in_header("examples:\n  - <CURSOR>\n"), ["example", "user", "turns", "answer"]),
    (in_header("examples:\n  <CURSOR>\n"), ["example"]),
    (in_header("experiments:\n  <CURSOR>\n"), ["experiment"]),
    (in_header("examples:\n  - user: x\n    <CURSOR>\n"), ["turns", "answer"]),
    (in_header("examples:\n  - {user: x,\n     <CURSOR>}\n"), ["turns", "answer"]),
    (
        in_header("output_schema: {properties: {p: {enum: [P0, P1]}}}\nexamples:\n  - answer: {<CURSOR>}\n"),
        ["p"],
    ),
    (
        in_header(
            "output_schema: {properties: {p: {enum: [P0, P1]}}}\nexamples:\n  - answer: {p: <CURSOR>}\n"
        ),
        ["P0"],
    ),
    (
        in_header(
            "output_schema: {properties: {p: {items: {enum: [x]}}}}\nexamples:\n  - answer: {p: [<CURSOR>\n"
        ),
        ["x"],
    ),
    (in_header("examples:\n  - user: {name: a, tone: <CURSOR>}\n"), ["kind", "firm"]),
    (in_header("experiments:\n  e:\n    <CURSOR>\n"), ["dataset", "models", "metrics"]),
    (in_header("experiments:\n  e:\n    models: [<CURSOR>]\n"), ["local:smollm2", "echo"]),
    (in_header("experiments:\n  e:\n    models:\n      - local:<CURSOR>\n"), ["local:smollm2"]),
    (in_header("experiments:\n  e:\n    metrics: [ex<CURSOR>]\n"), ["exact_match", "json_validity"]),
    (in_header("output_schema: {type: object, <CURSOR>}\n"), ["properties", "required"]),
    (in_header("experiments: {x: {dataset: d.csv, engine: <CURSOR>}}\n"), ["local", "ray"]),
    (in_header("experiments:\n  x:\n    budget: {<CURSOR>}\n"), ["calls", "tokens", "cost"]),
    (
        in_header("experiments:\n  x:\n    metrics: [exact_match, 'm.py:f']\n    thresholds: {<CURSOR>}\n"),
        ["exact_match", "f"],
    ),
    (in_header("output_schema:\n  properties:\n    a:\n      type: <CURSOR>\n"), ["string", "array"]),
    ("{#---\ninput_keys: [a, <CURSOR>]\n---#}\n- name: a\n  content: '{{ a }} {{ more }}'\n", ["more"]),
    (
        "{#---\ninput_keys:\n  a:\n    <CURSOR>\n---#}\n- name: a\n  content: x\n",
        ["type", "description", "enum"],
    ),
    (
        "{#---\ninput_keys:\n  a: {type: <CURSOR>}\n---#}\n- name: a\n  content: '{{ a }}'\n",
        ["string", "object"],
    ),
    # prompt objects
    (
        "instruction: Do.\ninput_keys: [a]\n<CURSOR>\n",
        ["output_key", "output_type", "language", "experiments"],
    ),
    ("instruction: Do.\ninput_keys: [a]\noutput_key: b\noutput_type: <CURSOR>\n", ["json", "str"]),
    ("instruction: Do {{ <CURSOR>\ninput_keys: [a]\noutput_key: b\n", ["a"]),
    ("instruction: Do.\ninput_keys: [a]\noutput_key: b\nexamples:\n  - <CURSOR>\n", ["a", "b"]),
    # evaluation prompts
    ("infer_cfg:\n  <CURSOR>\n", ["ice_template", "retriever"]),
    ("infer_cfg:\n  retriever: {type: <CURSOR>}\n", ["ZeroRetriever", "FixKRetriever"]),
    ("infer_cfg:\n  retriever: {type: FixKRetriever, <CURSOR>}\n", ["fix_id_list", "ice_num"]),
    ("infer_cfg: {}\nmeta_template:\n  round:\n    - {role: HUMAN, <CURSOR>}\n", ["generate", "api_role"]),
    ("infer_cfg: {}\nmeta_template:\n  round:\n    - role: <CURSOR>\n", ["HUMAN", "BOT"]),
    ("infer_cfg: {}\nmeta_template:\n  round:\n    - role: BOT\n      generate: <CURSOR>\n", ["true"]),
    ("infer_cfg:\n  inferencer:\n    type: <CURSOR>\n", ["GenInferencer"]),
    ("infer_cfg:\n  prompt_template:\n    template:\n      round:\n        - <CURSOR>\n", ["role", "prompt"]),
    (
        "infer_cfg:\n  prompt_template:\n    template:\n      round:\n        - {role: <CURSOR>}\n",
        ["HUMAN", "BOT"],
    ),
    ("infer_cfg:\n  ice_template:\n    ice_token: <CURSOR>\n", ["</E>"]),
    (
        "infer_cfg:\n  ice_template: {template: 'Q: {<CURSOR>'}\nreader_cfg:\n  input_columns: [question]\n",
        ["question"],
    ),
]


@pytest.mark.parametrize(("fixture", "expected"), CONTAINED)
def test_valid_completions_are_offered(fixture: str, expected: list[str]) -> None:
    found = labels(fixture)

    assert [label for label in expected if label not in found] == [], found


NOT_CONTAINED = [
    (in_content("{{ <CURSOR>"), ["loop", "name", "self"]),
    (in_content("{% for turn in turns %}x{% endfor %}{{ <CURSOR> }}"), ["turn", "loop"]),
    (in_content("{{ unknow<CURSOR> }}"), ["unknow"]),
    (in_content("{% for turn in <CURSOR>"), ["turn", "loop"]),
    (in_content("{% for turn in <CURSOR> %}{% endfor %}"), ["turn", "loop"]),
    (in_content("{{ user.na<CURSOR>"), ["na"]),
    (in_content("{% <CURSOR>"), ["endif", "else", "endfor"]),
    ("- name: a\n  <CURSOR>\n  content: x\n", ["name", "content"]),
    (in_header("examples:\n  - user: x\n    <CURSOR>\n"), ["user"]),
    (in_header("<CURSOR>\n"), ["output_key", "input_keys"]),
    ("instruction: Do.\n<CURSOR>\ninput_keys: [a]\n", ["instruction", "input_keys"]),
    ("infer_cfg:\n  retriever:\n    type: ZeroRetriever\n    <CURSOR>\n", ["fix_id_list", "k"]),
    ("infer_cfg:\n  ice_template:\n    type: RawPromptTemplate\n    <CURSOR>\n", ["template", "sep_token"]),
]


@pytest.mark.parametrize(("fixture", "unexpected"), NOT_CONTAINED)
def test_invalid_completions_are_not_offered(fixture: str, unexpected: list[str]) -> None:
    found = labels(fixture)

    assert found
    assert [label for label in unexpected if label in found] == []


@pytest.mark.parametrize(
    "fixture",
    [
        in_content("plain <CURSOR>text"),
        in_content("plain. <CURSOR>"),
        in_content("Note: <CURSOR>"),
        in_content("- <CURSOR>"),
        in_content("{# a word of pro<CURSOR>mpts #}"),
        in_content("{# <CURSOR>"),
        in_content("{{ 'a text <CURSOR>"),
        in_content("{{ 12<CURSOR> }}"),
        in_content("{% set <CURSOR>"),
        in_content("{% for <CURSOR>"),
        in_content("{% macro f(<CURSOR>"),
        in_content("{% raw %}{{ <CURSOR> }}{% endraw %}"),
        in_content("{% block na<CURSOR> %}"),
        in_content("{% endif <CURSOR> %}"),
        "- name: <CURSOR>\n  content: x\n",
        "- name: a\n  content: some wo<CURSOR>rd\n",
        "- name: a\n  content: 'some wo<CURSOR>rd'\n",
        "- name: a # a comm<CURSOR>ent\n  content: x\n",
        "- hosts: all\n  <CURSOR>\n  tasks: []\n",
        "services:\n  web: {}\n  <CURSOR>\n",
    ],
)
def test_nothing_pops_up_where_nothing_can_be_named(fixture: str) -> None:
    assert labels(fixture) == []


@pytest.mark.parametrize(
    ("fixture", "trigger", "answers"),
    [
        ("- <CURSOR>", " ", True),
        ("- name: a\n  <CURSOR>", " ", False),
        (in_content("a. <CURSOR>"), " ", False),
        (in_content("a.<CURSOR>"), ".", False),
        (in_content("say: <CURSOR>"), " ", False),
        (in_content("{{ user.<CURSOR>"), ".", True),
        (in_content("{{ user <CURSOR>"), " ", False),
        (in_content("{{ <CURSOR>"), " ", True),
        (in_content("{{<CURSOR>}}"), "{", True),
        (in_content("{%<CURSOR>%}"), "%", True),
        (in_content("{% if user %<CURSOR>"), "%", False),
        (in_content("{{ {<CURSOR>"), "{", False),
        (in_content("{{ user |<CURSOR> }}"), "|", True),
        (in_content("{{ user | <CURSOR> }}"), " ", True),
        (in_content("{% if user and <CURSOR> %}"), " ", True),
        (in_content("{{ user['<CURSOR>"), "'", True),
        (in_content("{{ '<CURSOR>"), "'", False),
        ("- name: a\n  content: |<CURSOR>\n", "|", False),
        ("- name: a\n  role: <CURSOR>\n  content: x\n", " ", True),
        ("- name: a\n  role:<CURSOR>\n  content: x\n", ":", True),
        ("- name: a\n  content: x\n  <CURSOR>\n", " ", False),
    ],
)
def test_a_typed_character_asks_only_where_it_means_something(
    fixture: str, trigger: str, answers: bool
) -> None:
    assert bool(labels(fixture, trigger=trigger)) is answers


@pytest.mark.parametrize(
    ("fixture", "first"),
    [
        (in_content("{% if user %}\n    {% <CURSOR>"), "endif"),
        (in_content("{% if user %}{% for t in turns %}\n    {% <CURSOR>"), "endfor"),
        (in_content("{% if user %}{% <CURSOR> %}{% endif %}"), "else"),
        (in_content("{% macro m() %}{% e<CURSOR>"), "endmacro"),
        (in_content("{% set late %}x{% <CURSOR> %}"), "endset"),
        (in_content("{% if user %}{% end<CURSOR>if %}"), "endif"),
        (in_content("{% for t in <CURSOR> %}"), "turns"),
        (in_content("{% for turn in turns %}{{ <CURSOR> }}{% endfor %}"), "turn"),
        (in_content("{{ f(<CURSOR>) }}{% macro f(only=1) %}{% endmacro %}"), "only="),
        ("- name: a\n  <CURSOR>\n", "content"),
        ("- name: a\n  content: x\n  <CURSOR>\n", "role"),
        ("<CURSOR>", "header"),
        ("- name: a\n  content: x\n<CURSOR>", "part"),
    ],
)
def test_the_likeliest_comes_first(fixture: str, first: str) -> None:
    assert labels(fixture)[0] == first


def test_what_prompt_poet_refuses_or_ignores_is_marked() -> None:
    found = completions("- name: a\n  sections:\n    - name: s\n      <CURSOR>\n")[0]

    assert found is not None
    assert {item.label for item in found.items if item.is_deprecated} == {"tokens", "truncation_priority"}


def test_a_block_opened_in_another_part_is_due() -> None:
    text = "{% if x %}\n- name: a\n  content: y\n- name: b\n  content: z\n{% <CURSOR>\n"

    assert labels(text)[0] == "endif"


def test_the_sample_gives_names_and_keys_that_nothing_declares() -> None:
    header = "{#---\nexamples:\n  - order: {id: 7, lines: [{sku: x}]}\n---#}\n"
    part = "- name: a\n  content: '{{ %s }}'\n"

    assert "order" in labels(header + part % "<CURSOR>", render=True)
    assert labels(header + part % "order.<CURSOR>", render=True)[:2] == ["id", "lines"]
    assert "sku" in labels(header + part % "order.lines[0].<CURSOR>")


@pytest.mark.parametrize(
    ("fixture", "label", "words"),
    [
        (in_content("{{ user | <CURSOR>"), "truncate", ["truncate(length=255", "truncated copy"]),
        (in_content("{{ user is <CURSOR>"), "divisibleby", ["divisible by a number"]),
        (in_content("{% <CURSOR>"), "for", ["once per element"]),
        (in_content("{% if user %}{% <CURSOR>"), "endif", ["Closes the `if` block"]),
        (in_content("{{ <CURSOR>"), "user", ["Who asks.", "mapping with name"]),
        (in_content("{{ <CURSOR>"), "range", ["range(start", "up to, but not including"]),
        (in_content("{{ <CURSOR>"), "escape_special_characters", ["line breaks as"]),
        (in_content("{% for t in turns %}{{ loop.<CURSOR> }}{% endfor %}"), "index", ["from 1"]),
        (in_content("{# Greets. #}{% macro f(a) %}{% endmacro %}{{ <CURSOR> }}"), "f", ["f(a)", "Greets."]),
        (in_content("{# promptls: ignore[<CURSOR>"), "unknown-role", ["role"]),
        ("- name: a\n  <CURSOR>\n", "content", ["Text for the model"]),
        ("- name: a\n  role: <CURSOR>\n", "assistant", ["The model's message"]),
        (in_header("<CURSOR>\n"), "token_limit", ["maximum number of tokens"]),
        ("p<CURSOR>", "part", ["```yaml\n- name: name\n  role: system\n  content: |\n```"]),
        ("{#<CURSOR>", "header", ["  text: {type: string}\n---#}"]),
        ("<CURSOR>", "evaluation prompt", ['prompt: "Question: {question}"}']),
        (in_header("examples:\n  - <CURSOR>\n"), "example", ["turns: turns\nanswer: answer"]),
        (in_header("experiments:\n  <CURSOR>\n"), "experiment", ["name:\n  dataset: rows.csv"]),
        (
            INCLUDES % '{% from "macros.yml.j2" import <CURSOR> %}',
            "greet",
            ["greet(name, mark='!')", "Greets somebody."],
        ),
        (INCLUDES % '{% include "<CURSOR>" %}', "sections/tail.yml.j2", ["1 part: `tail`"]),
    ],
)
def test_an_item_is_documented(fixture: str, label: str, words: list[str]) -> None:
    found, _text, snapshot, path = completions(fixture)
    assert found is not None
    assert label in [item.label for item in found.items]

    said = documentation(snapshot, path, label, found.source, found.path, found.insert.end)

    assert [each for each in words if each not in said] == [], said


def test_arguments_are_in_the_order_of_the_signature() -> None:
    macro = "{% macro f(b, z=1, a=2) %}{% endmacro %}"

    found = [label for label in labels(in_content(f"{macro}{{{{ f(<CURSOR>) }}}}")) if label.endswith("=")]

    assert found == ["z=", "a=", "b="]


def test_members_are_documented_by_their_schema_and_their_value() -> None:
    header = HEADER.replace("{name: {type: string}", "{name: {type: string, description: Full name.}")
    fixture = header.replace("---#}", "examples: [{user: {name: Ada}}]\n---#}")
    for place in ("user.<CURSOR>", "user['<CURSOR>"):
        found, _, snapshot, path = completions(f"{fixture}- name: a\n  content: '{{{{ {place} }}}}'\n")
        assert found is not None
        reported = documentation(snapshot, path, "name", found.source, found.path, found.insert.end)
        assert "Full name." in reported
        assert '`"Ada"`' in reported


def test_a_superseded_role_is_marked() -> None:
    found = completions("- name: a\n  role: <CURSOR>\n  content: x\n")[0]

    assert found is not None
    assert [item.label for item in found.items if item.is_deprecated] == ["function"]


def test_placeholders_do_not_offer_the_word_that_is_typed() -> None:
    text = "- name: a\n  content: |\n    {% for note in notes %}{{ note }}{{ no<CURSOR> }}{% endfor %}\n"

    found = labels(text, render=True)

    assert "note" in found
    assert "no" not in found
