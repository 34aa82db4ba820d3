"""What the marks say of a rendered text: held to the template's own lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptls.rendering.trace import Stretch, trace
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.render import render_text, template_data

PATH = "/project/main.yml.j2"


def traced(text: str, data: dict[str, Any], **files: str) -> tuple[str, tuple[Stretch, ...] | None]:
    unsaved = {PATH: text, **{f"/project/{name}": its for name, its in files.items()}}
    rendered = render_text(PATH, data, unsaved=unsaved)
    return rendered.text, trace(PATH, template_data(data), unsaved, rendered.text)


def shown(text: str, data: dict[str, Any], **files: str) -> list[tuple[Any, ...]]:
    rendered, stretches = traced(text, data, **files)
    assert stretches is not None
    assert "".join(rendered[stretch.start : stretch.end] for stretch in stretches) == rendered
    return [
        (
            rendered[stretch.start : stretch.end],
            stretch.origin.line + 1,
            stretch.origin.output,
            stretch.turns,
            Path(stretch.origin.path).name,
        )
        for stretch in stretches
    ]


def test_text_and_values_lead_back_to_their_lines() -> None:
    assert shown("a\n{{ x }}b{{ y }}", {"x": 1, "y": 2}) == [
        ("a\n", 1, None, (), "main.yml.j2"),
        ("1", 2, 0, (), "main.yml.j2"),
        ("b", 2, None, (), "main.yml.j2"),
        ("2", 2, 1, (), "main.yml.j2"),
    ]


def test_every_turn_of_a_loop_is_told_apart() -> None:
    text = "{% for x in y %}{% for z in x %}{{ z }}{% endfor %};{% endfor %}"
    assert [(what, turns) for what, _, _, turns, _ in shown(text, {"y": ["ab", "c"]})] == [
        ("a", (1, 1)),
        ("b", (1, 2)),
        (";", (1,)),
        ("c", (2, 1)),
        (";", (2,)),
    ]


def test_an_included_text_leads_to_its_file_and_to_its_include() -> None:
    text = "{{ x }}\n{% include 'b' %}"
    _, stretches = traced(text, {"x": 1}, b="c{{ x }}")
    assert stretches is not None
    assert [(Path(each.origin.path).name, each.origin.output) for each in stretches] == [
        ("main.yml.j2", 0),
        ("main.yml.j2", None),
        ("b", None),
        ("b", 0),
    ]
    assert [include.line for include in stretches[-1].includes] == [1]


def test_a_macro_prints_what_stands_in_it() -> None:
    text = "{% macro m(x) %}<{{ x }}>{% endmacro %}\n{{ m(1) }}"
    assert [what for what, *_ in shown(text, {})] == ["\n", "<", "1", ">"]


def test_text_that_passes_through_a_block_is_still_known() -> None:
    text = "{% set y %}a{{ x }}{% endset %}{{ y }}{% filter indent %}b\nc{% endfilter %}"
    assert [(what, line) for what, line, *_ in shown(text, {"x": 1})] == [("a", 1), ("1", 1), ("b\n    c", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "{% set y %}a{% endset %}{{ y | length }}",
        "{% filter truncate(9) %}a long text of words{% endfilter %}",
        "{% set y %}a{% endset %}{% if y == 'a' %}b{% endif %}",
        "{% set y %} a{% endset %}{{ y | trim }}",
    ],
)
def test_nothing_is_said_where_the_marks_would_change_the_text(text: str) -> None:
    assert traced(text, {})[1] is None


def test_a_text_with_characters_like_the_marks_is_not_read() -> None:
    assert traced("{{ x }}", {"x": "\U0010fff0p0\U0010fff1"})[1] is None


def _templates() -> list[Any]:
    for parent in Path(__file__).resolve().parents:
        folder = parent / "shared" / "oracle" / "prompt_poet"
        if folder.is_dir():
            return [
                pytest.param(path, id=str(path.relative_to(folder)))
                for path in sorted(folder.rglob("*.data.json"))
            ]
    return [pytest.param(None, marks=pytest.mark.skip(reason="the recorded results are not here"))]


@pytest.mark.oracle
@pytest.mark.parametrize("path", _templates())
def test_the_text_of_real_templates_stands_on_the_lines_that_it_leads_to(path: Path) -> None:
    template = path.with_name(path.name.removesuffix(".data.json") + ".yml.j2")
    data = json.loads(path.read_text()).get("data")
    if not template.is_file() or not isinstance(data, dict):
        pytest.skip("no template beside the data")
    try:
        rendered = render_text(str(template), data).text
        stretches = trace(str(template), template_data(data), {}, rendered)
    except PromptPoetError:
        pytest.skip("it does not render without its functions")
    for stretch in stretches or ():
        if stretch.origin.output is None:
            lines = Path(stretch.origin.path).read_text("utf-8-sig").splitlines()
            first = rendered[stretch.start : stretch.end].split("\n")[0].strip()
            assert first in lines[stretch.origin.line]
