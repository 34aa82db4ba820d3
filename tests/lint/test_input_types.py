"""What the rule about declared types says, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import Environment
from jinja2.exceptions import UndefinedError

from promptls.lint.rule import Finding
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
"""Values that are true: one that is not may be asked for with `or`, and never be used."""
EXPRESSIONS = (
    "v", "v.x", "v.x.y", "v['x']", "v[0]", "v[0].x", "v[1:]", "v + 1", "v + 'a'", "v - 1", "1 - v", "v * 2",
    "v / 2", "v // 2", "v ** 2", "v % 2", "-v", "v < 3", "v < 'a'", "v == 3", "v in ['a']", "'a' in v",
    "v ~ 'a'", "v()", "v(1)", "v.strip()", "v.upper()", "v.items()", "v.get('x')", "v.append(1)",
    "v.split()[0].x", "v | join", "v | length", "v | sort", "v | upper", "v | abs", "v | round", "v | int",
    "v | first", "(v | first).x", "v | dictsort", "v | items | list", "v | map('upper') | list",
    "v | selectattr('x') | list", "v | default('a')", "(v or 'a').upper()", "v | tojson", "v | list",
    "v is string", "range(v) | list", "v | sum", "v | batch(2) | list", "v.real", "v.is_integer()",
    "escape_special_characters(v)", "v | trim", "v | replace('a', 'b')", "not v", "v and v.x",
    "v | unique | list", "v.x if v else v",
)  # fmt: skip
FAILURES = (TypeError, AttributeError, UndefinedError)


def escape_special_characters(value: Any) -> str:
    """As Prompt Poet's: it takes nothing but text."""
    return str(value.replace("\n", "\\n"))


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_whatever_is_found_fails_or_prints_nothing_or_is_never_true(kind: str, expression: str) -> None:
    loop = f"{{% for e in ({expression}) %}}{{{{ e }}}}{{% endfor %}}"
    for use in (f"{{{{ {expression} }}}}", loop):
        text = f"{{#---\ninput_keys: {{v: {{type: {kind}}}}}\n---#}}\n- name: a\n  content: |\n    {use}\n"
        found = [each for each in findings_of(text) if each.rule == "input-type-mismatch"]
        for value in VALUES[kind] if found else ():
            environment = Environment(autoescape=False)
            environment.globals["escape_special_characters"] = escape_special_characters
            try:
                printed = environment.from_string(use).render(v=value)
            except FAILURES:
                continue
            assert printed in {"", "False"}, f"{use} with {value!r} gives {printed!r}: {found[0].message}"


def findings_of(text: str) -> list[Finding]:
    snapshot, _ = opened(text)
    return list(check(snapshot, f"/project/{MAIN}"))
