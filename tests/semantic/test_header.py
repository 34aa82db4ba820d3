from __future__ import annotations

import pytest

from promptls.semantic.template import Template
from promptls.syntax.source import Source

PART = "- name: a\n  content: b\n"


def problems(header: str) -> list[tuple[str, str]]:
    """Return the marked text and the message of each problem of a header."""
    text = f"{{#---\n{header}\n---#}}\n{PART}"
    found = Template(Source.of(text)).declarations.problems
    return [(text[problem.span.start : problem.span.end], problem.message) for problem in found]


@pytest.mark.parametrize(
    ("header", "place", "message"),
    [
        ("inputs: [a]", "inputs", "unknown header key `inputs`; did you mean `input_keys`?"),
        ("token_limit: 0", "0", "`token_limit`: input should be greater than 0"),
        ("token_limit: many", "many", "`token_limit`: input should be a valid integer"),
        ("input_keys: 5", "5", "`input_keys`: input should be a valid list or a mapping"),
        (
            "input_keys: {a: {type: 5}}",
            "5",
            "`input_keys.a.type`: input should be a valid string or a valid list",
        ),
        (
            "experiments: {x: {datset: y}}",
            "datset",
            "unknown header key `experiments.x.datset`; did you mean",
        ),
        ("experiments: {x: {}}", "x", "`experiments.x.dataset` is missing"),
        ("name: [", "[", "expected a value here, or the bracket that closes the list"),
        ("- a", "- a", "a header is a mapping of keys to values"),
    ],
)
def test_header_errors_are_reported_at_their_position(header: str, place: str, message: str) -> None:
    found = problems(header)

    assert any(shown == place and said.startswith(message) for shown, said in found), found


def test_one_wrong_key_costs_no_other() -> None:
    text = "{#---\nname: x\ntoken_limit: 0\nexperiments: {good: {dataset: d}, bad: {}}\n---#}\n" + PART
    settings = Template(Source.of(text)).declarations.settings

    assert (settings.name, settings.token_limit) == ("x", None)
    assert set(settings.experiments or ()) == {"good"}


@pytest.mark.parametrize("wrong", ["temprature: 3", "temperature: hot", "budget: {calls: 0}", "models: x"])
def test_what_is_wrong_in_an_experiment_costs_its_key_alone(wrong: str) -> None:
    text = f"{{#---\nexperiments: {{one: {{dataset: d, metrics: [m], {wrong}}}}}\n---#}}\n{PART}"
    declared = Template(Source.of(text)).declarations

    assert len(declared.problems) == 1
    assert (declared.settings.experiments or {})["one"].metrics == ["m"]


def test_a_misspelled_key_hides_no_mistake_in_the_key_that_is_meant() -> None:
    assert [place for place, _ in problems("token_limit: many\ntoken_limits: 5")] == ["many", "token_limits"]


@pytest.mark.parametrize(
    ("header", "meant"),
    [
        ("tokn_limit: 5", "token_limit"),
        ("token_limits: 5\ntoken_limit: 5", None),
        ("experiments: {x: {dataset: d, temprature: 0}}", "temperature"),
        ("experiments: {x: {dataset: d, nam: 0}}", None),
        ("experiments: {x: {dataset: d, budget: {call: 3}}}", "calls"),
    ],
)
def test_an_unknown_key_can_be_replaced_by_a_missing_one(header: str, meant: str | None) -> None:
    (problem,) = Template(Source.of(f"{{#---\n{header}\n---#}}\n{PART}")).declarations.problems

    assert problem.meant == meant


def test_inputs_are_declared_by_a_list_or_a_mapping() -> None:
    listed = Template(Source.of("{#---\ninput_keys: [a, b]\n---#}\n" + PART)).declarations.inputs
    mapped = Template(
        Source.of("{#---\ninput_keys: {a: {type: string}, b: }\n---#}\n" + PART)
    ).declarations.inputs

    assert [key.name for key in listed or ()] == ["a", "b"]
    assert [(key.name, key.schema) for key in mapped or ()] == [("a", {"type": "string"}), ("b", {})]


def test_a_header_must_come_first() -> None:
    assert Template(Source.of("\ufeff \n{# a comment #}\n{#---\nname: x\n---#}\n" + PART)).header is not None
    assert Template(Source.of(PART + "{#---\nname: x\n---#}\n")).header is None
    assert Template(Source.of("{# name: x #}\n" + PART)).header is None


def test_a_prompt_object_declares_at_its_top_level() -> None:
    declarations = Template(
        Source.of("instruction: Hi.\ninput_keys: [q]\noutput_key: a\nexamples:\n- {q: 1, a: 2}\n")
    ).declarations

    assert [key.name for key in declarations.inputs] == ["q"]
    assert [example.data for example in declarations.examples] == [{"q": 1, "a": 2}]


@pytest.mark.parametrize(
    ("words", "is_read"),
    [
        ("token_limit: 5\nAnswers, in two words.\n", True),
        ("token_limit: 5\ninput_keys of it\n", False),
        ("description: |\n  Answers\nin two words.\ntoken_limit: 5\n", False),
    ],
)
def test_words_cost_no_key_unless_they_may_belong_to_one(words: str, *, is_read: bool) -> None:
    settings = Template(Source.of(f"{{#---\n{words}---#}}\n{PART}")).declarations.settings
    assert (settings.token_limit == 5) is is_read
