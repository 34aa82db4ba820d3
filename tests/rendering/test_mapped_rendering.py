"""A rendering with a source map equals the rendering without, whatever a template does with its texts."""

from __future__ import annotations

import pytest

from promptls.rendering.source_map.compiled_templates import CompiledGroups, render_mapped
from promptls.rendering.source_map.mapped_text import MappedText
from promptls.rendering.source_map.mapping import RenderedMap
from support.mapped import FOLDER, PATH, check, mapped

CORNERS = (
    "s.split()",
    "s.split(' ') | join('+')",
    "s[0]",
    "s[-1:]",
    "s[::-1]",
    "s * 2",
    "s + '!'",
    "'!' + s",
    "'%s' % s",
    "'{}'.format(s)",
    "s.format(1)",
    "s in 'a b c d'",
    "'a' in s",
    "s == 'a b c'",
    "{s: 1}",
    "[s, s] | unique | list",
    "s | list",
    "s | tojson",
    "s | urlencode",
    "s | wordwrap(2)",
    "(s ~ '  ' ~ s) | wordwrap(4)",
    "(s ~ s ~ s) | wordwrap(4, true, '')",
    "(s ~ s) | wordwrap(4, wrapstring=' | ')",
    "'<%s> and %s' | format(s, 5)",
    "'%5s %%' | format(s)",
    "s | center(4)",
    "s.center(9, '*')",
    "s.ljust(9)",
    "s.rjust(9, 'a')",
    "s.swapcase()",
    "s.removeprefix('a ')",
    "s.removesuffix('c')",
    "s.split(' ', 1) | last",
    "(s ~ '\n' ~ s).splitlines() | join('/')",
    "(s ~ '\r\n').splitlines(true) | join('/')",
    "s.split('') if no",
    "s.split('x')",
    "''.split('x')",
    "s | replace('', '-')",
    "s | replace('', '-', 2)",
    "s | truncate(3)",
    "s | center(20)",
    "s | e",
    "s | safe",
    "s | striptags",
    "s | title",
    "s | first",
    "s | reverse",
    "s | length",
    "s | wordcount",
    "s | int",
    "s | float",
    "s | format",
    "s | pprint",
    "s | default('x')",
    "s | batch(2) | list",
    "s | replace('a', s)",
    "s | replace(' ', '')",
    "s | indent(2, true)",
    "s | indent(width='>')",
    "s | trim('a')",
    "s | string",
    "s | xmlattr if no",
    "s | upper | lower | capitalize",
    "s.startswith('a')",
    "s.join(['x', 'y'])",
    "s.replace('a', '')",
    "s.strip('c')",
    "s.count('a')",
    "s.title()",
    "s is string",
    "s is lower",
    "s is sequence",
    "s is mapping",
    "s < 'b'",
    "[s, 'z', 'B'] | sort",
    "[s] | map('upper') | join",
    "s ~ none ~ 1.5 ~ true ~ missing",
)


@pytest.mark.parametrize("expression", CORNERS)
def test_a_text_that_keeps_its_pieces_behaves_as_a_text(expression: str) -> None:
    text = "{% set s %}a {{ x }} c{% endset %}{{ " + expression + " }}"
    check(mapped(text, {"x": "b"}).text, mapped(text, {"x": "b"}).segments, {PATH: text})


@pytest.mark.parametrize(
    "text",
    [
        "{% autoescape true %}<b>{% set q %}<i>{{ x }}{% endset %}{{ q }}{{ q ~ x }}{% endautoescape %}",
        "{% autoescape x %}{% macro m() %}<{{ x }}>{% endmacro %}{{ m() }}{{ '<' ~ m() }}{% endautoescape %}",
        "{% set ns = namespace(a='') %}{% for i in xs %}{% set ns.a = ns.a ~ i %}{% endfor %}{{ ns.a }}",
        "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}",
        "{% set j = joiner(', ') %}{{ j() }}{{ j() }}",
        "{% for a in xs %}{{ loop.cycle('o', 'e') }}{{ loop.changed(a) }}{{ loop.nextitem }}{% endfor %}",
        "{% block b %}block {{ x }}{% endblock %}{{ self.b() }}{{ self.b() | upper }}",
        "{% import 'lib' as lib %}{{ lib }}{{ lib.f(x) }}{% from 'lib' import f %}{{ f(f(x)) | upper }}",
        "{% macro o(k) %}{{ varargs }}{{ caller(1) }}{% endmacro %}{% call(n) o(1, 2) %}{{ n }}{% endcall %}",
        "{% print x %}{% if x %}{% elif y %}{% else %}{% endif %}{%- if 1 -%}  z  {%- endif +%}  e",
    ],
)
def test_rarer_statements_render_as_in_jinja(text: str) -> None:
    lib = "{% set v = 'V' %}lib {{ v }}{% macro f(a) %}({{ a }}{{ x }}){% endmacro %}"
    source_map = mapped(text, {"x": "<&", "xs": ["p", "q"]}, lib=lib)
    check(source_map.text, source_map.segments, {PATH: text, f"{FOLDER}/lib": lib})


