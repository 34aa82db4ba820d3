"""What the rules about variables and functions say, case by case."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.fixture import check_findings, check_fix

HEAD = "{#---\ninput_keys: [text]\n---#}\n"
BLOCK = "- name: a\n  content: |\n"


def declared(line: str) -> str:
    """A file that declares the input `text` and reads it, with one more line."""
    return f"{HEAD}{BLOCK}    {{{{ escape_special_characters(text) }}}}\n{line}"


FOUND = {
    "a loop variable behind its loop": (
        declared(
            "    {% for part in text %}{{ part | tojson }}{% endfor %}{{ part }}\n"
            "                                                            ^^^^ undefined-variable: `part` is the"
            " variable of the loop in line 7, and nothing outside of it\n"
        )
    ),
    "what a loop sets, read behind it": (
        declared(
            "    {% for part in text %}{% set newest = part %}{% endfor %}{{ newest }}\n"
            "                                                                ^^^^^^ undefined-variable: `newest` is"
            " bound inside of a block in line 7, and gone behind it\n"
        )
    ),
    "a parameter outside of its macro": (
        "{#---\ninput_keys: [text]\n---#}\n"
        "{% macro shout(words) %}{{ words | upper }}{% endmacro %}\n"
        "- name: a\n  content: '{{ shout(text) }}{{ words }}'\n"
        "                                ^^^^^ undefined-variable: `words` is a parameter of the block in line 4,"
        " and nothing outside of it\n"
    ),
    "what is set further down": (
        declared(
            "    {{ tone }}{% set tone = text %}{{ tone | tojson }}\n"
            "       ^^^^ undefined-variable: `tone` is bound only further down, in line 7\n"
        )
    ),
    "a slip of a variable that the file sets": (
        declared(
            "    {% set greeting = text %}{{ greetng | tojson }}{{ greeting | tojson }}\n"
            "                                ^^^^^^^ undefined-variable: nothing is named `greetng`; did you mean"
            " `greeting`?\n"
        )
    ),
    "loop outside of a loop, whatever is declared": (
        "- name: a\n  content: '{{ loop.index }}'\n"
        "               ^^^^ undefined-variable: `loop` is there only in a loop\n"
    ),
    "loop in a file that is included in one": (
        "-- main.yml.j2 --\n{% for b in c %}{% include 'd.yml.j2' %}{% endfor %}\n- name: e\n  content: f\n"
        "-- d.yml.j2 --\n- name: part {{ loop.index }}\n"
        "                ^^^^ undefined-variable: an included file does not see `loop`; where it is included, pass"
        " on what it needs with `set`\n  content: g\n"
    ),
    "data in a macro that is imported without its context": (
        "-- main.yml.j2 --\n{% import 'm.yml.j2' as m %}\n- name: a\n  content: '{{ m.hello() }}'\n"
        "-- m.yml.j2 --\n{% macro hello() %}Hello {{ user }}{% endmacro %}\n"
        "                            ^^^^ undefined-variable: `user` is not there: `main.yml.j2` imports this file"
        " without `with context`\n"
    ),
    "a name that nothing is like": (
        declared("    {{ locale }}\n       ^^^^^^ undeclared-input: `locale` is not in `input_keys`\n")
    ),
    "a loop variable with an input's name": (
        declared(
            "    {% for text in [1, 2] %}{{ text }}{% endfor %}\n"
            "           ^^^^ shadowed-variable: this loop variable hides the input `text`\n"
        )
    ),
    "a loop variable with the name of a loop around": (
        f"{BLOCK}    {{% for b in c %}}{{% for b in b.d %}}{{{{ b | tojson }}}}{{% endfor %}}{{% endfor %}}\n"
        "                           ^ shadowed-variable: this loop variable hides the `b` of line 3\n"
    ),
    "a set in a loop of what is set outside": (
        f"{{% set b = 1 %}}\n{BLOCK}    {{% for c in d %}}{{% set b = 2 %}}{{% endfor %}}{{{{ b }}}}\n"
        "                           ^ shadowed-variable: this sets another `b`, which is gone at the end of the turn;"
        " the outer one stays as it is\n"
    ),
    "a call of nothing": (
        declared(
            "    {{ translate(text) }}\n"
            "       ^^^^^^^^^ unknown-function: nothing provides the function `translate`\n"
        )
    ),
    "a filter without what it needs": (
        f"{BLOCK}    {{{{ b | replace('x') }}}}\n"
        "           ^^^^^^^ wrong-arguments: `replace` lacks the argument `new`\n"
    ),
    "a filter with too much": (
        f"{BLOCK}    {{{{ b | upper(1) }}}}\n"
        "                 ^ wrong-arguments: `upper` takes no arguments, and 1 is given\n"
    ),
    "a test with too much": (
        f"{BLOCK}    {{{{ b is divisibleby(1, 2) }}}}\n"
        "                           ^ wrong-arguments: `divisibleby` takes at most 1 argument, and 2 are given\n"
    ),
    "a test without what it needs": (
        f"{BLOCK}    {{% if b is sameas %}}c{{% endif %}}\n"
        "               ^^^^^^ wrong-arguments: `sameas` lacks the argument `other`\n"
    ),
    "a function of Jinja": (
        f"{BLOCK}    {{{{ range(1, 2, 3, 4) | list }}}}\n"
        "                      ^ wrong-arguments: `range` takes at most 3 arguments, and 4 are given\n"
    ),
    "Prompt Poet's function": (
        f"{BLOCK}    {{{{ escape_special_characters(b, c) }}}}\n"
        "                                    ^ wrong-arguments: `escape_special_characters` takes at most 1 argument,"
        " and 2 are given\n"
    ),
    "a macro with too much": (
        "{% macro m(b) %}{{ b }}{% endmacro %}\n- name: a\n  content: '{{ m(1, 2) }}'\n"
        "                    ^ wrong-arguments: `m` takes at most 1 argument, and 2 are given\n"
    ),
    "a macro with a name that it has not": (
        "{% macro m(words='') %}{{ words }}{% endmacro %}\n- name: a\n  content: '{{ m(wrods=1) }}'\n"
        "                 ^^^^^ wrong-arguments: `m` has no argument `wrods`; did you mean `words`?\n"
    ),
    "a macro with one argument twice": (
        "{% macro m(b) %}{{ b }}{% endmacro %}\n- name: a\n  content: '{{ m(1, b=2) }}'\n"
        "                    ^ wrong-arguments: `b` is given twice\n"
    ),
    "a macro without an argument": (
        "{% macro m(b) %}{{ b }}{% endmacro %}\n- name: a\n  content: '{{ m() }}'\n"
        "               ^ wrong-arguments: `m` lacks the argument `b`\n"
    ),
    "an imported macro": (
        "-- main.yml.j2 --\n{% from 'm.yml.j2' import m as shout %}\n- name: a\n  content: '{{ shout(1, 2) }}'\n"
        "                        ^ wrong-arguments: `m` takes at most 1 argument, and 2 are given\n"
        "-- m.yml.j2 --\n{% macro m(b) %}{{ b }}{% endmacro %}\n"
    ),
    "a macro of an imported file": (
        "-- main.yml.j2 --\n{% import 'm.yml.j2' as tools %}\n- name: a\n  content: '{{ tools.m(1, 2) }}'\n"
        "                          ^ wrong-arguments: `m` takes at most 1 argument, and 2 are given\n"
        "-- m.yml.j2 --\n{% macro m(b) %}{{ b }}{% endmacro %}\n"
    ),
    "a call block of a macro that calls nobody back": (
        "{% macro m() %}b{% endmacro %}\n- name: a\n  content: |\n    {% call m() %}c{% endcall %}\n"
        "            ^ wrong-arguments: `m` never uses `caller`, and a `call` block passes one\n"
    ),
    "an unknown filter at the top": f"{BLOCK}    {{{{ b | uper }}}}\n           ^^^^ unknown-filter: Jinja has no filter `uper`;"
    " did you mean `upper`?\n",
    "an unknown filter in a branch": (
        f"{BLOCK}    {{% if b %}}{{{{ b | to_nice_yaml }}}}{{% endif %}}\n"
        "                     ^^^^^^^^^^^^ unknown-filter: Jinja has no filter `to_nice_yaml`, and rendering fails"
        " where this is reached\n"
    ),
    "a value in quotes": (
        '- name: a\n  content: "{{ b }}"\n'
        "               ^ unescaped-multiline-input: a line break in `b` would become a space in these double quotes\n"
    ),
    "an element of a list": (
        f"{BLOCK}    {{% for b in c %}}{{{{ b.d | trim }}}}{{% endfor %}}\n"
        "                       ^^^ unescaped-multiline-input: a line break in `b.d` would end this block\n"
    ),
    "an indentation that is too small": (
        f"{BLOCK}    {{{{ b | indent(2) }}}}\n       ^ unescaped-multiline-input\n"
    ),
    "an input with a line break in an example": (
        '{#---\ninput_keys: [text]\noutput_key: label\nexamples:\n  - {text: "a\\nb", label: c}\n---#}\n'
        "- name: a\n  content: |\n    {{ text }}\n"
        "       ^^^^ unescaped-multiline-input: an example gives `text` with a line break: it ends this block\n"
    ),
    "either side of a condition": (
        f"{BLOCK}    {{{{ b if c else d }}}}\n       ^ unescaped-multiline-input\n                   ^ unescaped-multiline-input\n"
    ),
    "a value in a plain line": (
        "- name: a\n  content: Hello {{ b }}\n                    ^ unquoted-input: YAML reads `b` here: `: ` is an error,"
        " and ` #` cuts off the rest\n"
    ),
}


@pytest.mark.parametrize("fixture", FOUND.values(), ids=FOUND)
def test_a_mistake_with_names_is_found(fixture: str) -> None:
    check_findings(fixture)


SILENT = {
    "a free variable where nothing is declared": f"{BLOCK}    {{{{ escape_special_characters(txt ~ text) }}}}\n",
    "a name that both branches set": (
        declared("    {% if text %}{% set b = 1 %}{% else %}{% set b = 2 %}{% endif %}{{ b }}\n")
    ),
    "a variable of an outer loop": declared(
        "    {% for b in text %}{% for c in b.d %}{{ b.e | tojson }}{{ loop.index }}{{ c | tojson }}{% endfor %}"
        "{% endfor %}\n"
    ),
    "an import with its context": (
        "-- main.yml.j2 --\n{% import 'm.yml.j2' as m with context %}\n- name: a\n  content: '{{ m.hello() }}'\n"
        "-- m.yml.j2 --\n{% macro hello() %}Hello {{ user }}{% endmacro %}\n"
    ),
    "a file that is imported and included": (
        "-- main.yml.j2 --\n{% import 'm.yml.j2' as m %}{% include 'm.yml.j2' %}\n- name: a\n"
        "  content: '{{ m.hello() }}'\n"
        "-- m.yml.j2 --\n{% macro hello() %}Hello {{ user }}{% endmacro %}\n"
    ),
    "a variable that is set again": declared("    {% set text = text | trim %}{{ text | tojson }}\n"),
    "a variable that a branch sets again": "{% set b = 1 %}\n{% if c %}{% set b = 2 %}{% endif %}\n- name: a\n  content: '{{ b }}'\n",
    "two loops, one behind the other": (
        f"{BLOCK}    {{% for b in c %}}x{{% endfor %}}{{% for b in d %}}y{{% endfor %}}\n"
    ),
    "a call of what is declared": (
        "{#---\ninput_keys: [text, fit]\n---#}\n- name: a\n  content: '{{ fit(text) }}'\n"
    ),
    "a call where nothing is declared": "- name: a\n  content: '{{ fit(text) }}'\n",
    "a macro that takes the rest": (
        "{% macro m() %}{{ varargs | join }}{{ kwargs.b }}{% endmacro %}\n- name: a\n  content: '{{ m(1, b=2) }}'\n"
    ),
    "a macro that calls back": (
        "{% macro m() %}{{ caller() }}{% endmacro %}\n- name: a\n  content: |\n    {% call m() %}c{% endcall %}\n"
    ),
    "unpacked arguments": (
        "{% macro m(b, c) %}{{ b }}{{ c }}{% endmacro %}\n- name: a\n  content: '{{ m(*[1, 2]) }}{{ m(**{}) }}'\n"
    ),
    "what Python's dict takes": "- name: a\n  content: '{{ dict([[1, 2]], b=1).b }}{{ namespace({}).c }}'\n",
    "filters with what they take": (
        f"{BLOCK}    {{{{ b | map('upper') | join(', ', attribute='c') | truncate(5, true, end='') }}}}\n"
    ),
    "an input in a filter block": f"{BLOCK}    {{% filter indent(4) %}}{{{{ b }}}}{{% endfilter %}}\n",
    "an input that is indented": f"{BLOCK}    {{{{ b | indent(4) }}}}{{{{ c | indent }}}}{{{{ d | tojson }}}}\n",
    "an input whose type has one line": (
        "{#---\ninput_keys:\n  b: {type: integer}\n  c: {enum: [x, y]}\n  d: {format: date, type: string}\n---#}\n"
        f"{BLOCK}    {{{{ b }}}}{{{{ c }}}}{{{{ d }}}}\n"
    ),
    "an input that is counted with": f"{BLOCK}    {{{{ b }}}}{{% if b > 3 %}}!{{% endif %}}\n",
    "what the file sets": f"{{% set b = 'c' %}}\n{BLOCK}    {{{{ b }}}}\n",
    "a number of turns": f"{BLOCK}    {{% for b in range(3) %}}{{{{ b }}}}{{{{ loop.index }}}}{{% endfor %}}\n",
    "a length": f"{BLOCK}    {{{{ b | length }}}}\n",
    "data as content": "- name: a\n  content: {{ b | tojson }}\n",
}
RULES = (
    "undefined-variable",
    "undeclared-input",
    "unknown-function",
    "shadowed-variable",
    "wrong-arguments",
    "unescaped-multiline-input",
    "unquoted-input",
)


@pytest.mark.parametrize("fixture", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_names_that_are_right(fixture: str) -> None:
    for rule in RULES:
        check_findings(fixture, rule)


FIXES = {
    "a block list": (
        "{#---\ninput_keys:\n  - text\n---#}\n- name: a\n  content: '{{ text }}{{ locale }}'\n",
        "{#---\ninput_keys:\n  - text\n  - locale\n---#}\n- name: a\n  content: '{{ text }}{{ locale }}'\n",
    ),
    "a block mapping": (
        "{#---\ninput_keys:\n  text:\n    type: string\n---#}\n- name: a\n  content: '{{ text }}{{ locale }}'\n",
        "{#---\ninput_keys:\n  text:\n    type: string\n  locale: {}\n---#}\n"
        "- name: a\n  content: '{{ text }}{{ locale }}'\n",
    ),
    "a block mapping without types": (
        "{#---\ninput_keys:\n  text:\n---#}\n- name: a\n  content: '{{ text }}{{ locale }}'\n",
        "{#---\ninput_keys:\n  text:\n  locale: {}\n---#}\n- name: a\n  content: '{{ text }}{{ locale }}'\n",
    ),
    "a mapping in braces": (
        "{#---\ninput_keys: {text: {type: string}}\n---#}\n- name: a\n  content: '{{ text }}{{ locale }}'\n",
        "{#---\ninput_keys: {text: {type: string}, locale: {}}\n---#}\n- name: a\n  content: '{{ text }}{{ locale }}'\n",
    ),
    "an empty list": (
        "{#---\ninput_keys: []\n---#}\n- name: a\n  content: '{{ locale }}'\n",
        "{#---\ninput_keys: [locale]\n---#}\n- name: a\n  content: '{{ locale }}'\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_an_input_is_declared_in_the_way_of_the_others(before: str, after: str) -> None:
    check_fix(before, after, "Add `locale` to `input_keys`")


@pytest.mark.parametrize(
    ("written", "mended", "title"),
    [
        ("    {{ b }}\n", "    {{ escape_special_characters(b) }}\n", "Escape it"),
        ("    {{ b | trim }}\n", "    {{ escape_special_characters(b | trim) }}\n", "Escape it"),
        ("    {{- (b ~ c) -}}\n", "    {{- escape_special_characters((b ~ c)) -}}\n", "Escape it"),
        ("      {{ b }}\n", "      {{ b | indent(6) }}\n", "Indent its lines"),
    ],
)
def test_an_input_is_escaped(written: str, mended: str, title: str) -> None:
    check_fix(BLOCK + written, BLOCK + mended, title)


def test_a_plain_value_becomes_a_block() -> None:
    check_fix(
        "- name: a\n  content: Dear {{ b }},\n  role: user\n",
        "- name: a\n  content: |\n    Dear {{ escape_special_characters(b) }},\n  role: user\n",
        "Write it as a block, escaped",
    )


def test_functions_of_a_python_file_are_known(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        "from functools import lru_cache\n"
        "def fit(text, width=80, *, end='…'): ...\n"
        "@lru_cache\ndef kept(text): ...\n"
        "try:\n    def made(text): ...\nexcept ValueError:\n    pass\n",
        "utf-8",
    )
    check_findings(
        "{#---\nfunctions: tools.py\n---#}\n- name: a\n  content: |\n"
        "    {{ fit() }}\n"
        "       ^^^ wrong-arguments: `fit` lacks the argument `text`\n"
        "    {{ fit(1, 2, '') }}\n"
        "                 ^^ wrong-arguments: `fit` takes at most 2 arguments, and 3 are given\n"
        "    {{ fit(1, widht=2) }}\n"
        "              ^^^^^ wrong-arguments: `fit` has no argument `widht`; did you mean `width`?\n"
        "    {{ fti(1) }}\n"
        "       ^^^ unknown-function: nothing provides the function `fti`; did you mean `fit`?\n"
        "    {{ fit(1, end='') }}{{ kept(1, 2) }}{{ made() }}\n",
        root=tmp_path,
    )


def test_nothing_is_unknown_where_the_functions_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def fit(:\n", "utf-8")
    check_findings(
        "{#---\nfunctions: tools.py\ninput_keys: []\n---#}\n- name: a\n  content: '{{ fit() }}'\n",
        root=tmp_path,
    )
