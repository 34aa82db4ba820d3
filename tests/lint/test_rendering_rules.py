from __future__ import annotations

from dataclasses import replace

from promptls.lint.rule import Finding
from promptls.lint.runner import check_rendering
from promptls.rendering.file_rendering import FileRendering, RowTokens
from support.fixture import opened
from support.rendered import rendered

MAIN = "/project/main.yml.j2"


def example(data: str) -> str:
    """Return a header with one example, so that the data is not a placeholder."""
    return f"{{#---\ninput_keys: [x]\noutput_key: y\nexamples: [{{x: {data}, y: 1}}]\n---#}}\n"


# -- rows -----------------------------------------------------------------------------------

LIMITED = "{#---\ntoken_limit: 4\ntruncation_step: 1\n---#}\n- name: a\n  content: one two\n"


def found_with(rows: RowTokens, text: str = LIMITED) -> tuple[Finding, ...]:
    snapshot, _ = opened(text)
    return check_rendering(snapshot, MAIN, replace(rendered(snapshot, MAIN), rows=rows))


def test_rows_over_the_limit_are_reported() -> None:
    (finding,) = found_with(RowTokens("d.csv", rows=20, over=(3, 4), stuck=(4,), maximum=9))

    assert finding.severity == "warning"
    assert finding.message == (
        "2 of 20 rows of d.csv are over its limit of 4 tokens, the longest by 5, 1 even after truncation"
    )


def test_rows_that_truncation_brings_under_the_limit_are_a_remark() -> None:
    (finding,) = found_with(RowTokens("d.csv", rows=20, over=(3,), stuck=(), maximum=9))

    assert (finding.severity, finding.message) == (
        "information",
        "row 3 of d.csv is over its limit of 4 tokens, by 5; truncation brings it under",
    )


def test_rows_under_the_limit_are_fine() -> None:
    assert found_with(RowTokens("d.csv", rows=20, over=(), stuck=(), maximum=4)) == ()


def test_a_rendering_of_a_former_text_says_nothing() -> None:
    snapshot, _ = opened(LIMITED)
    old: FileRendering = rendered(snapshot, MAIN)
    edited, _ = opened(LIMITED.replace("4", "1"))

    assert check_rendering(edited, MAIN, old) == ()


def test_a_comment_suppresses_what_a_rendering_shows() -> None:
    text = example('"a: b"') + "- name: a\n  content: {{ x }} {# promptls: ignore[rendered-yaml] ours #}\n"
    snapshot, _ = opened(text)

    assert check_rendering(snapshot, MAIN, rendered(snapshot, MAIN)) == ()
