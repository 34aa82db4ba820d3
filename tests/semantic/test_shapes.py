from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.semantic.flow.paths import path_of
from promptls.semantic.flow.shapes import resolved_at, shape_under, stretches, used_shapes
from promptls.semantic.template import Template
from promptls.semantic.types.schemas import shape_of_schema, shape_of_value
from promptls.semantic.types.shape import Shape, merge_shapes, normalize
from promptls.syntax.chunk import ChunkList, cut
from promptls.syntax.jinja.problems import expressions_in
from promptls.syntax.source import Layout, Source
from promptls.text.positions import Span
from support.example_counts import examples
from support.shapes import input_shapes

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yml.j2"))
SCALAR = "text, number or boolean"


def words(text: str) -> dict[str, str]:
    """Return the description of each input, with `?` after optional ones."""
    shapes = input_shapes(Template(Source.of(text)))
    return {name: shape.description + "?" * shape.optional for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ a }}", {"a": SCALAR}),
        ("{{ a | }}", {"a": SCALAR}),
        ("{{ a.b.c }}{{ a['d'] }}", {"a": "mapping with b, d"}),
        ("{% for m in a %}{{ m.by }}: {{ m.text }}{% endfor %}", {"a": "list of mappings with by, text"}),
        ("{% for m in a %}{{ m }}{% endfor %}{{ m }}", {"a": "list of scalars", "m": SCALAR}),
        ("{% for m in a %}{% for n in m.items %}{{ n.x }}{% endfor %}{% endfor %}",
         {"a": "list of mappings with items"}),
        ("{% for k, v in a.items() %}{{ k }}{{ v.x }}{% endfor %}", {"a": "mapping"}),
        ("{% for x, y in a %}{{ x }}{{ y.z }}{% endfor %}",
         {"a": "list of lists of scalars or mappings with z"}),
        ("{% for x in a | selectattr('on') | sort(attribute='at') %}{{ x.name }}{% endfor %}",
         {"a": "list of mappings with at, name, on"}),
        ("{{ (a | first).name }}{{ a[0].x }}{{ a[-1].y }}", {"a": "list of mappings with name, x, y"}),
        ("{{ a[0] }}{{ b | first }}{{ c[:3] }}{% if d in e %}{% endif %}{{ c in f }}{{ f }}",
         {"a": "text or list", "b": "text or list", "c": "text", "d": "any", "e": "text, list or mapping",
          "f": "text"}),
        ("{% for i in range(3) %}{{ a[i].x }}{{ i }}{% endfor %}", {"a": "list of mappings with x"}),
        ("{% for k in a.keys() %}{{ a[k].x }}{% endfor %}", {"a": "mapping"}),
        ("{{ a | map('upper') | list }}{{ b | sum }}{{ c * 1.5 }}{{ '-' * d }}{{ e * f }}",
         {"a": "list of scalars", "b": "list of numbers", "c": "number", "d": "number", "e": "number",
          "f": "number"}),
        ("{{ a | selectattr('b', 'gt', 1) | selectattr('c', 'equalto', 'x') | sort(attribute='d') | first }}",
         {"a": "list of mappings with b, c, d"}),
        ("{% for n in a recursive %}{{ n.x }}{{ loop(n.y) }}{% endfor %}",
         {"a": "list of mappings with x, y"}),
        ("{{ '%d' % a }}{{ '%.2f of %s' | format(b, c) }}{{ x | truncate(d) }}{{ x[:e] }}",
         {"a": "number", "b": "number", "c": "any", "d": "number", "e": "number", "x": "text"}),
        ("{{ a | int + b }}{{ c / 2 + d }}", {"a": SCALAR, "b": "number", "c": "number", "d": "number"}),
        ("{{ a | join(', ') }}{{ b | map(attribute='x') | join }}",
         {"a": "list of scalars", "b": "list of mappings with x"}),
        ("{% for k in a %}{{ a[k] }}{% endfor %}{{ a.b }}", {"a": "mapping with b"}),
        ("{{ a | upper }}{{ b.strip() }}", {"a": SCALAR, "b": "text"}),
        ("{{ escape_special_characters(a) }}", {"a": "text"}),
        ("{{ a + 1 }}{% if b > 3 %}{% endif %}{% for i in range(c) %}{% endfor %}{{ -d }}{{ e - f }}",
         dict.fromkeys("abcdef", "number")),
        ("{% if a == 'x' %}{% endif %}{% if b in ['x', 'y'] %}{% endif %}{% if c == true %}{% endif %}",
         {"a": "text", "b": "text", "c": "boolean"}),
        ("{{ f(a, 1, k=b) }}{{ f(a) }}",
         {"a": "any", "b": "any", "f": "function of 1 to 2 arguments and k="}),
        ("{{ f(*a) }}", {"a": "any", "f": "function of 0 or more arguments"}),
        ("{% set b = a.pop('c') %}{{ b }}{{ d.pop() }}", {"a": "mapping with c", "d": "any"}),
        ("{{ a.pop('c', 0) }}", {"a": "mapping with c?"}),
        ("{{ a.run(1) }}", {"a": "mapping with run"}),
        ("{% set u = a.boss %}{{ u.name }}", {"a": "mapping with boss"}),
        ("{% set u = {} %}{{ u.name }}{% macro m(p) %}{{ p.q }}{% endmacro %}", {}),
        ("{% if c %}{% set u = a %}{% else %}{% set u = b %}{% endif %}{{ u.name }}",
         {"a": "any", "b": "any", "c": "any?"}),
        ("{% with x = a.b %}{{ x.c }}{% endwith %}", {"a": "mapping with b"}),
        ("{% if a is string %}{{ a }}{% else %}{{ a.x }}{% endif %}", {"a": "text or mapping with x"}),
        ("{{ a }}{% for x in a %}{% endfor %}", {"a": "list"}),
        ("{% for k in a %}{{ a[k].x }}{% endfor %}{% for i in b %}{{ c[i] }}{% endfor %}{{ d.0.x }}",
         {"a": "mapping", "b": "list", "c": "any", "d": "list of mappings with x"}),
        ("{% for r in a | batch(2) %}{% for m in r %}{{ m.x }}{% endfor %}{% endfor %}",
         {"a": "list of mappings with x"}),
        ("{% for g in a | groupby('r') %}{{g.grouper}}{% for m in g.list %}{{m.x}}{% endfor %}{% endfor %}",
         {"a": "list of mappings with r, x"}),
        ("{% for r, ms in a | groupby(attribute='r') %}{% for m in ms %}{{ m.x }}{% endfor %}{% endfor %}",
         {"a": "list of mappings with r, x"}),
        ("{% for n in a | map(attribute='b') %}{{ n.x }}{{ c[loop.index0].x }}{% endfor %}",
         {"a": "list of mappings with b", "c": "list of mappings with x"}),
        ("{% set p = a.items() | list %}{% for k, v in p %}{% for i in v %}{% endfor %}{% endfor %}",
         {"a": "mapping"}),
        ("{% macro m(p, q=1) %}{{ p.x }}{% for i in q %}{% endfor %}{% endmacro %}{{ m(a, q=b) }}{{ m(c) }}",
         {"a": "mapping with x", "b": "list", "c": "mapping with x"}),
        ("{% macro n(p) %}{{ n(p.z) }}{% endmacro %}{% macro m(p) %}{{ n(p.x) }}{% endmacro %}{{ m(a) }}",
         {"a": "mapping with x"}),
        ("{% macro m(p) %}{{caller(p)}}{% endmacro %}{% call(u) m(a) %}{{u.x}}{% endcall %}{{ m(b) }}",
         {"a": "mapping with x", "b": "any"}),
        ("{{ a.upper() }}{% for x in a.b %}{% endfor %}", {"a": "text or mapping with b"}),
        ("{#---\ninput_keys: {a: {type: integer}, b: {}}\n---#}{{ a }}{% for x in b %}{{ x.y }}{% endfor %}",
         {"a": "number", "b": "list of mappings with y"}),
    ],
)  # fmt: skip
def test_the_shape_of_an_input_follows_from_its_uses(text: str, expected: dict[str, str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Uses that no one kind allows stand side by side: they may exclude each other.
        ("{% for x in a %}{{ x.y }}{% endfor %}{{ a.b }}", "list of mappings with y or mapping with b"),
        ("{% for x in a %}{{ x.y }}{% endfor %}{{ a.strip() }}", "text or list of mappings with y"),
        ("{{ a(1) }}{{ a.b }}", "function of 1 argument or mapping with b"),
        ("{% if a == 'x' %}{% elif a == 3 %}{% elif a %}{{ a.b }}{% endif %}",
         "text, number or mapping with b"),
        ("{% for x in a %}{{ x }}{% endfor %}{% for x in a %}{{ x + 1 }}{{ x.y }}{% endfor %}",
         "list of numbers or mappings with y"),
        # The template itself asks for the type.
        ("{% if a is string %}{{ a }}{% else %}{% for x in a %}{{ x.y }}{% endfor %}{% endif %}",
         "text or list of mappings with y"),
        ("{% if a is not string %}{% for x in a %}{{ x.y }}{% endfor %}{% else %}{{ a }}{% endif %}",
         "text or list of mappings with y"),
        ("{% if a is string %}{{ a }}{% elif a is mapping %}{{ a.b }}{% endif %}", "text or mapping with b"),
        ("{% if a is mapping %}{% for k in a %}{{ k }}{% endfor %}{% else %}{{ a }}{% endif %}",
         "text, number, boolean or mapping"),
        ("{{ a if a is string else a | join }}", "text or list of scalars"),
        ("{{ a | tojson if a is not string else a }}", "any"),
        ("{% if a is string %}{{ a }}{% else %}{{ a | tojson }}{% endif %}", "any"),
        ("{% if a is string and b %}{{ a }}{% else %}{% for x in a %}{% endfor %}{% endif %}",
         "text or list"),
        ("{% if a is string or b %}{{ a }}{% else %}{{ a.c }}{% endif %}", "any"),
        ("{% set t = a is string %}{% if t %}{{ a }}{% else %}{{ a.c }}{% endif %}", "any"),
        ("{% if a is iterable and a is not string %}{% for x in a %}{{ x.y }}{% endfor %}{% endif %}",
         "list of mappings with y"),
        ("{% if a is none %}{% elif a is string %}{{ a }}{% else %}{{ a.b }}{% endif %}",
         "text or mapping with b?"),
        ("{% for m in a %}{% if m.c is string %}{{ m.c }}{% else %}{{ m.c.d }}{% endif %}{% endfor %}",
         "list of mappings with c"),
        (("- name: p\n{% if a is string %}\n- name: q\n  content: {{ a }}\n{% else %}\n- name: r\n"
         "  content: {{ a.b }}\n{% endif %}\n"), "text or mapping with b"),
    ],
)  # fmt: skip
def test_a_value_of_several_types_is_a_union(text: str, expected: str) -> None:
    assert words(text)["a"] == expected


