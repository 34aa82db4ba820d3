"""The rules about experiments, with the files that experiments use on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.datasets.dataset_files import known_columns, rows_by_values
from promptls.workspace.python_functions import names_of_module
from support.fixture import check_findings


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xef\xbb\xbftext,expected\na,b\n", None),
        (b"text,expected\r\na,b\r\n", None),
        (b"\xef\xbb\xbf", "`a.csv` cannot be read: the dataset is empty"),
        (
            "text,expected\ncaf\u00e9,b\n".encode("latin-1"),
            "`a.csv` cannot be read: the dataset is not UTF-8: byte 0xe9 is not valid there",
        ),
        (
            "text,expected\na,b\n".encode("utf-16"),
            "`a.csv` cannot be read: the dataset is not UTF-8: byte 0xff is not valid there",
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
