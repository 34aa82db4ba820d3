from __future__ import annotations

from typing import Any

import pytest
from jinja2 import Environment

from promptls.rendering.samples import placeholder
from promptls.semantic.template import Template
from promptls.syntax.source import Source
from support.shapes import input_shapes


def placeholders(text: str) -> dict[str, Any]:
    template = Template(Source.of(text))
    declared = template.declarations.schemas
    return {
        name: placeholder(name, shape, declared.get(name, {}))
        for name, shape in input_shapes(template).items()
    }


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("{{ a }}", {"a": "<a>"}),
        ("{{ a.b.c }}{{ a['d'] }}", {"a": {"b": {"c": "<a.b.c>"}, "d": "<a.d>"}}),
        ("{% for x in a %}{{ x }}{% endfor %}", {"a": ["<a 1>", "<a 2>"]}),
        (
            "{% for m in history %}{{ m.author }}{% endfor %}",
            {"history": [{"author": "<history 1.author>"}, {"author": "<history 2.author>"}]},
        ),
        (
            "{% for note in notes if note.kept %}x{% endfor %}",
            {"notes": [{"kept": "<notes 1.kept>"}, {"kept": "<notes 2.kept>"}]},
        ),
        (
            "{% set last = notes[-1:] %}{% for note in last %}{{ note.text }}{% endfor %}",
            {"notes": [{"text": "<notes 1.text>"}, {"text": "<notes 2.text>"}]},
        ),
        (
            "{{ notes | map(attribute='title') | join(', ') }}",
            {"notes": [{"title": "<notes 1.title>"}, {"title": "<notes 2.title>"}]},
        ),
        (
            "{% for key, each in a.items() %}{{ each.b }}{% endfor %}",
            {"a": {"key": {"b": "<a.key.b>"}}},
        ),
        ("{% for i in range(n) %}{{ i }}{% endfor %}", {"n": 2}),
        ("{% if a is true %}x{% endif %}", {"a": True}),
    ],
)
def test_placeholders_have_the_shape_that_the_template_uses(text: str, data: dict[str, Any]) -> None:
    assert placeholders(text) == data


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("{type: integer}", 1),
        ("{type: integer, minimum: 18}", 18),
        ("{default: 7}", 7),
        ("{enum: [short, long]}", "short"),
        ("{const: short}", "short"),
        ("{type: string, examples: [Hello]}", "Hello"),
        ("{type: boolean}", True),
        ("{type: 'null'}", None),
        ("{type: array, items: {enum: [x, y]}}", ["x", "x"]),
        ("{type: object, properties: {b: {type: number}, c: {}}}", {"b": 1.0, "c": "<a.c>"}),
        ("{type: array, items: {properties: {b: {default: x}}}}", [{"b": "x"}, {"b": "x"}]),
        ("{type: array, items: 3, enum: 4, examples: []}", ["<a 1>", "<a 2>"]),
    ],
)
def test_what_is_declared_goes_before_what_the_use_suggests(schema: str, value: object) -> None:
    assert placeholders(f"{{#---\ninput_keys: {{a: {schema}}}\n---#}}\n{{{{ a }}}}") == {"a": value}


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in b.items() %}{{ a[0] }}{% endfor %}",
        "{% for a, b in c.items() %}{{ a }}{{ b }}{% endfor %}",
        "{% for turn in turns[-3:] %}{{ turn.said }}{% endfor %}",
        "{{ names | join(', ') }}{{ text | upper }}",
        "{% if a and b.c %}{{ a }}{% endif %}",
        "{% for i in range(n) %}{{ i }}{% endfor %}{% if c > 3 %}{{ c }}{% endif %}{{ d + 1 }}",
        "{% if turns | length > 3 %}{{ turns }}{% endif %}{% for t in turns %}{{ t }}{% endfor %}",
        "{% for c in codes %}{% set name = c.pop('name') %}{{ name }}{{ c.text }}{% endfor %}",
        "{{ turns[0].said }}{{ turns | length }}",
        "{% for each in a %}{% for one in each %}{{ one.b }}{% endfor %}{% endfor %}",
    ],
)
def test_a_template_renders_with_its_placeholders(text: str) -> None:
    Environment(autoescape=False).from_string(text).render(placeholders(text))


def test_loops_over_their_own_elements_make_no_explosion() -> None:
    text = "".join(f"{{% for x{n + 1} in x{n} %}}" for n in range(18)) + "{% endfor %}" * 18
    assert len(str(placeholders(text))) < 2000
