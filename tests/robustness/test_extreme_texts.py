"""Extreme texts, generated or malicious: each is read within seconds."""

from __future__ import annotations

import time

import pytest

from promptls.semantic.template import Template
from promptls.syntax.source import Source
from support.soundness import assert_sound

ITEM = "- name: a\n  content: "


def _with_header(header: str) -> str:
    return f"{{#---\n{header}\n---#}}\n{ITEM}b\n"


DEEP = {
    "parentheses": ITEM + "{{ " + "(" * 3000 + ")" * 3000 + " }}\n",
    "lists in Jinja": ITEM + "{{ " + "[" * 3000 + "]" * 3000 + " }}\n",
    "subscripts in subscripts": ITEM + "{{ " + "a[" * 3000 + "1" + "]" * 3000 + " }}\n",
    "assignment targets": "{% set " + "(" * 3000 + "a" + ")" * 3000 + " = 1 %}\n" + ITEM + "b\n",
    "attributes": ITEM + "{{ a" + ".b" * 3000 + " }}\n",
    "calls": ITEM + "{{ a" + "()" * 3000 + " }}\n",
    "filters": ITEM + "{{ a" + "|b" * 3000 + " }}\n",
    "filters without names": ITEM + "{{ a" + "||" * 3000 + " }}\n",
    "tests": ITEM + "{{ " + "a is b " * 3000 + " }}\n",
    "sums": ITEM + "{{ " + "a+" * 3000 + "a }}\n",
    "signs": ITEM + "{{ " + "-" * 3000 + "a }}\n",
    "negations": ITEM + "{{ " + "not " * 3000 + "a }}\n",
    "conditions": ITEM + "{{ " + "a if b else " * 3000 + "a }}\n",
    "loops in loops": ITEM + "|\n    " + "{% for x in x %}" * 300 + "{% endfor %}" * 300,
    "open blocks": "{% if x %}" * 2000,
    "YAML lists on one line": "- " * 30_000,
    "YAML keys on one line": ITEM + "? " * 30_000,
    "YAML lists line by line": "\n".join(" " * depth + "-" for depth in range(1000)),
    "open brackets": "[" * 30_000,
    "open braces": ITEM + "{a: " * 30_000,
    "brackets in the header": "{#---\nexamples: " + "[" * 150 + "]" * 150 + "\n---#}\n" + ITEM + "b\n",
    "braces in the header": "{#---\nname: " + "{b: " * 5000 + "\n---#}\n" + ITEM + "b\n",
    "brackets in an object": "instruction: a\nx: " + "[" * 150 + "]" * 150 + "\n",
    "JSON in an example": "{#---\noutput_key: a\noutput_type: json\nexamples:\n - a: '"
    + "[" * 50_000
    + "'\n---#}\n"
    + ITEM,
}
LONG = {
    "a plain line of a megabyte": ITEM + "x " * 500_000 + "\n",
    "a line of many expressions": ITEM + "|\n    " + "{{ x }} " * 5_000 + "\n",
    "a plain line of values": ITEM + "{{ x }}" * 5_000 + "\n",
    "exclamation marks in a tag": ITEM + "{{ " + "!a " * 10_000 + " }}\n",
    "unclosed statements": ITEM + "|\n" + "{% " * 2000,
    "unclosed expressions": ITEM + "|\n    " + "{{ " * 2000,
    "unclosed comments": "{# " * 20_000,
    "unclosed raw blocks": "{% raw %}" * 5_000,
    "unclosed quotes": (ITEM + "|\n    {{ 'it }}\n") * 500,
    "quotes": ITEM + "{{ " + "'" * 100_001 + " }}\n",
    "digits": ITEM + "{{ " + "9" * 6000 + " }}\n",
    "dashes": "-\n" * 3_000,
    "parts of one name": (ITEM + "b\n") * 3_000,
}  # fmt: skip
ODD = {
    "NUL bytes": "- name: \x00\n  content: {{ \x00 }}\n{% include 'a\x00b' %}\n",
    "lone surrogates": "- name: \ud800\n  content: {{ '\ud800' }}\n{% include '\ud800' %}",
    "an include with a name that no file can have": "{% include '" + "a" * 5000 + "' %}\n" + ITEM + "b\n",
    "an include without a name": "{% include '' %}{% import [] as x %}{% include [''] %}\n" + ITEM,
    "an anchor inside itself in the header": _with_header("examples: &a\n - *a\n - b: &c {d: *c}"),
    "an anchor inside itself in an object": "instruction: &a\n  b: *a\nexamples: &x [*x]\n",
    "keys of every type in the header": _with_header("1: 2\nnull: 3\ntrue: 1\n? [a]\n: b"),
    "a key with a bracket in the header": _with_header("'list[': 1\ninput_keys: {'dict[': 3}"),
    "a date that is none": _with_header("examples: [{a: 2024-99-99}]"),
    "tags that name nothing": "- name: !!binary é\n  content: !!timestamp x\n  role: !!int y\n- !x y\n",
    "numbers of every form": "instruction: a\nw: 0x\nx: 0o9\ny: 1:2:3\nz: .nan\nf: .inf\nb: 0b\n",
    "the shortest headers": "{#---#}\n" + ITEM + "b\n{#------#}\n{#----#}",
}  # fmt: skip
BOMB = "".join(f"a{level + 1}: &a{level + 1} [" + ",".join([f"*a{level}"] * 10) + "]\n" for level in range(9))
BOMBS = {
    "in the header": "{#---\na0: &a0 [1]\n" + BOMB + "---#}\n" + ITEM + "b\n",
    "in an object": "instruction: a\na0: &a0 [1]\n" + BOMB,
    "in a part": "- name: a\n  a0: &a0 [1]\n" + "".join(f"  {line}\n" for line in BOMB.splitlines()),
}  # fmt: skip


@pytest.mark.parametrize("name", {**DEEP, **LONG, **ODD})
def test_an_extreme_text_is_read_within_seconds(name: str) -> None:
    started = time.process_time()

    assert_sound({**DEEP, **LONG, **ODD}[name])

    assert time.process_time() - started < 10


@pytest.mark.parametrize("name", BOMBS)
def test_aliases_that_expand_to_billions_of_values_are_not_followed(name: str) -> None:
    assert_sound(BOMBS[name])

    template = Template(Source.of(BOMBS[name]))
    problems = [*template.syntax_problems, *template.declarations.problems]
    assert any("aliases" in problem.message for problem in problems)


def test_brackets_that_jinja_cannot_nest_are_reported() -> None:
    template = Template(Source.of(DEEP["parentheses"]))

    assert any("levels deep" in problem.message for problem in template.syntax_problems)
