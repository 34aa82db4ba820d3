"""What the rules about experiments say, with the files that experiments name on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.datasets.known import known_columns, rows_by_values
from promptls.workspace.module_names import names_of_module
from support.cases import cases
from support.fixture import MAIN, check_findings, check_fix, parse

CASES = cases("experiments")
UNUSUAL = cases("unusual_experiments") | cases("unusual_headers")
RULES = {
    "unknown-dataset",
    "missing-dataset-column",
    "unknown-metric",
    "unknown-model",
    "example-in-dataset",
    "invalid-sample",
    "reserved-input",
}


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES)
@pytest.mark.parametrize("rule", sorted(RULES))
def test_experiments_are_checked(fixture: str, rule: str, tmp_path: Path) -> None:
    lines = fixture.splitlines(keepends=True)
    others = [f"^ {other}:" for other in RULES - {rule}]
    of_rule = [line for line in lines if not any(other in line for other in others)]

    check_findings("".join(of_rule), rule, tmp_path)


@pytest.mark.parametrize("fixture", UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_declared_is_checked_however_it_is_written(fixture: str, tmp_path: Path) -> None:
    lines = fixture.splitlines(keepends=True)
    for rule in sorted(RULES | {"invalid-header"}):
        others = [f"^ {other}:" for other in (RULES | {"invalid-header"}) - {rule}]
        of_rule = [line for line in lines if not any(other in line for other in others)]
        check_findings("".join(of_rule), rule, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xef\xbb\xbftext,expected\na,b\n", None),
        (b"text,expected\r\na,b\r\n", None),
        (b"\xef\xbb\xbf", "`a.csv` cannot be read: the data set is empty"),
        (
            "text,expected\ncaf\u00e9,b\n".encode("latin-1"),
            "`a.csv` cannot be read: the data set is not UTF-8: byte 0xe9 is not valid there",
        ),
        (
            "text,expected\na,b\n".encode("utf-16"),
            "`a.csv` cannot be read: the data set is not UTF-8: byte 0xff is not valid there",
        ),
    ],
)
def test_a_data_set_is_read_in_its_encoding(content: bytes, message: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    mark = f"           ^^^^^ unknown-dataset: {message}\n" if message else ""

    check_findings(
        "{#---\ninput_keys: [text]\nexperiments:\n  t:\n    metrics: [exact_match]\n"
        f"    dataset: a.csv\n{mark and '  ' + mark}---#}}\n- name: a\n  content: {{{{ text }}}}\n",
        "unknown-dataset",
        tmp_path,
    )


def test_an_example_is_known_in_a_data_set_with_other_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'text,label\r\n"one\r\ntwo",x\r\n')

    check_findings(
        "{#---\ninput_keys: [text]\noutput_key: label\nexamples:\n  - text: |\n    ^^^^ example-in-dataset\n"
        "      one\n      two\n    label: x\nexperiments: {t: {dataset: a.csv}}\n---#}\n"
        "- name: a\n  content: {{ text }}\n",
        "example-in-dataset",
        tmp_path,
    )


FIXES = {
    "{model: echo}": "{models: [echo]}",
    "{models: echo}": "{models: [echo]}",
    "{models: [openai/gpt-4o]}": "{models: [openai:gpt-4o]}",
    "{models: ['openai: gpt-4o']}": "{models: ['openai:gpt-4o']}",
    "{metrics: [metrics::plain]}": "{metrics: [metrics.py:plain]}",
    "{metrics: ['metrics.py:tone']}": "{metrics: ['metrics.py:tone_metric']}",
    "{metrics: ['metrics.py:plain'], thresholds: {metrics.py:plain: 1}}": (
        "{metrics: ['metrics.py:plain'], thresholds: {plain: 1}}"
    ),
    "{json_schema: {type: [string, nul]}}": "{json_schema: {type: [string, 'null']}}",
}


@pytest.mark.parametrize("written", FIXES)
def test_a_mistake_in_an_experiment_is_mended(written: str, tmp_path: Path) -> None:
    def prompt(experiment: str) -> str:
        return (
            "-- t.csv --\ntext,expected\n-- metrics.py --\ndef plain(response): ...\n"
            '@discrete_metric(name="tone")\ndef tone_metric(response): ...\n'
            f"-- {MAIN} --\n{{#---\nexperiments:\n  t: {{dataset: t.csv, {experiment[1:]}\n---#}}\n"
            "- name: a\n  content: {{ text }}\n"
        )

    check_fix(prompt(written), prompt(FIXES[written]), root=tmp_path)
    check_findings(prompt(FIXES[written]), None, tmp_path)


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("models: [local:smollm]", "models: [local:smollm2]"),
        ("metrics: ['exact_mach']", "metrics: ['exact_match']"),
        ('dataset: "ticket.csv"', 'dataset: "tickets.csv"'),
    ],
)
def test_what_is_meant_can_be_taken(named: str, meant: str, tmp_path: Path) -> None:
    def prompt(line: str) -> str:
        dataset = "" if "dataset" in line else "    dataset: tickets.csv\n"
        return (
            f"-- tickets.csv --\ntext,expected\n-- {MAIN} --\n{{#---\ninput_keys: [text]\nexperiments:\n"
            f"  triage:\n{dataset}    {line}\n---#}}\n- name: a\n  content: {{{{ text }}}}\n"
        )

    assert parse(prompt(meant))
    check_fix(prompt(named), prompt(meant), root=tmp_path)


def test_a_data_set_is_read_again_only_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("text,label\none,x\n")

    first = known_columns(file)
    rows = rows_by_values(file, ("text",))

    assert first.columns == ("text", "label")
    assert known_columns(file) is first
    assert rows_by_values(file, ("text",)) is rows
    assert rows["one",].number == 1
    file.write_text("text,other,third\n two ,y,z\n")
    assert known_columns(file).columns == ("text", "other", "third")
    assert rows_by_values(file, ("text",)).keys() == {("two",)}
    file.unlink()
    assert known_columns(file).failure is not None
    assert rows_by_values(file, ("text",)) == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def a(): ...\nclass B: ...\nimport c.d, e as f\nfrom g import h as i\n", {"a", "B", "c", "f", "i"}),
        (
            "try:\n    x = 1\nexcept ValueError:\n    y: int = 2\nelse:\n    (p, *q) = z\n",
            {"x", "y", "p", "q"},
        ),
        ("with open('f') as w:\n    for k in w:\n        v = k\n", {"w", "k", "v"}),
        ("match 1:\n    case 1:\n        m = 2\n", {"m"}),
        ("from a import *\n", None),
        ("globals()['x'] = 1\n", None),
        ("def __getattr__(name): ...\n", None),
        ("def broken(:\n", None),
    ],
)
def test_the_names_of_a_module_are_read(source: str, names: set[str] | None, tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(source)

    found = names_of_module(str(file))

    assert found == names
