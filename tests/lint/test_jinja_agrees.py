"""The rules about filters, tests and arguments agree with jinja2."""

from __future__ import annotations

import pytest
from jinja2 import Environment, TemplateSyntaxError
from jinja2.filters import FILTERS
from jinja2.tests import TESTS

from promptls.lint.runner import check
from promptls.syntax.jinja import builtins
from support.fixture import MAIN, opened

PLACES = (
    "{{ x | nope }}",
    "{{ x is nope }}",
    "{% if a %}{{ x | nope }}{% endif %}",
    "{% if a %}{% for i in x %}{{ i | nope }}{% endfor %}{% endif %}",
    "{% if a %}{% for i in x | nope %}{% endfor %}{% endif %}",
    "{% for i in x %}{% if a %}{{ i | nope }}{% endif %}{% endfor %}",
    "{% for i in x if i | nope %}{% endfor %}",
    "{% for i in x %}{% else %}{{ x | nope }}{% endfor %}",
    "{{ (x | nope) if a else b }}",
    "{{ b if x is nope else c }}",
    "{% if a | nope %}{% endif %}",
    "{% if a %}{% elif b is nope %}{% endif %}",
    "{% if a %}{% with y = x | nope %}{% endwith %}{% endif %}",
    "{% if a %}{% with y = 1 %}{{ x | nope }}{% endwith %}{% endif %}",
    "{% if a %}{% set y %}{{ x | nope }}{% endset %}{% endif %}",
    "{% if a %}{% set y | nope %}x{% endset %}{% endif %}",
    "{% if a %}{% set y = x | nope %}{% endif %}",
    "{% if a %}{% filter nope %}x{% endfilter %}{% endif %}",
    "{% if a %}{% macro m(q=x | nope) %}{% endmacro %}{% endif %}",
    "{% if a %}{% macro m() %}{{ x | nope }}{% endmacro %}{% endif %}",
    "{% if a %}{% call m(x | nope) %}{% endcall %}{% endif %}",
    "{% if a %}{% call m() %}{{ x | nope }}{% endcall %}{% endif %}",
)


@pytest.mark.parametrize("tags", PLACES)
def test_an_unknown_name_is_an_error_where_jinja_refuses_to_load(tags: str) -> None:
    snapshot, _ = opened(f"- name: a\n  content: |\n    {tags}\n")
    found = [
        each
        for each in check(snapshot, f"/project/{MAIN}")
        if each.rule in {"unknown-filter", "unknown-test"}
    ]

    try:
        Environment().from_string(tags)
        refused = False
    except TemplateSyntaxError:
        refused = True

    assert [each.severity for each in found] == ["error" if refused else "warning"]


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_refuses_one_argument_more_than_its_signature_has(name: str) -> None:
    taken = builtins.filter_signature(name).parameters
    if any(each.kind == "rest" for each in taken):
        return
    arguments = ", ".join(["1"] * (len(taken) + 1))

    with pytest.raises(TypeError):
        Environment().from_string(f"{{{{ x | {name}({arguments}) }}}}").render(x="a")


@pytest.mark.parametrize("name", [name for name in TESTS if name.isidentifier() and name != "in"])
def test_a_test_refuses_one_argument_more_than_its_signature_has(name: str) -> None:
    arguments = ", ".join(["1"] * (len(builtins.test_signature(name).parameters) + 1))

    with pytest.raises(TypeError):
        Environment().from_string(f"{{{{ x is {name}({arguments}) }}}}").render(x="a")
