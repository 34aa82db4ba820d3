from __future__ import annotations

import pytest

from promptls.format.prompt_file import format_tag
from promptls.syntax.chunk import cut


@pytest.mark.parametrize(
    ("written", "due"),
    [
        ("{{x}}", "{{ x }}"),
        ("{{   x   }}", "{{ x }}"),
        ("{{-x|trim-}}", "{{- x | trim -}}"),
        ("{%+if x+%}", "{%+ if x +%}"),
        ("{{-1}}", "{{- 1 }}"),
        ("{{ -1 }}", "{{ -1 }}"),
        ("{{a -1}}", "{{ a - 1 }}"),
        ("{{a|replace( 'x' ,'y')|join(sep = ', ')}}", "{{ a | replace('x', 'y') | join(sep=', ') }}"),
        ("{{ f(a= [1],b=(c)) }}", "{{ f(a=[1], b=(c)) }}"),
        ("{{ f(*(a), **(b)) - -(c) }}", "{{ f(*(a), **(b)) - -(c) }}"),
        ("{{ f (*a,**b)[ 1 :2 ] }}", "{{ f(*a, **b)[1:2] }}"),
        ("{{ {'a' :1,'b':{'c':-2}} }}", "{{ {'a': 1, 'b': {'c': -2}} }}"),
        ("{{ 'a'~b**2//3==c }}", "{{ 'a' ~ b ** 2 // 3 == c }}"),
        ("{{ a . b . c }}", "{{ a.b.c }}"),
        ("{{ (a) if b else(c) }}", "{{ (a) if b else (c) }}"),
        ("{{ x is divisibleby (3) }}", "{{ x is divisibleby(3) }}"),
        ("{%if a and(b)or not(c)%}", "{% if a and (b) or not (c) %}"),
        ("{%-set x=[1,2 , 3]-%}", "{%- set x = [1, 2, 3] -%}"),
        ("{%for a,b in c.items()if a%}", "{% for a, b in c.items() if a %}"),
        ("{%macro m( a,b = 1 )%}", "{% macro m(a, b=1) %}"),
        ("{%call (x) y()%}", "{% call(x) y() %}"),
        ("{%endif%}", "{% endif %}"),
        ("{%raw%} {{y}} {%endraw-%}", "{% raw %} {{y}} {% endraw -%}"),
        ("{#a word#}", "{# a word #}"),
        ("{{ a\n   |  trim  \n}}", "{{ a\n   | trim\n}}"),
    ],
)
def test_a_tag_gets_its_one_spacing(written: str, due: str) -> None:
    (tag,) = cut(written, at_items=False)[0].tags

    assert format_tag(tag) == due
    assert format_tag(cut(due, at_items=False)[0].tags[0]) == due


@pytest.mark.parametrize(
    "written",
    [
        "{{ 'a  |b' }}",
        "{{ \"}}\" ~ '%}' }}",
        "{#--- name:  x ---#}",
        "{#======#}",
        "{#  two\n   lines#}",
        "{{x",
        "{{ x | }}",
        "{%if x}}",
        "{{ a ? b }}",
        "{{}}",
        "{{ 'a }}",
        "{{ \u00a0x }}",
    ],
)
def test_strings_comments_of_several_lines_and_tags_that_are_not_right_stay(written: str) -> None:
    assert next(format_tag(tag) for tag in cut(written, at_items=False)[0].tags) in {written, written.strip()}
