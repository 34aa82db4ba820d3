from __future__ import annotations

import re

import pytest

from promptls.syntax.jinja.builtins import FILTERS, TESTS, filter_documentation, filter_signature, markdown
from promptls.syntax.jinja.builtins import test_documentation as documentation_of_test
from promptls.syntax.jinja.builtins import test_signature as signature_of_test

_RST = re.compile(r":\w+:`|\.\. \w+|(?<!`)``(?!`)|::\s*$|^:\w+", re.MULTILINE)


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_every_filter_is_documented_in_markdown(name: str) -> None:
    text = filter_documentation(name)

    assert text
    assert _RST.search(text) is None, text
    assert text.count("```") % 2 == 0


@pytest.mark.parametrize("name", sorted(TESTS))
def test_every_test_is_documented_in_markdown(name: str) -> None:
    text = documentation_of_test(name)

    assert text
    assert _RST.search(text) is None, text


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        (filter_signature("join"), "join(d='', attribute=none)"),
        (filter_signature("slice"), "slice(slices, fill_with=none)"),
        (filter_signature("upper"), "upper()"),
        (filter_signature("map"), "map(*args, **kwargs)"),
        (signature_of_test("divisibleby"), "divisibleby(num)"),
        (signature_of_test("defined"), "defined()"),
    ],
)
def test_signatures_leave_out_what_jinja_itself_passes(signature: object, text: str) -> None:
    assert signature.text == text


@pytest.mark.parametrize(
    ("docstring", "text"),
    [
        ("One\n    line.", "One line."),
        ("Like :func:`~a.b.sorted` and ``x``.", "Like `sorted` and `x`."),
        ("So::\n\n    code\n\nEnd.", "So:\n\n```\ncode\n```\n\nEnd."),
        (
            ".. sourcecode:: html+jinja\n\n    {{ a }}\n      b\n\n.. versionadded:: 2\n   New.\n",
            "```jinja\n{{ a }}\n  b\n```",
        ),
        (
            "Does.\n\n:param a: First\n    one.\n:param b: Second.",
            "Does.\n\n- `a`: First one.\n- `b`: Second.",
        ),
        (None, ""),
    ],
)
def test_a_docstring_reads_as_markdown(docstring: str | None, text: str) -> None:
    assert markdown(docstring) == text