def edited(text: str, old: str, new: str) -> tuple[int, RenderedMap]:
    """Return how many groups an edit compiles, and the verified source map."""
    compiled = CompiledGroups()
    render_mapped(PATH, {"x": 1}, unsaved={PATH: text}, compiled=compiled)
    before = len(compiled)
    text = text.replace(old, new)
    _, source_map = render_mapped(PATH, {"x": 1}, unsaved={PATH: text}, compiled=compiled)
    assert source_map.text == mapped(text, {"x": 1}).text
    assert source_map.segments == mapped(text, {"x": 1}).segments
    check(source_map.text, source_map.segments, {PATH: text})
    return len(compiled) - before, source_map


PART = "- name: p{}\n  content: '{{# c #}}{{{{ x }}}}{{% for y in [x] -%}} {} {{{{ y }}}}{{% endfor %}}'\n"
PARTS = "".join(PART.format(number, number) for number in range(20))


def test_an_edit_of_a_tag_compiles_its_group_and_no_other() -> None:
    assert edited(PARTS, "7 {{ y }}", "7 {{ y + x }}")[0] == 1


@pytest.mark.parametrize(
    ("old", "new"), [("p7", "part seven"), ("{# c #}", "{# comment #}"), (" 7 {{", " seven {{")]
)
def test_an_edit_of_prose_compiles_nothing(old: str, new: str) -> None:
    assert edited(PARTS, old, new)[0] == 0


def test_an_edit_that_moves_lines_compiles_its_group() -> None:
    number, source_map = edited(PARTS, "p7", "p7\n  role: user")
    assert number == 1
    assert source_map.text.count("'1") == 20


@pytest.mark.parametrize(
    "text",
    [
        "- {% macro m() %}{{ x }}{% endmacro %}{{ m() }}\n- {% set x = 2 %}{{ m() }}\n",
        "- {% if no %}{% set x = 2 %}{% endif %}\n- {{ x }}\n",
        "{#\n- name: {{ x }}\n#}\n- {{ x }}\n- {% set x = 3 %}\n- {{ x }}\n",
        "- {% raw %}\n- {{ x }}\n{% endraw %}{{ x }}\n- {{ x }}\n",
        "- a\n{% for y in [1, 2] %}\n- {{ y }}{% set x = y %}\n{% endfor %}\n- {{ x }}\n",
        "- a -\n{%- if x %}\n- {{ x -}}\n{% endif %}   \n- b\n\n\n",
        "- {% set q | upper %}a\n- b{% endset %}{{ q }}\n- {{ q | lower }}\n",
    ],
)
def test_groups_render_as_the_whole_text_does(text: str) -> None:
    assert isinstance(mapped(text, {"x": 1}), RenderedMap)


def test_a_long_text_that_grows_and_changes_piece_by_piece_is_still_mapped() -> None:
    text = (
        "{% macro m(i) %}<{{ i }}>{% endmacro %}{% set ns = namespace(a='') %}"
        "{% for i in range(2000) %}{% set ns.a = ns.a ~ m(i) %}{% endfor %}"
        "{{ escape_special_characters(ns.a) | replace('<', '[[') | upper | indent(2) }}"
    )
    source_map = mapped(text, {})
    check(source_map.text, source_map.segments, {PATH: text})
    assert len(source_map.segments) == 3 * 2000


def test_functions_of_users_get_plain_texts() -> None:
    seen: list[type] = []

    def look(value: object) -> str:
        seen.append(type(value))
        return "seen"

    mapped("{% set y %}a{% endset %}{{ look(y) }}", {"look": look})
    assert set(seen) == {str}
    assert MappedText("a") == "a"
