from __future__ import annotations

from pathlib import Path

import pytest

from promptls.experiments.history import MetricSummary, RunSummary
from promptls.ide.experiment_runs import ExperimentRuns
from promptls.ide.hover import hover
from support.fixture import MAIN, opened
from support.rendered import rendered

ROOT = Path("/project")


def check_hover(fixture: str, *expected: str, render: bool = True) -> str:
    """Check that the hover at the cursor contains each of `expected`."""
    snapshot, files = opened(fixture)
    path, marked = next((str(ROOT / name), file) for name, file in files.items() if file.cursor is not None)
    latest = rendered(snapshot, path) if render else None

    found = hover(snapshot, path, marked.cursor, latest)

    assert found is not None
    assert found.span.touches(marked.cursor)
    for words in expected:
        assert words in found.markdown, found.markdown
    return found.markdown


def check_no_hover(fixture: str) -> None:
    snapshot, files = opened(fixture)

    assert hover(snapshot, str(ROOT / MAIN), files[MAIN].cursor, None) is None


def test_the_text_of_a_template_is_counted_with_the_tags_at_its_end() -> None:
    check_hover("- name: fi<CURSOR>rst\n  content: |\n    {{ x }}\n", "- template text: 3 tokens")
    check_hover("- name: fi<CURSOR>rst\n  content: '{{ x }}'\n", "- template text: 3 tokens")


def test_hover_on_a_part_shows_its_tokens_and_the_running_total() -> None:
    check_hover(
        """\
- name: first
  content: one two three
- name: sec<CURSOR>ond
  content: four five
""",
        "- template text: 2 tokens",
        "- rendered: 2 tokens\n",
        "- up to here: 5 tokens of 5\n",
        "o200k_base",
    )


def test_the_tokens_of_a_loop_are_added_up() -> None:
    check_hover(
        """\
{% for i in range(3) %}
- name: tu<CURSOR>rn
  content: one two three
{% endfor %}
""",
        "- rendered: 9 tokens in 3 parts",
    )


def test_a_part_that_is_cut_says_so() -> None:
    check_hover(
        """\
{#---
token_limit: 4
truncation_step: 1
---#}
- name: fir<CURSOR>st
  content: one two three
  truncation_priority: 1
- name: second
  content: four five
""",
        "75% of the limit of 4",
        "- cut by the token limit of 4",
    )


def test_a_part_of_a_prompt_that_does_not_render_says_why() -> None:
    check_hover("- name: fir<CURSOR>st\n  content: '{{ 1 / 0 }}'\n", "does not render", "division")


def test_the_keys_of_parts_and_sections_are_documented() -> None:
    check_hover("- name: a\n  trunc<CURSOR>ation_priority: 1\n  content: x\n", "the highest number first")
    check_hover("- name: a\n  sections:\n    - na<CURSOR>me: b\n      content: x\n", "Name of the section")
    check_hover("- name: a\n  role: assis<CURSOR>tant\n  content: x\n", "The model's message")


def test_hover_on_an_input_shows_type_description_choices_and_value() -> None:
    check_hover(
        """\
{#---
input_keys:
  tone: {type: string, description: How to speak., enum: [kind, firm], default: kind}
examples:
  - tone: firm
---#}
- name: a
  content: Be {{ to<CURSOR>ne }}, {{ tone }}.
""",
        "`tone`: input, string, declared in `main.yml.j2`",
        "How to speak.",
        'one of `"kind"`, `"firm"`',
        'default: `"kind"`',
        'in `example 1` (the examples): `"firm"`',
    )


def test_an_input_of_a_section_is_declared_by_who_includes_it() -> None:
    check_hover(
        """\
-- main.yml.j2 --
{#---
input_keys:
  tone: {description: How to speak.}
---#}
- name: a
  content: Be {{ tone }}.
{% include "tail.yml.j2" %}
-- tail.yml.j2 --
- name: tail
  content: Be {{ to<CURSOR>ne }}.
""",
        "declared in `main.yml.j2`",
        "How to speak.",
        "also an input of `main.yml.j2`",
        render=False,
    )


def test_hover_on_a_name_shows_its_binding() -> None:
    check_hover("{% set sign = '!' %}\n- name: a\n  content: x{{ si<CURSOR>gn }}\n", "variable set in line 1")
    check_hover(
        "{% for m in messages %}\n- name: a\n  content: '{{ <CURSOR>m }}'\n{% endfor %}\n",
        "loop variable in line 1",
    )


