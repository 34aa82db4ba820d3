"""The characters of a value, followed through a tag to their data."""

from __future__ import annotations

from typing import Any

import pytest

from support.mapped import PATH, check, mapped

DATA: dict[str, Any] = {
    "a": "one two",
    "b": "<x>",
    "n": 5,
    "xs": ["p q", "r", 3],
    "h": [{"r": "user", "c": "hi there"}, {"r": "bot", "c": "oh"}],
    "u": {"k": 'v"w', "i": 7},
    "key": "k",
    "yes": True,
}

FOLLOWED: list[tuple[str, list[tuple[str, str | None]]]] = [
    ("{{ a }}", [("one two", "a")]),
    ("{{ a ~ ': ' ~ n ~ b }}", [("one two", "a"), (": ", None), ("5", "n"), ("<x>", "b")]),
    ("{{ a + '!' + b }}", [("one two", "a"), ("!", None), ("<x>", "b")]),
    ("{{ a * 2 }}", [("one twoone two", "a")]),
    ("{{ b | e }}", [("&lt;x&gt;", "b")]),
    ("{{ b | escape | upper }}", [("&LT;X&GT;", "b")]),
    ("{{ b | safe }}{{ a | forceescape }}", [("<x>", "b"), ("one two", "a")]),
    ("{{ u.k | tojson }}", [('"', None), ('v\\"w', "u.k"), ('"', None)]),
    ("{{ ('<i>' ~ a ~ '</i>') | striptags }}", [("one", "a"), (" ", None), ("two", "a")]),
    ("{{ a | urlencode }}", [("one%20two", "a")]),
    ("{{ '%s (%d%%)' % (a, n) }}", [("one two", "a"), (" (", None), ("5", "a, n"), ("%)", None)]),
    ("{{ '%(x)s!' % {'x': a} }}", [("one two", "a"), ("!", None)]),
    ("{{ '%9s|%.3s' | format(a, b) }}", [("  ", None), ("one two", "a"), ("|", None), ("<x>", "b")]),
    ("{{ '{}-{y}'.format(a, y=b) }}", [("one two", "a"), ("-", None), ("<x>", "b")]),
    ("{{ '{:>9}'.format(a) }}", [("  ", None), ("one two", "a")]),
    ("{{ '{0.real}'.format(n) }}", [("5", "n")]),
    ("{{ xs | join('/') }}", [("p q", "xs[0]"), ("/", None), ("r", "xs[1]"), ("/", None), ("3", "xs[2]")]),
    ("{{ [b, n] | join('-') }}", [("<x>", "b"), ("-", None), ("5", "n")]),
    ("{{ ', '.join(xs[:2]) }}", [("p q", "xs[0]"), (", ", None), ("r", "xs[1]")]),
    ("{{ xs | map('upper') | join }}", [("P Q", "xs[0]"), ("R", "xs[1]"), ("3", "xs")]),
    ("{{ h | map(attribute='c') | join('|') }}", [("hi there", "h[0].c"), ("|", None), ("oh", "h[1].c")]),
    (
        "{% for m in h %}{{ m.r ~ '> ' ~ m.c | title }}{% endfor %}",
        [
            ("user", "h[0].r"), ("> ", None), ("Hi There", "h[0].c"),
            ("bot", "h[1].r"), ("> ", None), ("Oh", "h[1].c"),
        ],
    ),
    ("{{ a | replace('two', b) }}", [("one ", "a"), ("<x>", "b")]),
    ("{{ a | truncate(6, true, '…', 0) }}", [("one t", "a"), ("…", None)]),
    ("{{ a | wordwrap(3) }}", [("one\ntwo", "a")]),
    ("{{ a | indent(2, true) }}", [("  ", None), ("one two", "a")]),
    ("{{ a | center(9) }}", [(" ", None), ("one two", "a"), (" ", None)]),
    ("{{ a | trim | capitalize | lower }}", [("one two", "a")]),
    ("{{ a[4:] }}{{ a[0] }}{{ a[::-1] }}", [("twooowt eno", "a")]),
    ("{{ a.split()[1].upper() }}", [("TWO", "a")]),
    ("{{ a | default(b) }}{{ missing | default(b) }}", [("one two", "a"), ("<x>", "b")]),
    ("{{ missing or b }}{{ a and b }}", [("<x><x>", "b")]),
    ("{{ a if yes else b }}{{ n if yes else b }}", [("one two", "a"), ("5", "n")]),
    ("{{ 'yes' if n else 'no' }}", [("yes", "n")]),
    ("{{ xs | first }}{{ xs | last }}{{ a | last }}", [("p q", "xs[0]"), ("3", "xs"), ("o", "a")]),
    ("{{ u.get('k') }}{{ u[key] }}", [('v"wv"w', "u.k")]),
    ("{{ xs | length }}{{ n + u.i }}{{ n == u.i }}", [("3", "xs"), ("12False", "n, u.i")]),
    ("{{ a | wordcount ~ ' words' }}", [("2", "a"), (" words", None)]),
    ("{{ u | tojson }}", [('{"i": 7, "k": "v\\"w"}', "u")]),
    ("{% set y = a ~ '!' %}{{ y | upper }}", [("ONE TWO", "a"), ("!", None)]),
    ("{% with y = b | e %}{{ y }}{% endwith %}", [("&lt;x&gt;", "b")]),
    ("{% macro m(z) %}[{{ z }}]{% endmacro %}{{ m(a ~ n) }}",
     [("[", None), ("one two", "a"), ("5", "n"), ("]", None)]),
    (
        "{% set s = namespace(t='') %}{% for m in h %}{% set s.t = s.t ~ m.c ~ ';' %}{% endfor %}{{ s.t }}",
        [("hi there", "h[0].c"), (";", None), ("oh", "h[1].c"), (";", None)],
    ),
    ("{{ escape_special_characters(a ~ b) }}", [("one two", "a"), ("<x>", "b")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FOLLOWED)
def test_each_character_leads_to_the_data_that_it_is_of(
    text: str, expected: list[tuple[str, str | None]]
) -> None:
    source_map = mapped(text, DATA)
    check(source_map.text, source_map.segments, {PATH: text})
    found: list[tuple[str, str | None]] = []
    for each in source_map.segments:
        words = source_map.text[each.start : each.end]
        if found and found[-1][1] == each.data_path:
            found[-1] = found[-1][0] + words, each.data_path
        else:
            found.append((words, each.data_path))
    assert found == expected


def test_a_binding_is_reported_once() -> None:
    source_map = mapped("{% for m in h %}{% set y = m.c ~ '.' %}{{ y }}{% endfor %}", DATA)
    assert [each.iterations for each in source_map.segments] == [
        (f"iteration {turn} of `for m in h`",) for turn in (1, 1, 2, 2)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{% autoescape true %}{{ a ~ b }}{{ '<' + b }}{{ '%s' % b }}{{ [b] | join('<') }}{% endautoescape %}",
        "{{ a + ('<' | e) }}{{ ('<' | e) + b }}{{ ('<' | e) ~ b }}",
        "{{ (b | e).upper() }}{{ (b | e) | replace('x', '<') }}{{ (b | e) | length }}{{ b | e | e }}",
        "{{ xs | sort(attribute='x') | list if no }}{{ xs[:2] | sort | list }}{{ xs | unique | list }}",
        "{{ a | upper == 'ONE TWO' }}{{ {a ~ n: 1} }}{{ (a ~ n) in ['one two5'] }}{{ [a ~ n] }}",
        "{{ 'ß' ~ 'İ' | lower }}{{ ('ß' ~ a) | upper }}{{ ('Σ' ~ a ~ 'Σ') | lower }}",
        "{{ n * 2 }}{{ xs * 2 }}{{ n % 2 }}{{ a * 0 }}{{ 2 * a }}{{ xs + [a] }}",
        "{{ '{{}}{}'.format(a) }}{{ (a ~ '{}').format(b) }}{{ '{:*^11}'.format(a) }}{{ '{!r}'.format(a) }}",
    ],
)
def test_followed_values_print_what_plain_ones_do(text: str) -> None:
    source_map = mapped(text, DATA)
    check(source_map.text, source_map.segments, {PATH: text})
