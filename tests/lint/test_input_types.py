"""The rule about declared types, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import Environment
from jinja2.exceptions import UndefinedError

from promptls.lint.runner import check
from support.fixture import MAIN, opened

VALUES: dict[str, list[Any]] = {
    "string": ["a b", "12"],
    "integer": [3, 1],
    "number": [1.5, 2],
    "boolean": [True],
    "array": [["a", "b"], [{"x": 1}]],
    "object": [{"x": 1}, {"x": 1, "name": {"x": "y"}}],
}
"""Truthy values: a falsy one may be replaced with `or`, and never be used."""
EXPRESSIONS = (
    "v", "v.x", "v.x.y", "v['x']", "v[0]", "v[0].x", "v[1:]", "v + 1", "v + 'a'", "v - 1", "1 - v", "v * 2",
    "v / 2", "v // 2", "v ** 2", "v % 2", "-v", "v < 3", "v < 'a'", "v == 3", "v in ['a']", "'a' in v",
    "v ~ 'a'", "v()", "v(1)", "v.strip()", "v.upper()", "v.items()", "v.get('x')", "v.append(1)",
    "v.split()[0].x", "v | join", "v | length", "v | sort", "v | upper", "v | abs", "v | round", "v | int",
    "v | first", "(v | first).x", "v | dictsort", "v | items | list", "v | map('upper') | list",
    "v | selectattr('x') | list", "v | default('a')", "(v or 'a').upper()", "v | tojson", "v | list",
    "range(v) | list", "v | sum", "v | batch(2) | list", "v.real", "v.is_integer()",
    "escape_special_characters(v)", "v | trim", "v | replace('a', 'b')", "not v", "v and v.x",
    "v | unique | list", "v.x if v else v",
)  # fmt: skip
FAILURES = (TypeError, AttributeError, UndefinedError)


def escape_special_characters(value: Any) -> str:
    """Escape like Prompt Poet, which accepts only text."""
    return str(value.replace("\n", "\\n"))


@pytest.mark.parametrize("kind", VALUES)
def test_whatever_is_found_fails_or_prints_nothing_or_is_never_true(kind: str) -> None:
    loops = (f"{{% for e in ({expression}) %}}{{{{ e }}}}{{% endfor %}}" for expression in EXPRESSIONS)
    uses = [*(f"{{{{ {expression} }}}}" for expression in EXPRESSIONS), *loops]
    text = f"{{#---\ninput_keys: {{v: {{type: {kind}}}}}\n---#}}\n" + "".join(
        f"- name: p{number}\n  content: |\n    {use}\n" for number, use in enumerate(uses)
    )
    snapshot, _ = opened(text)
    environment = Environment(autoescape=False)
    environment.globals["escape_special_characters"] = escape_special_characters
    mismatches = [each for each in check(snapshot, f"/project/{MAIN}") if each.rule == "input-type-mismatch"]
    assert len(mismatches) > len(EXPRESSIONS) / 2
    for found in mismatches:
        use = text[text.rindex("\n", 0, found.span.start) : text.index("\n", found.span.start)].strip()
        for value in VALUES[kind]:
            try:
                printed = environment.from_string(use).render(v=value)
            except FAILURES:
                continue
            assert printed in {"", "False", "[]"}, f"{use} with {value!r} gives {printed!r}: {found.message}"