@pytest.mark.parametrize(
    ("text", "optional"),
    [
        ("{% if a %}{{ a }}{% endif %}", {"a": True}),
        ("{% if a %}{{ a }}{% endif %}{{ a }}", {"a": False}),
        ("{% if b %}{{ a }}{% endif %}", {"a": False, "b": True}),
        ("{% if a %}{% else %}{{ a }}{% endif %}", {"a": False}),
        ("{% if not a %}{% else %}{{ a }}{% endif %}", {"a": True}),
        ("{% if a is defined and a.b %}{{ a.b }}{% endif %}", {"a": True}),
        ("{{ a | default('x') }}{{ b or 'y' }}", {"a": True, "b": True}),
        ("{{ a if a else 'x' }}{{ 'y' if b is none else b }}", {"a": True, "b": True}),
        ("{{ a and a.b }}", {"a": True}),
        ("{% if a | length > 0 %}{% for x in a %}{{ x }}{% endfor %}{% endif %}", {"a": False}),
        ("{% if a %}{% for x in a %}{{ x.y }}{% endfor %}{% endif %}", {"a": True}),
        ("{% for x in a | default([]) %}{{ x.y }}{% endfor %}", {"a": True}),
        ("{% if a %}{% set b = a %}{{ b.c }}{% endif %}", {"a": True}),
        ("- name: x\n{% if a %}\n- name: y\n  content: {{ a.b }}\n{% endif %}\n", {"a": True}),
        ("{#---\ninput_keys: {a: {default: 1}}\n---#}\n{{ a }}", {"a": True}),
    ],
)
def test_an_input_is_optional_where_every_use_reckons_with_its_absence(
    text: str, optional: dict[str, bool]
) -> None:
    shapes = input_shapes(Template(Source.of(text)))

    assert {name: shape.optional for name, shape in shapes.items()} == optional


