"""Findings that are reused after edits equal the findings in a fresh workspace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.lint import runner
from promptls.lint.rule import File, Finding, Rule, Severity
from promptls.lint.runner import check
from promptls.text.positions import Span
from promptls.workspace.workspace import Workspace
from support.example_counts import examples

pytestmark = pytest.mark.thorough

PATH = "/kept/main.yml.j2"
SECTION = "/kept/section.yml.j2"
HEADER = """\
{#---
input_keys:
  text: {type: string}
  unread: {type: string}
  items: {type: array}
examples:
  - {text: a, items: [1]}
---#}
{% from 'macros.j2' import gone %}
{% set tone = "kind" %}
"""
PARTS = (
    "- name: a\n  content: |\n    Some prose, and {{ text }}.\n",
    "- name: a\n  rol: user\n  content: '{{ tone }} {{ nobody }}'\n",
    "{% for item in items %}\n- name: c\n  content: |\n    {{ item.x }} {{ item.items }}\n{% endfor %}\n",
    "{% if tone %}\n- name: d\n  content: {{ text | uper }}\n{% endif %}\n",
    "{% include 'section.yml.j2' %}\n",
    "- name: e\n  content: {{ range() }}  {# promptls: ignore[wrong-arguments] #}\n",
    "{% macro m(a) %}{{ a }}{% endmacro %}\n- name: f\n  content: {{ m(1, 2) }}\n",
    "- name: g\n  expected_template_data_keys: [text, other]\n  content: |\n    {{ text | e }}\\n\n",
)
TYPED = ("x", " ", "\n", "{{ text }}", "{{ ", "}}", "{% if a %}", "{% endif %}", "- name: z\n", "|", "'", "")
OBJECT = """\
{# a note #}
instruction: |
  Answer {{ question }} as {{ tone }} as you can. # Be brief.
  {% if tone %}
  And {{ nobody }}.
  {% endif %}
input_keys: {question: {type: string}, number: {type: integer}}
output_key: answer
output_type: json
output_schema: {type: object, required: [k]}
examples:
  - question: a # comment
    number: one
    answer: {k: 1}
  - {question: b, number: 2, answr: '{"k": 1'}
  - question: a
    number: one
    answer:
      k: 1
      k: 2
  - question: b
    number: 2
    answer: [1]
output_key: answer
"""
EVALUATION = """\
reader_cfg: {input_columns: [question], output_column: answer}
infer_cfg:
  ice_template:
    type: PromptTemplate
    template:
      round:
      - {role: HUMN, prompt: "{question} {qestion}"}
      - role: BOT
        promt: x
        prompt: |
          {answer} {{ question }}
    ice_token: </E>
  prompt_template:
    template: "</E>{{ tone }} {question}"
  retriever: {type: FixKRetriever, fix_id_list: [0]}
  inferencer: {type: GenInferencer}
"""
WRITTEN = (
    "x", " ", "\n", "\n  ", "'", '"', ": ", "- ", " #", "|", "{", "}", "]", "{{ y }}", "{{ ", "}}",
    "{% if a %}", "{% endif %}", "key: v\n", "  k: v\n", "  - question: z\n    number: 3\n    answer: {}\n",
    "input_keys: [question]\n", "{# promptls: ignore[duplicate-key] #}", "",
)  # fmt: skip


def workspace_with(text: str) -> Workspace:
    """Return a workspace in which the file and its section are open."""
    workspace = Workspace()
    workspace.open(SECTION, "- name: section\n  content: {{ text }} {{ lacking }}\n", 1)
    workspace.open(PATH, text, 1)
    return workspace


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=60), st.data())
@examples(60)
def test_findings_after_edits_equal_those_of_a_fresh_parse(parts: list[str], data: st.DataObject) -> None:
    workspace = workspace_with(HEADER + "".join(parts))
    place = data.draw(st.integers(0, len(HEADER) + 40))
    for version in range(2, 8):
        check(workspace.snapshot, PATH)
        length = len(workspace.snapshot.open_files[PATH].template.source)
        if data.draw(st.booleans()):
            place = data.draw(st.integers(0, length))
        start = min(place, length)
        end = min(length, start + data.draw(st.sampled_from((0, 0, 0, 1, 5))))
        typed = data.draw(st.sampled_from(TYPED))
        workspace.edit(PATH, version, [(Span(start, end), typed)])
        place = start + len(typed)

    text = workspace.snapshot.open_files[PATH].template.source.text
    assert check(workspace.snapshot, PATH) == check(workspace_with(text).snapshot, PATH)


@given(st.sampled_from((OBJECT, EVALUATION)), st.data())
@examples(40)
def test_findings_in_objects_after_edits_equal_those_of_a_fresh_parse(text: str, data: st.DataObject) -> None:
    workspace = workspace_with(text)
    place = data.draw(st.integers(0, len(text)))
    undone: list[tuple[Span, str]] = []
    for version in range(2, 8):
        check(workspace.snapshot, PATH)
        source = workspace.snapshot.open_files[PATH].template.source
        if data.draw(st.booleans()) and undone:
            span, typed = undone.pop()
        else:
            start = min(place, len(source))
            end = min(len(source), start + data.draw(st.sampled_from((0, 0, 0, 1, 5, 40))))
            span, typed = Span(start, end), data.draw(st.sampled_from(WRITTEN))
            undone.append((Span(start, start + len(typed)), source.text[start:end]))
        workspace.edit(PATH, version, [(span, typed)])
        place = data.draw(st.sampled_from((span.start + len(typed), span.start + len(typed), 0, len(text))))

        now = workspace.snapshot.open_files[PATH].template.source.text
        assert check(workspace.snapshot, PATH) == check(workspace_with(now).snapshot, PATH)


def test_the_numbers_of_examples_follow_one_that_is_put_in_ahead_of_them() -> None:
    workspace = workspace_with(OBJECT)
    before = [each.message for each in check(workspace.snapshot, PATH) if "xample" in each.message]
    assert any("example 4" in message for message in before)

    place = OBJECT.index("  - question: a # comment")
    workspace.edit(PATH, 2, [(Span(place, place), "  - {question: new, number: 7, answer: {k: 3}}\n")])
    after = [each.message for each in check(workspace.snapshot, PATH) if "xample" in each.message]

    assert any("example 5" in message for message in after)
    assert not any("example 1 " in message for message in after if "has no" in message)


def test_a_finding_behind_an_edit_moves_along_with_the_text() -> None:
    parts = "".join(f"- name: p{index}\n  content: prose\n" for index in range(80))
    text = f"{parts}- name: last\n  content: {{{{ a | uper }}}}\n"
    workspace = workspace_with(text)
    (before,) = (each for each in check(workspace.snapshot, PATH) if each.rule == "unknown-filter")

    place = text.index("prose")
    workspace.edit(PATH, 2, [(Span(place, place), "more ")])
    (after,) = (each for each in check(workspace.snapshot, PATH) if each.rule == "unknown-filter")

    assert after == before.shifted(len("more "))


def test_each_rule_about_an_evaluation_prompt_sees_a_change_in_any_of_its_entries() -> None:
    text = (
        'prompt_template:\n  template:\n    round:\n    - {role: HUMN, prompt: "{question}"}\n'
        "  ice_token: </E>\n"
        "retriever: {type: FixKRetriever, fix_id_list: [0]}\ninferencer: {type: GenInferencer}\n"
        "meta_templat: {round: [{role: HUMN}, {role: BOT, generate: true}]}\n"
    )
    workspace = workspace_with(text)
    before = {each.rule for each in check(workspace.snapshot, PATH)}
    assert {"unknown-dialogue-role", "unknown-evaluation-key"} <= before

    place = text.index("meta_templat:") + len("meta_templat")
    workspace.edit(PATH, 2, [(Span(place, place), "e")])

    now = workspace.snapshot.open_files[PATH].template.source.text
    after = check(workspace.snapshot, PATH)
    assert after == check(workspace_with(now).snapshot, PATH)
    assert not {"unknown-dialogue-role", "unknown-evaluation-key"} & {each.rule for each in after}


def test_a_change_in_an_included_file_is_seen_by_the_file_that_includes_it() -> None:
    text = (
        "{#---\ninput_keys: [text, lacking]\n---#}\n{% include 'section.yml.j2' %}\n- name: a\n  content: b\n"
    )
    workspace = workspace_with(text)
    assert [each.rule for each in check(workspace.snapshot, PATH)] == []

    workspace.open(SECTION, "- name: section\n  content: {{ text }}\n", 2)
    workspace.edit(PATH, 2, [(Span(len(text) - 1, len(text) - 1), "x")])

    assert [each.rule for each in check(workspace.snapshot, PATH)] == ["unused-input"]


AGAIN = {
    "an attribute of a loop": ("{% for x in xs %}{{ loop.NAME }}{% endfor %}", "index", "indx"),
    "a block": ("{{ self.NAME() }}", "head", "hed"),
    "an attribute that is set": ("{% set NAME.x = 1 %}", "kept", "gone"),
    "a compared value": ("{{ mood == 'NAME' }}", "calm", "odd"),
    "a role that is set": ("x\n{% set who = 'NAME' %}", "user", "usr"),
    "a priority that is set": ("x\n{% set when = NAME %}", "1", "'a'"),
    "a property": ("{{ user.NAME }}", "city", "cty"),
    "a filter": ("{{ mood | NAME }}", "upper", "uper"),
    "a method": ("{{ user.NAME }}", "city", "items"),
    "a template": ("{% include 'NAME.yml.j2' %}", "section", "secton"),
    "an argument": ("{{ range(NAME) }}", "1", "1, 2, 3, 4"),
}
"""Contents of a part, with a correct word, and a wrong one."""
DECLARED = """\
{#---
input_keys:
  xs: {type: array}
  mood: {enum: [calm]}
  user:
    type: object
    properties: {city: {type: string}, tags: {type: array}}
    additionalProperties: false
---#}
{% set kept = namespace() %}
{% set gone = {} %}
{% block head %}{% endblock %}
"""


@pytest.mark.parametrize(("text", "right", "wrong"), AGAIN.values(), ids=AGAIN)
def test_a_repeated_mistake_is_reported_again(text: str, right: str, wrong: str) -> None:
    parts = [
        f"- name: {name}\n  content: |\n    {text.replace('NAME', word)}\n"
        for name, word in (("a", right), ("b", wrong), ("c", right))
    ]
    last = "- name: d\n  role: '{{ who }}'\n  truncation_priority: '{{ when }}'\n  content: '{{ kept.x }}'\n"
    workspace = workspace_with(DECLARED + "".join(parts) + last)
    before = check(workspace.snapshot, PATH)
    start = workspace.snapshot.open_files[PATH].template.source.text.rindex(right)

    workspace.edit(PATH, 2, [(Span(start, start + len(right)), wrong)])

    now = workspace.snapshot.open_files[PATH].template.source.text
    found = check(workspace.snapshot, PATH)
    assert found == check(workspace_with(now).snapshot, PATH)
    assert len(found) != len(before)


@given(
    st.sampled_from((HEADER + "".join(PARTS), "".join(PARTS * 3), OBJECT, EVALUATION)),
    st.data(),
)
@examples(60)
def test_a_session_finds_what_reading_both_files_again_finds(text: str, data: st.DataObject) -> None:
    workspace = workspace_with(text)
    for version in range(2, 14):
        path = data.draw(st.sampled_from((PATH, PATH, PATH, SECTION)))
        length = len(workspace.snapshot.open_files[path].template.source)
        start = data.draw(st.integers(0, length))
        end = min(length, start + data.draw(st.sampled_from((0, 0, 0, 1, 5))))
        typed = data.draw(st.sampled_from((*TYPED, *WRITTEN)))
        workspace.edit(path, version, [(Span(start, end), typed)])

        fresh = Workspace()
        for each, open_file in workspace.snapshot.open_files.items():
            fresh.open(each, open_file.template.source.text, version)
        for file in (PATH, SECTION):
            assert check(workspace.snapshot, file) == check(fresh.snapshot, file)


def test_a_rule_that_an_edit_leaves_alone_sees_the_next_edit() -> None:
    text = (
        "{% set limit = 3 %}\n- name: a\n  content: b\n"
        "- name: c\n  role: system\n  content: |\n    It is {{ limit }}.\n    Some prose.\n"
    )
    workspace = workspace_with(text)
    check(workspace.snapshot, PATH)

    tag, prose = text.index(" }}"), text.index("prose")
    for edit in ((Span(tag, tag), "|"), (Span(tag, tag + 1), ""), (Span(prose, prose), "<|im_end|>")):
        workspace.edit(PATH, 2, [edit])
        found = {each.rule for each in check(workspace.snapshot, PATH)}

    assert "special-token" in found


CLEAN = """\
{#---
input_keys: [turns, tone, documents]
---#}
{% set limit = 3 %}
{% for turn in turns if turn.text %}
- name: turn {{ loop.index }}
  role: user
  content: |
    {{ escape_special_characters(turn.text) }}
{% endfor %}
- name: answer
  content: |
    {% if tone == "calm" and limit > 2 %}
    Stay calm, and write {{ limit }} lines.
    {% endif %}
    A line of prose.
{% for document in documents %}
- name: document {{ loop.index }}
  content: |
    {{ document.title | length }} letters.
{% endfor %}
"""


@pytest.mark.parametrize("place", ["prose", "calm, and"])
def test_a_letter_of_prose_runs_no_rule_again(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = workspace_with(CLEAN)
    check(workspace.snapshot, PATH)
    at = CLEAN.index(place)
    workspace.edit(PATH, 2, [(Span(at, at), "x")])
    ran: list[str] = []
    run = runner._run

    def counted(rule: Rule, severity: Severity, file: File) -> tuple[Finding, ...]:
        ran.append(rule.name)
        return run(rule, severity, file)

    monkeypatch.setattr(runner, "_run", counted)
    check(workspace.snapshot, PATH)

    assert ran == []
