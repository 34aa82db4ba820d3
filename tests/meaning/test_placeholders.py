from __future__ import annotations

from typing import Any

import pytest
from jinja2 import Environment

from promptls.meaning.placeholders import placeholder_data
from promptls.meaning.template import Template
from promptls.syntax.source import Source


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("{{ a }}", {"a": "<a>"}),
        ("{{ a.b.c }}{{ a['d'] }}", {"a": {"b": {"c": "<a.b.c>"}, "d": "<a.d>"}}),
        ("{% for x in a %}{{ x }}{% endfor %}", {"a": ["<a 1>", "<a 2>"]}),
        ("{{ f(a) }}", {"a": "<a>"}),
        ("{#---\ninput_keys: {a: {type: integer}, b: {default: 7}}\n---#}\n", {"a": 1, "b": 7}),
    ],
)  # fmt: skip
def test_placeholders_have_the_shape_that_the_template_uses(text: str, data: dict[str, Any]) -> None:
    assert placeholder_data(Template(Source.of(text))) == data


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
    ],
)
def test_a_template_renders_with_its_placeholders(text: str) -> None:
    Environment(autoescape=False).from_string(text).render(placeholder_data(Template(Source.of(text))))


def test_what_a_loop_filters_by_is_a_key_of_its_elements() -> None:
    template = Template(Source.of("{% for note in notes if note.kept %}x{% endfor %}"))

    assert placeholder_data(template) == {
        "notes": [{"kept": "<notes 1.kept>"}, {"kept": "<notes 2.kept>"}],
    }