def test_a_key_is_optional_by_default() -> None:
    shape = used_shapes(Template(Source.of("{{ a.b }}{% if a.c %}{{ a.c.d }}{% endif %}{{ a.get('e') }}")))[
        "a"
    ]

    assert {name: key.optional for name, key in shape.keys} == {"b": False, "c": True, "e": True}
    assert not shape.optional


def test_a_loop_around_parts_binds_its_variable_in_every_part() -> None:
    text = (
        "{% for m in history %}\n- name: a\n  content: {{ m.author }}\n- name: b\n  content: {{ m.text }}\n"
        "{% for f in m.files %}\n- name: c\n  content: {{ f.path }}\n{% endfor %}\n{% endfor %}\n"
        "- name: d\n  content: {{ m }}\n"
    )

    shapes = input_shapes(Template(Source.of(text)))

    assert shapes["history"].description == "list of mappings with author, files, text"
    assert shapes["m"].description == SCALAR
    files = shapes["history"].element.key("files")  # type: ignore[union-attr]  # the test fails where it is None
    assert files is not None
    assert files.description == "list of mappings with path"


def test_the_value_of_a_local_variable_is_known_at_its_position() -> None:
    text = (
        "- name: x\n{% for m in history %}\n- name: a\n"
        "  content: {{ m.author.name }} {{ m.author }}\n{% endfor %}"
    )
    template = Template(Source.of(text))
    inputs = input_shapes(template)
    offset = text.index("m.author }}")
    chunk = template.source.located(offset)
    expression = list(expressions_in(chunk.chunk))[-2][1]

    shape = shape_under(inputs, resolved_at(template, path_of(expression), offset))

    assert shape is not None
    assert shape.description == "mapping with name"


