"""The parser agrees with jinja2 about which tags are valid, and which names they read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, TemplateSyntaxError, nodes

from promptls.semantic.template import Template
from promptls.syntax.jinja.nodes import Name, walk
from promptls.syntax.jinja.problems import tag_problems, tag_tree
from promptls.syntax.source import Source
from support.example_counts import examples

pytestmark = pytest.mark.thorough

ENVIRONMENT = Environment(autoescape=False)  # prompts are not HTML
# fmt: off
OPERANDS = (
    "a", "b.c", "d[1]", "f(x, y=2, *z, **w)", "g|default(1)|trim", "'text'", "2.5", "1_000", "none", "[1, b]",
    "{'k': v}", "(1,)", "()", "a[1:2]", "a.0", "a|b(c)", "x-1", "not(a)", "-n", "'a' 'b'", "f(a=1, b)", "{1}",
    "a.", "b|", "[1,", "*c", "a=1",
    "a is divisibleby 3", "a is none", "x if y else z", "not a in b", "a if b",
)
OPERATORS = (
    "+", "~", "and", "or", "==", "in", "not in", "**", "//", "is", "is not", "if", "else", ",", "|", "<",
)
# fmt: on
EXPRESSIONS = st.recursive(
    st.sampled_from(OPERANDS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(" ".join),
        st.builds(str.format, st.sampled_from(["({})", "[{}]", "f({})", "a[{}]", "not {}", "-{}"]), inner),
    ),
    max_leaves=5,
)
TAGS = st.builds(
    str.format,
    st.sampled_from(
        [
            "{{{{ {} }}}}",
            "{{% if {} %}}{{% endif %}}",
            "{{% for a, (b, c) in {} recursive %}}{{% endfor %}}",
            "{{% for a in d if {} %}}{{% endfor %}}",
            "{{% set a = {} %}}",
            "{{% set ns.a = {} %}}",
            "{{% with a = {}, b = 2 %}}{{% endwith %}}",
            "{{% include {} ignore missing %}}",
            "{{% import {} as a %}}",
            "{{% from {} import a, b as c with context %}}",
            "{{% macro m(a, b={}) %}}{{% endmacro %}}",
            "{{% call(a) {} %}}{{% endcall %}}",
            "{{% filter {} %}}{{% endfilter %}}",
            "{{% if a %}}{{% elif {} %}}{{% endif %}}",
        ]
    ),
    EXPRESSIONS,
)


def is_refused(text: str) -> bool:
    try:
        ENVIRONMENT.parse(text)
    except TemplateSyntaxError:
        return True
    return False


@given(TAGS)
@examples(300)
def test_a_tag_is_refused_where_jinja_refuses_it(text: str) -> None:
    problems = [problem for chunk in Source.of(text).chunks for problem in tag_problems(chunk)]

    assert bool(problems) == is_refused(text), problems


@given(TAGS)
@examples(300)
def test_the_names_that_a_right_tag_reads_are_those_that_jinja_finds(text: str) -> None:
    if is_refused(text):
        return
    theirs = sorted(node.name for node in ENVIRONMENT.parse(text).find_all(nodes.Name) if node.ctx == "load")
    ours = []
    for tag in Source.of(text).chunks[0].tags:
        statement = tag_tree(tag).statement
        read = (*statement.expressions, *([statement.loop_test] if statement.loop_test else []))
        for node in (node for expression in read for node in walk(expression)):
            if isinstance(node, Name):
                assert tag.text[node.span.start : node.span.end] == node.name
                ours.append(node.name)

    assert sorted(ours) == theirs


@pytest.mark.parametrize(
    "text",
    [
        "{% endif %}",
        "{% if a %}",
        "{% for a in b %}{% endif %}",
        "{% if a %}{% else %}{% elif b %}{% endif %}",
        "{% for a in b %}{% elif c %}{% endfor %}",
        "{% else %}",
        "{% if a %}{% else %}{% else %}{% endif %}",
        "{% if a %}\n- b\n{% else %}\n- c\n{% elif d %}\n- e\n{% endif %}",
        "{% if a %}\n- b\n{% elif c %}\n- c\n{% else %}\n- e\n{% endif %}",
        "{% macro a() %}{% endmacro b %}",
        "{% block a %}{% endblock a %}",
        "{% set a %}b{% endset %}",
        "{% if a %}{% for b in c %}{% else %}{% endfor %}{% elif d %}{% endif %}",
        "{% call a() %}{% endcall %}",
        "{% unknown %}",
        "{% raw %}{% if %}{% endraw %}",
        "{% endraw %}",
        "{{ a }}{% %}",
        "{{ }}",
    ],
)
def test_blocks_are_refused_where_jinja_refuses_them(text: str) -> None:
    problems = [
        problem for problem in Template(Source.of(text)).syntax_problems if problem.language == "jinja"
    ]

    assert bool(problems) == is_refused(text), problems
