"""A schema or pattern of a folder downloads nothing and ends in time."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.datasets.dataset_files import Row
from promptls.experiments.prompt_runner import AnswerCheck
from promptls.experiments.row_choice import parse_rows
from promptls.metrics.builtin_structure import schema_validity
from promptls.metrics.builtin_text import regex_match
from promptls.rendering.file_rendering import NamePattern
from promptls.semantic.types.schemas import SchemaCheck, UndecidedError, UnusableSchemaError, schema_fault
from promptls.text.errors import UsageError
from promptls.text.patterns import PatternError, search_pattern

ENDLESS = "(a|a)*$"
TEXT = "a" * 60 + "!"
DEEP_ANSWER: Any = {"a" * 60 + "!": 1}

PROMPT = """\
{#---
input_keys: [text]
output_key: answer
experiments:
  main:
    dataset: rows.csv
    models: [echo]
    metrics: [mine]
encoding: cl100k_base
---#}
- name: question
  role: user
  content: |
    {{ text }}
"""


@contextmanager
def canary_server() -> Iterator[tuple[str, list[str]]]:
    seen: list[str] = []

    class Canary(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Canary)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()


def run_with(folder: Path, metric: str, answer: str) -> dict[str, str]:
    """Return the row of a run of the echo model with one metric."""
    (folder / "ask.yml.j2").write_text(PROMPT, "utf-8")
    (folder / "promptls.toml").write_text(f"[metrics.mine]\n{metric}\n", "utf-8")
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["text"], [answer]])
    subprocess.run(
        [sys.executable, "-m", "promptls", "run", "ask.yml.j2", "--yes"],
        cwd=folder,
        capture_output=True,
        timeout=240,
        check=False,
    )
    [results] = (folder / "experiments").glob("*.csv")
    with results.open(encoding="utf-8", newline="") as stream:
        [row] = csv.DictReader(stream)
    return row


def test_a_run_does_not_fetch_what_a_schema_refers_to(tmp_path: Path) -> None:
    with canary_server() as (address, seen):
        metric = f'use = "schema_validity"\nschema = {{"$ref" = "{address}/schema"}}'
        row = run_with(tmp_path, metric, '{"a": 1}')
    assert seen == []
    assert row["mine"] == ""
    assert f"the schema refers to `{address}/schema`" in row["mine_reason"]


@pytest.mark.parametrize(
    "metric",
    [
        f'use = "regex_match"\npattern = "{ENDLESS}"',
        f'use = "schema_validity"\nschema = {{pattern = "{ENDLESS}"}}',
    ],
)
def test_a_pattern_that_never_ends_is_the_failure_of_a_row(tmp_path: Path, metric: str) -> None:
    row = run_with(tmp_path, metric, json.dumps(TEXT))
    assert row["mine"] == ""
    assert "took too long" in row["mine_reason"]


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": ENDLESS},
        {"$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"pattern": ENDLESS}]},
        {"allOf": [{"$schema": "http://json-schema.org/draft-07/schema#", "pattern": ENDLESS}]},
        {"allOf": [{"$schema": "http://json-schema.org/draft-04/schema#", "allOf": [{"pattern": ENDLESS}]}]},
    ],
)
def test_a_pattern_in_any_dialect_ends_in_time(schema: dict[str, Any]) -> None:
    with pytest.raises(UndecidedError, match="took too long"):
        SchemaCheck(schema).errors(TEXT)
    assert schema_fault(TEXT, schema) == ("", ())


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {ENDLESS: False}},
        {"patternProperties": {ENDLESS: {}}, "additionalProperties": False},
        {"patternProperties": {ENDLESS: {}}, "unevaluatedProperties": False},
        {
            "$schema": "https://json-schema.org/draft/2019-09/schema",
            "patternProperties": {ENDLESS: {}},
            "unevaluatedProperties": False,
        },
        {"propertyNames": {"pattern": ENDLESS}},
    ],
)
def test_a_pattern_of_property_names_ends_in_time(schema: dict[str, Any]) -> None:
    with pytest.raises(UndecidedError):
        SchemaCheck(schema).errors(DEEP_ANSWER)


def test_references_that_double_at_each_level_end_in_time() -> None:
    levels: dict[str, Any] = {
        f"l{level}": {"allOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2} for level in range(40)
    }
    schema = {"$defs": {**levels, "l40": {}}, "$ref": "#/$defs/l0"}
    with pytest.raises(UndecidedError, match="took too long"):
        SchemaCheck(schema).errors(1)


def test_unique_items_are_found_in_one_pass() -> None:
    check = SchemaCheck({"uniqueItems": True})
    many: list[Any] = [{"n": index} for index in range(50_000)]
    assert check.errors(many) == []
    assert check.errors([{"a": 1}, {"a": 1.0}])
    assert check.errors([{"a": True}, {"a": 1}, [True], [1], 0, False]) == []


def test_an_answer_that_cannot_be_checked_says_why() -> None:
    problem = AnswerCheck(is_json=True, schema={"pattern": ENDLESS}).problem(json.dumps(TEXT))
    assert problem is not None
    assert "took too long" in problem


def test_a_schema_that_refers_elsewhere_is_unusable() -> None:
    with pytest.raises(UnusableSchemaError, match="nothing is fetched"):
        SchemaCheck({"$ref": "file:///etc/passwd"}).errors(1)


def test_pattern_keywords_say_the_same_as_before() -> None:
    schema = {
        "properties": {"id": {"pattern": "^[0-9]+$"}},
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": False,
    }
    assert schema_fault({"id": "1", "x-a": "b"}, schema) == ("", ())
    assert schema_fault({"id": "a"}, schema) == ("'a' does not match '^[0-9]+$'", ("id",))
    assert schema_fault({"x-a": 1}, schema) == ("1 is not of type 'string'", ("x-a",))
    assert schema_fault({"y": 1}, schema)[0].startswith("Additional properties are not allowed ('y'")
    assert schema_validity.score(response='{"y": 1}', schema=schema).value == "fail"


@pytest.mark.parametrize(
    "pattern",
    [
        "((a{1000}){1000}){1000}",
        "(?:" * 30 + "a" + "+)+" * 30,
        "(a)(?(1)(?:b{1000}){1000}|c)",
        "a" * 100_000,
        "(" * 4_000 + "a" + ")" * 4_000,
        "(?x)a{ 99999 }{ 99999 }",
        "a{99999999999}",
        "(",
    ],
)
def test_a_pattern_too_large_to_compile_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        search_pattern(pattern, "a")
    assert regex_match.score(response="a", pattern=pattern).value is None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$", "2026-01-02T03:04:05.678Z"),
        (r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$", "01234567-89ab-cdef-0123-456789abcdef"),
        (r"^(?:[a-z]+(?:-[a-z]+)*)(?:,(?:[a-z]+(?:-[a-z]+)*))*$", "a-b,c-d"),
        (r"(?i)\bP[0-3]\b", "priority p2"),
    ],
)
def test_usual_patterns_are_searched(pattern: str, text: str) -> None:
    assert search_pattern(pattern, text) is not None
    assert search_pattern(pattern, "-") is None


@pytest.mark.parametrize(
    "condition",
    [
        "'a' * 10 ** 10 == text",
        "'%10000000000d' % 1 == text",
        "10 ** 10 ** 10 == 1",
        "text.center(10 ** 3 * 10 ** 8) == text",
        "text | center(1000000000) == text",
        "text.replace('', text) == text",
        "text.format(text) == text",
        "range(10 ** 3 * 10 ** 6) | length == 1",
    ],
)
def test_a_condition_makes_no_long_text_of_a_short_one(condition: str) -> None:
    with pytest.raises(UsageError):
        list(parse_rows(condition).of([Row(1, 1, {"text": "a"})]))


def test_a_range_of_very_many_rows_is_refused() -> None:
    with pytest.raises(UsageError, match="more than 1,000,000 rows"):
        parse_rows("1-999999999999")


@given(st.lists(st.text("ab\n", max_size=3), min_size=1, max_size=5), st.text("ab\n", max_size=9))
def test_a_computed_name_fits_as_a_regular_expression_would(pieces: list[str], name: str) -> None:
    import re

    expected = re.fullmatch(".*".join(map(re.escape, pieces)), name, re.DOTALL) is not None
    assert NamePattern(tuple(pieces)).fits(name) is expected


def test_a_computed_name_of_many_pieces_is_compared_at_once() -> None:
    assert not NamePattern(("a",) * 200 + ("b",)).fits("a" * 20_000)