PIECES = (
    "- name: {{ a.x }}\n",
    "- name: {{ b }} {{ f(a) }}\n",
    "{% set a = b.y %}\n",
    "{% set b = 1 %}\n",
    "{% if a %}\n",
    "{% elif b.z %}\n",
    "{% else %}\n",
    "{% endif %}\n",
    "{% for a in c %}\n",
    "{% for b in a %}\n",
    "{% endfor %}\n",
    "{% macro m(b, d=a) %}\n",
    "{% endmacro %}\n",
    "{% with b = a %}\n",
    "{% endwith %}\n",
    "- name: {{ c[0].k }}\n",
    "- name: {{ m(c) }} {{ m(b.w, d=b.v) }} {{ caller(b) }}\n",
    "{% call(a) m(c) %}\n",
    "{% endcall %}\n",
    "{% for b in c | batch(2) %}\n",
    "{% for b, a in c | groupby('g') %}\n",
    "{% set c = c | map(attribute='h') %}\n",
    "- name: {{ c[a].u }} {{ (b | first).t }}\n",
    "{% if b is string %}\n",
    "{% elif a is mapping and c is not iterable %}\n",
    "{% if c[0].k is not mapping %}\n",
    "{% if b.r == 't' %}\n",
    "{% elif a != 'x' and b.r in ['t', 'u'] %}\n",
    "{% for b in c | selectattr('r', 'equalto', 't') if b.q == 1 %}\n",
    "- name: {{ b.s if b.r == 'u' else b.w }} {{ a == 'x' and m(b) }} {{ c.n.o if c.n.p == 2 }}\n",
    "- name: {{ b if b is string else b.w }} {{ c + 1 }} {{ a.strip() }}\n",
)


