"""Each character of a YAML value is traced to where libyaml read it, in every style."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from promptls.rendering.source_map.part_origins import scalar_bounds, scalar_runs
from support.example_counts import examples

LINES = st.lists(st.text("ab  \t:-#'\"\\é🙂\u2028\x85", max_size=8), min_size=1, max_size=6)
BREAKS = st.sampled_from(["\n", "\n", "\n\n", "\r\n", "\r", "\x85", "\u2028"])
HEADERS = st.sampled_from(
    ["|", ">", "|-", ">-", "|+", ">+", "|1", ">2", "|-2", ">+1", "| # note", "&a |", "!!str >"]
)


def check(text: str) -> None:
    """Check the source map of every value in `text`; texts that libyaml rejects are skipped."""
    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError):
        return
    for key, node in root.value if isinstance(root, yaml.MappingNode) else ():
        if isinstance(node, yaml.ScalarNode):
            first, last = scalar_bounds(text, node)
            runs = scalar_runs(text[first:last], node.value, node.style, key.start_mark.column)
            assert runs is not None, (node.style, node.value, text)
            assert [run.start for run in runs] == sorted(run.start for run in runs)
            assert all(run.start < run.end <= last - first for run in runs)


@examples(300)
@given(header=HEADERS, lines=LINES, end=BREAKS, indent=st.integers(1, 3), rest=st.booleans())
@example(header="|", lines=["   ", "  a", " b"], end="\n", indent=1, rest=True)
def test_block_scalars(header: str, lines: list[str], end: str, indent: int, rest: bool) -> None:
    body = end.join(" " * indent + line for line in lines)
    check(f"k: {header}\n{body}{end}" + ("z: 1\n" if rest else ""))


@examples(300)
@given(quote=st.sampled_from(["'", '"', ""]), lines=LINES, end=BREAKS)
@example(quote='"', lines=["a \\", " b\\x41\\u00e9\\U0001F642\\n"], end="\n")
def test_flow_scalars(quote: str, lines: list[str], end: str) -> None:
    body = f"{end}  ".join(lines)
    if quote == "'":
        body = body.replace("'", "''")
    check(f"k: {quote}{body}{quote}{end}z: 1\n")


@pytest.mark.parametrize(
    "text", ["\ufeffk: a b\n", "\ufeffk: |\n  a\n", "k: &x !!str\n  a\n  b\n", "{k: 'it''s', l: a }"]
)
def test_marks_and_properties_are_not_of_the_value(text: str) -> None:
    check(text)