def test_functions_of_prompt_poet_and_jinja_are_documented() -> None:
    check_hover(
        "- name: a\n  content: '{{ esc<CURSOR>ape_special_characters(x) }}'\n",
        "line breaks as",
        "escape_special_characters(text)",
    )
    check_hover(
        "- name: a\n  content: '{{ ra<CURSOR>nge(3) }}'\n",
        "range(start, stop, step=1)",
        "up to, but not including",
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{{ x | trun<CURSOR>cate(9) }}", ["truncate(length=255", "truncated copy", "```jinja"]),
        ("{% filter ind<CURSOR>ent(4) %}x{% endfilter %}", ["indent(width=4"]),
        ("{{ x is divis<CURSOR>ibleby 3 }}", ["divisibleby(num)", "divisible by a number"]),
        ("{{ x is not def<CURSOR>ined }}", ["defined"]),
        ("{% f<CURSOR>or t in x %}{% endfor %}", ["once per element"]),
        ("{% for t in x %}{% end<CURSOR>for %}", ["Closes the `for` block"]),
        ("{% for t in x %}{{ loop.ind<CURSOR>ex }}{% endfor %}", ["from 1"]),
        (
            "{# Says it. #}{% macro say(what, to='you') %}{% endmacro %}{{ s<CURSOR>ay(1) }}",
            ["say(what, to='you')", "Says it.", "macro in line"],
        ),
        ("{# Says it. #}{% macro sa<CURSOR>y(what) %}{% endmacro %}", ["say(what)", "Says it."]),
        ('{% from "macros.yml.j2" import gre<CURSOR>et %}', ["greet(name, mark='!')", "Greets somebody."]),
        (
            '{% from "macros.yml.j2" import greet as hi %}{{ h<CURSOR>i(1) }}',
            ["greet(name, mark='!')", "Greets somebody."],
        ),
        (
            '{% import "macros.yml.j2" as m %}{{ m.gr<CURSOR>eet(1) }}',
            ["greet(name, mark='!')", "macros.yml.j2"],
        ),
        (
            "{% for line in order.lines %}{{ line.sk<CURSOR>u }}{% endfor %}",
            ["part of the input `order`", '`"a1"`'],
        ),
    ],
)
def test_words_of_jinja_and_names_that_tags_make_are_documented(content: str, words: list[str]) -> None:
    fixture = (
        "-- main.yml.j2 --\n{#---\nexamples:\n  - order: {lines: [{sku: a1}]}\n---#}\n"
        f"- name: a\n  content: |\n    {content}\n"
        "-- macros.yml.j2 --\n{# Greets somebody. #}\n"
        "{% macro greet(name, mark='!') %}Hi {{ name }}{{ mark }}{% endmacro %}\n"
    )

    check_hover(fixture, *words, render="order" in content)


def test_hover_on_an_example_shows_its_tokens_and_those_of_the_prompt() -> None:
    header = "{#---\ninput_keys: [text]\nexamples:\n  - text: on<CURSOR>e two\n---#}\n"

    said = check_hover(header + "- name: a\n  content: Say {{ text }}.\n", "example 1", "written out: ")

    assert "the prompt with it: 4 tokens" in said


def test_hover_on_an_example_shows_its_result_in_the_last_run(tmp_path: Path) -> None:
    results = tmp_path / "run.csv"
    results.write_text("id,text,response,right,error,model\n1,two,no,fail,,echo\n2,one,yes,pass,,echo\n")
    text = "{#---\ninput_keys: [text]\nexamples:\n  - text: one\n---#}\n- name: a\n  content: x\n"
    snapshot, _ = opened(text)
    metric = MetricSummary("right", "discrete", 0.5, "50 %", 2, 0, {}, ["pass", "fail"])
    run = RunSummary(
        "r1", "e", tmp_path, results, tmp_path, "", 1.0, ("echo",), 2, 0, 1, 1, None, (metric,), stale=True
    )

    found = hover(snapshot, str(ROOT / MAIN), text.index("one"), None, lambda: (ExperimentRuns("e", run),))

    assert found is not None
    assert "answer: `yes`" in found.markdown
    assert "right `pass`" in found.markdown
    assert "stale" in found.markdown
    assert "`no`" not in found.markdown


def test_hover_on_a_column_of_an_evaluation_prompt_shows_its_value() -> None:
    check_hover(
        """\
reader_cfg: {input_columns: [q], output_column: a}
examples: [{q: Why?, a: b}]
prompt_template: {template: "{<CURSOR>q}="}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
""",
        "`q`: column with an input\n\n",
        '(the examples): `"Why?"`\n\n',
        "also in line 1",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("infer_cfg:\n  retri<CURSOR>ever: {type: ZeroRetriever}\n", "Selects the in-context examples"),
        ("infer_cfg:\n  retriever: {type: Fix<CURSOR>KRetriever}\n", "The rows of `fix_id_list`"),
        ("infer_cfg:\n  ice_template: {ice_t<CURSOR>oken: </E>}\n", "replaced by the in-context examples"),
        (
            "infer_cfg:\n  prompt_template:\n    template:\n      round:\n        - {ro<CURSOR>le: HUMAN}\n",
            "Speaker, usually",
        ),
        ("infer_cfg: {}\nreader_cfg:\n  output_c<CURSOR>olumn: a\n", "Column with the answer"),
        (
            "instruction: Do.\ninput_keys: [a]\noutput_key: b\noutput_type: js<CURSOR>on\n",
            "The output is JSON",
        ),
    ],
)
def test_keys_and_values_of_evaluation_prompts_and_prompt_objects_are_documented(
    text: str, words: str
) -> None:
    check_hover(text, words, render=False)


def test_hover_on_an_include_shows_its_tokens() -> None:
    check_hover(
        """\
-- main.yml.j2 --
- name: a
  content: x
{% include "ta<CURSOR>il.yml.j2" %}
-- tail.yml.j2 --
- name: tail
  content: one two three
""",
        "1 part: `tail`",
        "template text: 12 tokens",
        "rendered: 3 tokens",
    )


def test_a_changed_include_has_no_rendered_tokens_while_the_file_is_broken() -> None:
    tail = "-- tail.yml.j2 --\n- name: tail\n  content: two three\n"
    before = opened(f"-- {MAIN} --\n{{% include 'tail.yml.j2' %}}\n{tail}")[0]
    now = opened(f"-- {MAIN} --\n{{% include 'tail.yml.j2' %}}\n{{{{ 1\n{tail.replace('two', '2')}")[0]
    path = str(ROOT / MAIN)
    latest = rendered(now, path).after(rendered(before, path))

    found = hover(now, path, 15, latest)

    assert found is not None
    assert "template text: " in found.markdown
    assert "rendered" not in found.markdown


def test_an_include_names_its_rendered_parts() -> None:
    check_hover(
        """\
-- main.yml.j2 --
{% include "ta<CURSOR>il.yml.j2" %}
-- tail.yml.j2 --
{% for i in [1, 2] %}
- name: example {{ i }}
  content: one two
{% endfor %}
""",
        "2 parts: `example 1`, `example 2`",
        "rendered: 4 tokens",
    )


def test_a_function_of_the_functions_file_shows_its_signature(tmp_path: Path) -> None:
    from promptls.workspace.workspace import Workspace

    (tmp_path / "helpers.py").write_text('def shout(text, by=1):\n    """Louder."""\n')
    text = "{#---\nfunctions: helpers.py\n---#}\n- name: a\n  content: '{{ shout(x) }}'\n"
    workspace = Workspace([tmp_path])
    path = str(tmp_path / MAIN)
    workspace.open(path, text, 1)

    found = hover(workspace.snapshot, path, text.index("shout") + 1, None)

    assert found is not None
    assert "shout(text, by=1)" in found.markdown
    assert "Louder." in found.markdown


def test_a_samples_file_shows_its_samples_and_their_keys_of_any_type(tmp_path: Path) -> None:
    from promptls.workspace.workspace import Workspace

    (tmp_path / "tickets.yml").write_text("short: {text: a, 1: b}\nlong: {text: c}\n")
    text = "{#---\nsamples: tickets.yml\n---#}\n- name: a\n  content: '{{ text }}'\n"
    workspace = Workspace([tmp_path])
    path = str(tmp_path / MAIN)
    workspace.open(path, text, 1)

    found = hover(workspace.snapshot, path, text.index("tickets"), None)

    assert found is not None
    assert "- `short`: `text`, `1`" in found.markdown


def test_hover_on_an_include_shows_its_file_and_its_parts() -> None:
    check_hover(
        """\
-- main.yml.j2 --
- name: a
  content: x
{% include "sections/<CURSOR>tail.yml.j2" %}
-- sections/tail.yml.j2 --
- name: tail
  content: y
""",
        "include of `sections/tail.yml.j2`",
        "1 part: `tail`",
        render=False,
    )


def test_header_keys_are_documented_at_every_depth() -> None:
    header = "{#---\n%s\n---#}\n- name: a\n  content: x\n"
    check_hover(header % "token_l<CURSOR>imit: 5", "The maximum number of tokens of the rendered prompt.")
    check_hover(header % "input_keys:\n  tone: {ty<CURSOR>pe: string}", "JSON Schema type")
    check_hover(header % "experiments:\n  e: {data<CURSOR>set: d.csv}", "Path of the dataset")


def test_an_experiment_without_a_run_says_so() -> None:
    text = "{#---\nexperiments:\n  first: {dataset: d.csv}\n---#}\n- name: a\n  content: x\n"
    snapshot, _ = opened(text)

    found = hover(
        snapshot, str(ROOT / MAIN), text.index("first"), None, lambda: (ExperimentRuns("first", None),)
    )

    assert found is not None
    assert "`first` has not been run yet" in found.markdown


def test_the_keys_of_a_prompt_object_are_those_of_ragas() -> None:
    text = "instruc<CURSOR>tion: Do it.\ninput_keys: [a]\noutput_key: b\n"

    check_hover(text, "**instruction**: text, required", "at the start of the prompt", "tokens with")


@pytest.mark.parametrize(
    "text",
    [
        "- name: a\n  content: plain <CURSOR>text\n",
        "- hosts: <CURSOR>all\n  tasks: []\n",
        "<CURSOR>",
        "- name: a\n  content: '{{ 1 <CURSOR>}}'\n",
    ],
)
def test_there_is_nothing_to_say_of_plain_text(text: str) -> None:
    check_no_hover(text)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("- name: a\n  content: {{ his<CURSOR>tory[0].text }}\n",
         "`history`: input, used as list of mappings with text"),
        ("- name: a\n  content: {{ to<CURSOR>ne }}\n", "`tone`: input"),
        ("{#---\ninput_keys: {turns: {type: array}}\n---#}\n{{ (tur<CURSOR>ns | first).said }}\n",
         "`turns`: input, array, declared in `main.yml.j2`, used as list of mappings with said"),
        ("{% for t in turns %}\n- name: a\n  content: {{ <CURSOR>t.said.by }}\n{% endfor %}\n",
         "`t`: loop variable in line 1, used as mapping with said"),
        ("{% for <CURSOR>t in turns %}\n- name: a\n  content: {{ t.said.by }}\n{% endfor %}\n",
         "`t`: loop variable in line 1, used as mapping with said"),
        ("{% set b<CURSOR>oss = user.boss %}\n- name: a\n  content: {{ boss.name }}\n",
         "`boss`: variable set in line 1, used as mapping with name"),
    ],
)  # fmt: skip
def test_hover_on_a_variable_shows_its_inferred_type(text: str, first: str) -> None:
    snapshot, files = opened(text)

    shown = hover(snapshot, f"/project/{MAIN}", files[MAIN].cursor or 0, None)

    assert shown is not None
    assert shown.markdown.split("\n")[0] == first


KEYED = """\
{#---
input_keys:
  user: {type: object, properties: {name: {type: string, description: Full name.}}}
examples: [{user: {name: Ada}}]
---#}
{% macro greet(who, mark="!") %}{{ who }}{{ mark }}{% endmacro %}
{% set ns = namespace(count=0) %}
{% block head %}
- name: a
  content: "{{ ns.count }}{{ user.name }} {{ user['name'] }} {{ greet(1, mark='?') }}"
{% endblock %}
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("user.na<CURSOR>me", ["part of the input `user`, string", "Full name.", "declared in"]),
        ("user['na<CURSOR>me']", ["part of the input `user`, string", "Full name."]),
        ("{na<CURSOR>me: {type", ["part of the input `user`, string", "Full name."]),
        ("ma<CURSOR>rk='?'", ['`mark="!"`: parameter', 'greet(who, mark="!")']),
        ("block he<CURSOR>ad", ["`head`: block", "`main.yml.j2`, line 8 (here)"]),
        ("ns.co<CURSOR>unt", ["attribute of the namespace `ns`", "begins in line 7", "read in line 10"]),
    ],
)
def test_hover_describes_keys_arguments_and_blocks(words: str, expected: list[str]) -> None:
    check_hover(KEYED.replace(words.replace("<CURSOR>", ""), words, 1), *expected, render=False)
