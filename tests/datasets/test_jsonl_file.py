from __future__ import annotations

from pathlib import Path

import pytest

from promptls.datasets.dataset_files import open_dataset
from promptls.text.errors import UserError


def test_columns_are_the_keys_of_all_rows_and_values_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, "tags": ["a"]}\n\n{"id": 2, "note": "2026-01-01"}\n', encoding="utf-8")
    dataset = open_dataset(path)
    assert dataset.columns == ("id", "tags", "note")
    assert [(row.line, dict(row.values)) for row in dataset.rows()] == [
        (0, {"id": 1, "tags": ["a"], "note": None}),
        (2, {"id": 2, "tags": None, "note": "2026-01-01"}),
    ]


@pytest.mark.parametrize("line", ["{broken", "[1]"])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(UserError) as failure:
        open_dataset(path)
    assert failure.value.place.line == 1