def assert_shapes_are_those_of_one_piece(source: Source) -> None:
    """Assert that a file's shapes are the same as if it were one chunk."""
    whole = Source(ChunkList.of(tuple(cut(source.text, at_items=False))), Layout.WHOLE)
    assert used_shapes(Template(source)) == used_shapes(Template(whole))


@pytest.mark.parametrize(
    "text",
    [
        *(path.read_text("utf-8") for path in EXAMPLES),
        "- name: {{ a.x }}\n{% if a %}\n{% set a = b.y %}\n{% endif %}\n- name: {{ a.z }}\n",
        "{% if a %}\n{% set a = b %}\n{% endif %}\n{% for a in c %}\n- name: {{ a.x }}\n{% endfor %}\n",
        "{% for a in c %}\n{% if a %}\n- name: p\n{% endfor %}\n{% endif %}\n- name: {{ a.x }}\n",
    ],
)
def test_shapes_by_chunk_are_those_of_the_whole_file(text: str) -> None:
    assert_shapes_are_those_of_one_piece(Source.of(text))


@given(st.lists(st.sampled_from(PIECES), max_size=80), st.data())
@examples(150)
def test_shapes_by_chunk_are_those_of_the_whole_file_for_any_order_of_tags(
    pieces: list[str], data: st.DataObject
) -> None:
    source = Source.of("".join(("- name: first\n", *pieces)))
    assert_shapes_are_those_of_one_piece(source)
    assert stretches(source.root) is not None
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, min(len(source), start + 40)))
    assert_shapes_are_those_of_one_piece(source.edited(Span(start, end), data.draw(st.sampled_from(PIECES))))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES, VALUES)
@examples(200)
def test_merging_is_the_same_in_any_order(first: object, second: object, third: object) -> None:
    one, two, three = map(shape_of_value, (first, second, third))

    assert merge_shapes(one, two) == merge_shapes(two, one)
    assert merge_shapes(one, one) == one
    assert merge_shapes(merge_shapes(one, two), three) == merge_shapes(one, merge_shapes(two, three))
    assert normalize(normalize(one)) == normalize(one)


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({"type": "string"}, Shape("text")),
        ({"type": ["string", "null"]}, Shape("text", optional=True)),
        ({"type": ["string", "array"]}, Shape("union", alternatives=(Shape("text"), Shape("list")))),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, Shape("text", optional=True)),
        ({"oneOf": [{"type": "string"}, {"$ref": "#"}]}, Shape()),
        ({"type": ["string", "number", "boolean"]}, Shape("scalar")),
        ({"items": {"type": "number"}}, Shape("list", element=Shape("number"))),
        ({"properties": {"a": {}}, "required": []}, Shape("mapping", keys=(("a", Shape()),))),
        ({"type": 3, "properties": 4}, Shape()),
        ("text", Shape()),
    ],
)
def test_a_schema_has_a_shape(schema: object, shape: Shape) -> None:
    assert shape_of_schema(schema) == shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ a | selectattr('x', 'gt', 1) | list }}", "number"),
        ("{{ a | rejectattr('x', 'equalto', 'y') | list }}", "text"),
        ("{{ a | selectattr('x', 'in', b) | list }}", "any"),
        ("{{ a | selectattr('x') | list }}", "any"),
        ("{{ a | sort(attribute='x') | first }}", SCALAR),
        ("{{ a | groupby('x') | list }}", SCALAR),
        ("{{ a | sum(attribute='x') }}", "number"),
        ("{{ a | map(attribute='x') | join(', ') }}", SCALAR),
    ],
)
def test_a_key_that_a_filter_goes_by_has_a_type(text: str, expected: str) -> None:
    element = input_shapes(Template(Source.of(text)))["a"].element

    assert element is not None
    key = element.key("x")
    assert key is not None
    assert key.description == expected
