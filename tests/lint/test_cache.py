"""A session of edits gives the same findings with the cache as without it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_kept_findings import (
    EVALUATION,
    HEADER,
    OBJECT,
    PARTS,
    PATH,
    SECTION,
    TYPED,
    WRITTEN,
    workspace_with,
)

from promptls.lint.runner import check
from promptls.syntax.facts import turned_off
from promptls.text.positions import Span
from support.example_counts import examples

pytestmark = pytest.mark.thorough


@given(
    st.sampled_from((HEADER + "".join(PARTS), "".join(PARTS * 3), OBJECT, EVALUATION)),
    st.data(),
)
@examples(60)
def test_a_session_finds_the_same_with_and_without_the_cache(text: str, data: st.DataObject) -> None:
    workspace, uncached = workspace_with(text), workspace_with(text)
    for version in range(2, 14):
        path = data.draw(st.sampled_from((PATH, PATH, PATH, SECTION)))
        length = len(workspace.snapshot.open_files[path].template.source)
        start = data.draw(st.integers(0, length))
        end = min(length, start + data.draw(st.sampled_from((0, 0, 0, 1, 5))))
        typed = data.draw(st.sampled_from((*TYPED, *WRITTEN)))
        for each in (workspace, uncached):
            each.edit(path, version, [(Span(start, end), typed)])

        for file in (PATH, SECTION):
            cached = check(workspace.snapshot, file)
            with turned_off():
                assert check(uncached.snapshot, file) == cached
