"""A report of hostile runs is the same page as one of harmless runs, with other data."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser
from pathlib import Path

import pytest

from promptls.results_view.html_report import report_html
from support.finished_run import write_run

PAYLOADS = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "--><svg onload=alert(1)>",
    "</title><script>alert(1)</script>",
    "\"><iframe src='javascript:alert(1)'>",
    "[a](javascript:alert(1))",
    "</style><style>*{display:none}</style>",
    "\u2028alert(1)//",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "{{constructor.constructor('alert(1)')()}}",
)
COLUMNS = (
    "id",
    "text",
    "expected",
    "response",
    "exact_match",
    "exact_match_reason",
    "error",
    "model",
    "row_number",
)


class Elements(HTMLParser):
    """The elements of a page with their attributes, without script and data."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


def page_of(folder: Path, text: str) -> str:
    folder.mkdir()
    table = io.StringIO()
    csv.writer(table).writerows([COLUMNS, [text, text, text, text, "fail", text, "", text, "1"]])
    (folder / "rows.csv").write_text("id\n", "utf-8")
    run = write_run(
        folder / "ask.yml.j2",
        f"- name: {text!r}\n",
        table.getvalue(),
        experiment=text,
        dataset=folder / "rows.csv",
    )
    return report_html([run])


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_element_of_a_report_comes_from_its_data(tmp_path: Path, payload: str) -> None:
    hostile, harmless = page_of(tmp_path / "hostile", payload), page_of(tmp_path / "harmless", "text")
    assert Elements(hostile).found == Elements(harmless).found
    assert payload not in hostile
