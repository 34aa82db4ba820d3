from __future__ import annotations

import random

import pytest

from promptls.syntax.jinja.file_blocks import blocks_across, blocks_around, blocks_inside
from promptls.syntax.source import Source
from promptls.text.positions import Span

ITEM = "- name: a\n  content: x\n"
PIECES = [
    "{% if x %}\n", "{% elif y %}\n", "{% else %}\n", "{% endif %}\n", "{% for a in b %}\n", "{% endfor %}\n",
    ITEM, "{% macro m() %}", "{% endmacro %}",
]  # fmt: skip


def found(source: Source) -> list[tuple[str, tuple[Span, ...], bool]]:
    inside = [
        block.shifted(start)
        for start, chunk in zip(source.starts, source.chunks, strict=False)
        for block in blocks_inside(chunk)
    ]
    return sorted(
        (block.keyword, block.tags, block.is_closed) for block in [*inside, *blocks_across(source.root)]
    )


def written(text: str) -> list[str]:
    return [
        " ".join([keyword, *(text[span.start : span.end] for span in tags), "" if closed else "open"]).strip()
        for keyword, tags, closed in found(Source.of(text))
    ]


def test_blocks_reach_over_parts_and_have_their_branches() -> None:
    text = f"{{% if x %}}\n{ITEM}{{% else %}}\n{ITEM}{{% endif %}}\n"

    assert written(text) == ["if {% if x %} {% else %} {% endif %}"]


def test_an_open_block_is_there_and_takes_nothing_from_the_blocks_around_it() -> None:
    text = f"{{% for a in b %}}\n{ITEM}{{% if x %}}\n{ITEM}{{% endfor %}}\n"

    assert written(text) == ["for {% for a in b %} {% endfor %}", "if {% if x %} open"]


@pytest.mark.parametrize("seed", range(8))
def test_blocks_do_not_depend_on_the_order_of_edits(seed: int) -> None:
    chance = random.Random(seed)
    source = Source.of("".join(chance.choices(PIECES, k=chance.choice([10, 80]))))
    for _ in range(25):
        start = chance.randrange(len(source) + 1)
        end = min(start + chance.choice([0, 0, 3, 30]), len(source))
        source = source.edited(Span(start, end), chance.choice([*PIECES, ""]))
        fresh = Source.of(source.text)
        assert found(source) == found(fresh)
        for offset in chance.choices(range(len(source) + 1), k=4):
            around = [block for block in blocks_across(source.root) if block.span.touches(offset)]
            assert list(blocks_around(source.root, offset)) == around
