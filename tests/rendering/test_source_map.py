"""The origins of characters in a rendering, compared with the templates' own texts and with Jinja itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from oracle import recorded
from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.environment import FolderLoader, make_environment
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import PromptPart
from promptls.dialects.prompt_poet.template_rendering import RenderOptions, parse_parts, render_text
from promptls.rendering.source_map.compiled_templates import render_mapped
from promptls.rendering.source_map.data_paths import iterations_of
from promptls.rendering.source_map.mapping import RenderedMap, Segment
from promptls.rendering.source_map.part_origins import part_segments
from support.example_counts import THOROUGH
from support.generated_prompts import Generator
from support.mapped import FOLDER, PATH, check, mapped
from support.prompt_poet_cases import data_of, written

GENERATED = 300 if THOROUGH else 100
_ADDRESS = re.compile("0x[0-9a-f]{6,}", re.IGNORECASE)


def shown(text: str, data: dict[str, Any], **files: str) -> list[tuple[str, str]]:
    """Return each stretch of a rendering, with the template text at its place."""
    source_map = mapped(text, data, **files)
    texts = {PATH: text, **{f"{FOLDER}/{name}": its for name, its in files.items()}}
    return [
        (source_map.text[each.start : each.end], texts[each.path][each.first : each.last])
        for each in source_map.segments
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n{{ x }}b", [("a\n", "a\n"), ("1", "{{ x }}"), ("b", "b")]),
        ("{{- x -}}  b", [("1", "{{- x -}}"), ("b", "b")]),
        ("{% raw %}{{ y }}{% endraw %}", [("{{ y }}", "{{ y }}")]),
        ("{% macro m(y) %}<{{ y }}>{% endmacro %}{{ m(x) }}", [("<", "<"), ("1", "{{ y }}"), (">", ">")]),
        ("{% set y %}a{{ x }}{% endset %}{{ y }}!", [("a", "a"), ("1", "{{ x }}"), ("!", "!")]),
        ("{% set y %} a {% endset %}{{ y | trim }}", [("a", "a")]),
        ("{% set y %}ab{% endset %}{{ y | upper }}", [("AB", "ab")]),
        ("{% set y %}abc{% endset %}{{ y[1:] ~ x }}", [("bc", "bc"), ("1", "{{ y[1:] ~ x }}")]),
        ("{% set y %}ab{% endset %}{{ y | replace('a', 'xx') }}", [("xx", "a"), ("b", "b")]),
        (
            "{% set y %}a{% endset %}{{ [y, y] | join('-') }}",
            [("a", "a"), ("-", "{{ [y, y] | join('-') }}"), ("a", "a")],
        ),
        ("{% set y %}a{% endset %}{{ y | length }}", [("1", "{{ y | length }}")]),
        (
            "{% set y %}a\nb{% endset %}{{ escape_special_characters(y) }}",
            [("a", "a"), ("\\n", "\n"), ("b", "b")],
        ),
        (
            "{% filter indent(2) %}a\nb{% endfilter %}",
            [("a", "a"), ("\n", "\n"), ("  ", "{% filter indent(2) %}"), ("b", "b")],
        ),
        (
            "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}c{% endcall %}",
            [("[", "["), ("c", "c"), ("]", "]")],
        ),
        ("a\r\n{{ x }}", [("a\n", "a\r\n"), ("1", "{{ x }}")]),
    ],
)
def test_each_stretch_leads_to_its_place(text: str, expected: list[tuple[str, str]]) -> None:
    assert shown(text, {"x": 1}) == expected


def test_included_extended_and_imported_texts_lead_to_their_files() -> None:
    assert shown("{% include 'a' %}{{ x }}", {"x": 1}, a="in {{ x }}") == [
        ("in ", "in "),
        ("1", "{{ x }}"),
        ("1", "{{ x }}"),
    ]
    child = "{% extends 'a' %}{% block b %}new {{ super() }}{% endblock %}"
    base = "top {% block b %}old{% endblock %} end"
    assert shown(child, {}, a=base) == [("top ", "top "), ("new ", "new "), ("old", "old"), (" end", " end")]
    assert shown("{% import 'a' as l %}{{ l.m() }}", {}, a="{% macro m() %}lib{% endmacro %}") == [
        ("lib", "lib")
    ]


def test_iterations_include_those_of_called_macros() -> None:
    text = (
        "{% macro m(y) %}{% for z in y %}{{ z }}{% endfor %}{% endmacro %}"
        "{% for x in xs if x %}{{ m(x) }};{% else %}none{% endfor %}"
    )
    source_map = mapped(text, {"xs": ["ab", "", "c"]})
    first, second = "iteration 1 of `for x in xs if x`", "iteration 2 of `for x in xs if x`"
    assert [(source_map.text[each.start : each.end], each.iterations) for each in source_map.segments] == [
        ("a", (first, "iteration 1 of `for z in y`")),
        ("b", (first, "iteration 2 of `for z in y`")),
        (";", (first,)),
        ("c", (second, "iteration 1 of `for z in y`")),
        (";", (second,)),
    ]


def test_iterations_of_a_recursive_loop_are_nested() -> None:
    text = "{% for t in tree recursive %}{{ t.name }}{{ loop(t.kids) }}{% endfor %}"
    tree = [{"name": "a", "kids": [{"name": "b", "kids": []}]}, {"name": "c", "kids": []}]
    source_map = mapped(text, {"tree": tree})
    assert [[turn.split()[1] for turn in each.iterations] for each in source_map.segments] == [
        ["1"],
        ["1", "1"],
        ["2"],
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{{ user.name }}", "user.name"),
        ("{{ user['two words'] }}", "user['two words']"),
        ("{{ history[-1].text }}", "history[1].text"),
        ("{{ history[0].text | upper }}", "history[0].text"),
        ("{{ escape_special_characters(user.name) }}", "user.name"),
        ("{% for m in history %}{% if loop.last %}{{ m.text }}{% endif %}{% endfor %}", "history[1].text"),
        (
            "{% for m in history | reverse %}{% if loop.last %}{{ m.text }}{% endif %}{% endfor %}",
            "history[0].text",
        ),
        ("{% for m in history if m.text == 'two' %}{{ m.text }}{% endfor %}", "history[1].text"),
        (
            "{% for m in history | selectattr('text', 'eq', 'two') | list %}{{ m.text }}{% endfor %}",
            "history[1].text",
        ),
        ("{% for key, value in flags.items() %}{{ value }}{% endfor %}", "flags.on"),
        ("{% for key in flags %}{{ flags[key] }}{% endfor %}", "flags.on"),
        ("{% set last = history[1] %}{{ last.text }}", "history[1].text"),
        ("{% macro m(x) %}{{ x }}{% endmacro %}{{ m(user.name) }}", "user.name"),
        ("{% set user = {'name': 'other'} %}{{ user.name }}", None),
        ("{{ 1 + 1 }}", None),
    ],
)
def test_a_printed_value_leads_to_the_data(text: str, path: str | None) -> None:
    data = {
        "user": {"name": "Ann", "two words": "yes yes"},
        "history": [{"text": "one"}, {"text": "two"}],
        "flags": {"on": 1},
    }
    assert [each.data_path for each in mapped(text, data).segments] == [path]


def test_the_content_of_a_part_leads_through_yaml_and_the_clean_up() -> None:
    text = (
        '- name: a\n  sections:\n  - {name: s, content: "x\\u0041{{ v }} \\\\n"}\n  - name: t\n'
        "    content: >\n      one\n      two <|space|> three\n"
    )
    source_map = mapped(text, {"v": "val"})
    ((content, segments),) = contents(source_map, {})
    assert content == "xAval \none two   three"
    assert [(content[each.start : each.end], text[each.first : each.last]) for each in segments] == [
        ("x", "x"),
        ("A", "\\u0041"),
        ("val", "{{ v }}"),
        (" ", " "),
        ("\n", "\\\\n"),
        ("one", "one"),
        (" ", "\n"),
        ("two ", "two "),
        (" ", "<|space|>"),
        (" three", " three"),
    ]


def contents(source_map: RenderedMap, data: dict[str, Any]) -> list[tuple[str, list[Segment]]]:
    """Return the content of each text part, with its segments."""
    root: Any = None

    def load(text: str) -> Any:
        nonlocal root
        loaded, root = document.read(text)
        return loaded

    parts: tuple[PromptPart, ...] = parse_parts(
        source_map.text, data, RenderOptions(allow_token_overrides=True), load
    )
    found = zip(parts, part_segments(source_map, root, parts), strict=True)
    return [(part.content, segments) for part, segments in found if isinstance(part.content, str)]


def check_alone(source_map: RenderedMap, number: int, files: dict[str, str], data: dict[str, Any]) -> int:
    """Check that a printed expression equals the same expression rendered alone with the same data.

    Returns the number of the next leaf.
    """
    leaf = source_map.leaves[number]
    _, behind = source_map.printed_with(number)
    is_shown = all(outer.file.sites[outer.site].kind == "include" for outer in leaf.outer)
    if leaf.file is None or leaf.is_text or not is_shown:
        return behind
    words = files[leaf.file.path].replace("\r\n", "\n")[leaf.start : leaf.end]
    unknown = {"loop", "caller", "x", "y", *leaf.file.names.bound}
    is_known = not unknown & set(re.findall(r"\w+", words)) and "without context" not in "".join(
        files.values()
    )
    if not words.startswith("{{") or not is_known:
        return behind
    values = dict(data)
    for _, file, site, _, item in iterations_of(leaf):
        values.update(bound(file.sites[site].targets, item))
    environment = make_environment(FolderLoader(FOLDER, files))
    text = "".join(each.text for each in source_map.leaves[number:behind])
    assert _ADDRESS.sub("", environment.from_string(words).render(values)) == _ADDRESS.sub("", text)
    return behind


def bound(targets: Any, item: Any) -> dict[str, Any]:
    if isinstance(targets, str):
        return {targets: item}
    pairs = zip(targets or (), item or (), strict=True)
    return {name: value for target, each in pairs for name, value in bound(target, each).items()}


def attempt(ask: Any, *arguments: Any, **options: Any) -> tuple[Any, PromptPoetError | None]:
    try:
        return ask(*arguments, **options), None
    except PromptPoetError as error:
        return None, error


@pytest.mark.parametrize("seed", range(GENERATED))
def test_the_map_of_a_generated_prompt_is_true(seed: int) -> None:
    case = Generator(seed).case()
    files = {f"{FOLDER}/{name}": text for name, text in case.files.items()}
    options = RenderOptions(case.token_limit)
    plain, failure = attempt(render_text, PATH, case.data, unsaved=files, options=options)
    if failure is not None:
        _, same = attempt(render_mapped, PATH, case.data, unsaved=files, options=options)
        assert same is not None
        assert (same.message, same.path, same.line) == (failure.message, failure.path, failure.line)
        return
    rendered, source_map = render_mapped(PATH, case.data, unsaved=files, options=options)
    assert _ADDRESS.sub("", rendered.text) == _ADDRESS.sub("", plain.text)
    check(source_map.text, source_map.segments, files)
    number = 0
    while number < len(source_map.leaves):
        number = check_alone(source_map, number, files, dict(rendered.data))
    try:
        found = contents(source_map, dict(rendered.data))
    except PromptPoetError:
        return
    for content, segments in found:
        check(content, segments, files)


RENDERED = {
    name: case for name, case in recorded.cases("prompt_poet").items() if "rendered" in case["expected"]
}


@pytest.mark.parametrize("name", RENDERED)
def test_the_map_of_a_recorded_template_is_true(name: str, tmp_path: Path) -> None:
    case = RENDERED[name]
    rendered, source_map = render_mapped(str(written(case, tmp_path)), data_of(case))
    assert rendered.text == case["expected"]["rendered"]
    files = {file: Path(file).read_bytes().decode() for file in rendered.files}
    check(source_map.text, source_map.segments, files)


def test_a_place_of_the_template_leads_to_all_that_it_made() -> None:
    text = "a{% for x in xs %}{{ x }};{% endfor %}"
    source_map = mapped(text, {"xs": ["one", "two"]})
    made = [
        [source_map.text[each.start : each.end] for each in source_map.places(PATH, text.index(place))]
        for place in ("a", "{{", ";", "{%")
    ]
    assert made == [["a"], ["one", "two"], [";", ";"], []]
