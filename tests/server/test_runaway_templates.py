"""A template that does not terminate costs only its own rendering: the message gives its line, and the next
one works.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import pytest_asyncio
from lsp_editor import Editor, eventually

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds memory reliably"),
]

GOOD = "- name: a\n  content: |\n    {{ 1 + 1 }}\n"

RUNAWAYS = {
    "an endless loop": (
        "{% for i in range(10**15) %}{% endfor %}",
        "timeout",
        "did not end within its limit",
    ),
    "a list of a billion": ("{{ range(10**9) | list | length }}", "memory", "more than its limit of 300 MiB"),
    "a text of ten gigabytes": ("{{ 'a' * 10**10 }}", "memory", "more than its limit of 300 MiB"),
    "a list that grows": (
        "{% set all = [] %}{% for i in range(10**9) %}{{ all.append('a' * 10**6 ~ i) or '' }}{% endfor %}",
        "memory",
        "more than its limit of 300 MiB",
    ),
    "a macro that calls itself": (
        "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
        "render",
        "never ends",
    ),
    "a file that includes itself": ("{% include 'runaway.yml.j2' %}", "render", "never ends"),
}


@pytest_asyncio.fixture(loop_scope="module")
async def limited(code: Editor) -> Editor:
    code.set_settings({"rendering": {"timeout": 2, "memory": 300}})
    return code


@pytest.fixture(autouse=True)
def usual_settings_afterwards(code: Editor) -> Iterator[None]:
    yield
    code.set_settings({})


@pytest.mark.parametrize(("tag", "kind", "reported"), RUNAWAYS.values(), ids=RUNAWAYS)
async def test_an_endless_loop_is_reported_at_its_line_and_the_next_rendering_works(
    limited: Editor, tag: str, kind: str, reported: str
) -> None:
    uri = limited.open("runaway.yml.j2", GOOD)
    limited.replace(uri, "{{ 1 + 1 }}", tag)
    made = await eventually(
        lambda: limited.command("preview", uri=uri),
        # The server asks for the limits while the first preview is requested.
        lambda made: made.rendering is None and reported in made.failure.message,
    )
    assert (made.failure.kind, made.failure.line) == (kind, 2), made.failure.message
    limited.replace(uri, tag, "{{ 1 + 1 }}")
    assert (await limited.command("preview", uri=uri)).rendering.string == "2"
    limited.close(uri)


async def test_a_text_that_replaces_a_runaway_does_not_wait_for_it(limited: Editor) -> None:
    limited.set_settings({"rendering": {"timeout": 600}})
    uri = limited.open("runaway.yml.j2", GOOD.replace("1 + 1", "range(10**15) | sum"))
    limited.replace(uri, "range(10**15) | sum", "2 + 2")
    assert (await limited.command("preview", uri=uri)).rendering.string == "4"
    limited.close(uri)


async def test_a_single_operation_that_takes_for_ever_is_stopped_as_well(limited: Editor) -> None:
    uri = limited.open("runaway.yml.j2", GOOD.replace("{{ 1 + 1 }}", "{% set n = 10 ** 9 %}{{ 7 ** n }}"))
    made = await limited.command("preview", uri=uri)
    assert made.failure.kind == "timeout"
    limited.replace(uri, "7 ** n", "7")
    assert (await limited.command("preview", uri=uri)).rendering.string == "7"
    limited.close(uri)


@pytest.mark.parametrize("letter", ["a", "=", "🙂", "漢"])
async def test_a_long_text_of_one_letter_is_previewed(code: Editor, letter: str) -> None:
    text = letter * (200_000 // len(letter.encode()))
    uri = code.open("long.yml.j2", f"- name: a\n  content: {text if letter != '=' else repr(text)}\n")
    made = await code.command("preview", uri=uri)
    assert made.rendering.string == text
    assert made.rendering.tokens > 0
    assert made.rendering.problems == []
    code.close(uri)
