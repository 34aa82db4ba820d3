"""`Dataset`: named rows, and the backends that store them."""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from promptls import Backend, Dataset
from promptls.datasets.backends import backend_names
from promptls.text.errors import UsageError, UserError

HAS_PYARROW = importlib.util.find_spec("pyarrow") is not None
HAS_PANDAS = importlib.util.find_spec("pandas") is not None
ROWS: list[dict[str, Any]] = [{"id": "1", "text": 'a, "b"\nc'}, {"id": "2", "text": "é", "more": "x"}]
LOCAL = [
    "local/csv",
    "local/jsonl",
    "local/json",
    pytest.param("local/parquet", marks=pytest.mark.skipif(not HAS_PYARROW, reason="no pyarrow")),
]


@pytest.mark.parametrize("backend", LOCAL)
def test_rows_come_back_from_files_though_their_columns_differ(backend: str, tmp_path: Path) -> None:
    dataset = Dataset(name="my_eval_v1.2", backend=backend, root_dir=tmp_path)
    for row in ROWS:
        dataset.append(row)
    assert not (tmp_path / "datasets").exists()
    dataset.save()
    loaded = Dataset.load(name="my_eval_v1.2", backend=backend, root_dir=tmp_path)
    assert [{key: value for key, value in row.items() if value} for row in loaded] == ROWS
    streamed = Dataset.stream("my_eval_v1.2", backend, root_dir=tmp_path)
    assert list(streamed) == list(streamed) == list(loaded)
    assert dataset.backend.list_datasets() == ["my_eval_v1.2"]


@pytest.mark.parametrize("backend", LOCAL)
def test_an_empty_data_set_comes_back_empty(backend: str, tmp_path: Path) -> None:
    Dataset("none", backend, root_dir=tmp_path).save()
    assert len(Dataset.load("none", backend, root_dir=tmp_path)) == 0


@pytest.mark.parametrize("backend", ["local/jsonl", "local/json"])
def test_json_keeps_types_and_takes_no_text_for_a_date(backend: str, tmp_path: Path) -> None:
    row = {"number": 1.5, "none": None, "list": [1, {"a": True}], "text": "2024-01-01"}
    Dataset("typed", backend, root_dir=tmp_path, data=[{**row, "day": dt.date(2024, 1, 2)}]).save()
    assert list(Dataset.load("typed", backend, root_dir=tmp_path)) == [{**row, "day": "2024-01-02"}]


def test_csv_stores_lists_and_mappings_as_json(tmp_path: Path) -> None:
    row = {"metadata": {"complexity": "simple"}, "none": None, "flag": True}
    Dataset("d", "local/csv", root_dir=tmp_path, data=[row]).save()
    (loaded,) = Dataset.load("d", "local/csv", root_dir=tmp_path)
    assert json.loads(loaded["metadata"]) == {"complexity": "simple"}
    assert (loaded["none"], loaded["flag"]) == ("", "True")


def test_memory_is_shared_by_the_process() -> None:
    Dataset("shared", "inmemory", data=ROWS).save()
    assert list(Dataset.load("shared", "inmemory")) == ROWS


@pytest.mark.parametrize("backend", ["local/csv", "inmemory"])
def test_what_is_not_there_is_a_file_not_found_error_that_says_what_is(backend: str, tmp_path: Path) -> None:
    options = {"root_dir": tmp_path} if backend.startswith("local") else {}
    Dataset("tickets", backend, data=ROWS, **options).save()
    with pytest.raises(FileNotFoundError) as caught:
        Dataset.load("tickts", backend, **options)
    failure = caught.value
    assert isinstance(failure, UsageError)
    if options:
        assert failure.remedy == "did you mean `tickets`?"


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "", "a/../../b"])
def test_a_name_cannot_lead_out_of_its_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not the name of a dataset"):
        Dataset(name, "local/csv", root_dir=tmp_path, data=ROWS).save()


@pytest.mark.parametrize(
    ("backend", "options", "said"),
    [
        ("local/cvs", {}, r"did you mean `local/csv`"),
        ("local/csv", {}, "missing 1 required positional argument: 'root_dir'"),
        (5, {}, "int is not a backend"),
    ],
)
def test_a_back_end_that_cannot_be_had_is_a_value_error(backend: Any, options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Dataset("d", backend, **options)


def test_rows_can_be_of_a_model(tmp_path: Path) -> None:
    class Ticket(BaseModel):
        id: int
        text: str = ""

    Dataset("d", "local/csv", root_dir=tmp_path, data=[{"id": "7"}]).save()
    loaded = Dataset.load("d", "local/csv", Ticket, root_dir=tmp_path)
    assert loaded[0] == Ticket(id=7)
    with pytest.raises(ValidationError):
        loaded.append({"id": "x"})
    with pytest.raises(TypeError, match="a row is a Ticket or a mapping"):
        loaded.append(5)
    with pytest.raises(TypeError, match="a row must be a mapping"):
        Dataset("d").append(5)


def test_a_split_leaves_the_rows_as_they_are() -> None:
    dataset = Dataset("d", data=[{"id": index} for index in range(10)])
    train, test = dataset.train_test_split(test_size=0.2, random_state=3)
    assert (train.name, test.name, len(train), len(test)) == ("d_train", "d_test", 8, 2)
    assert [row["id"] for row in dataset] == list(range(10))
    assert sorted(row["id"] for row in [*train, *test]) == list(range(10))


def test_a_back_end_of_ones_own_needs_nothing_but_the_methods() -> None:
    kept: dict[str, list[dict[str, Any]]] = {}

    class Mine(Backend):
        def load_dataset(self, name: str) -> list[dict[str, Any]]:
            return kept[name]

        def save_dataset(self, name: str, data: list[dict[str, Any]], data_model: Any = None) -> None:
            assert data_model is None
            kept[name] = data

        def list_datasets(self) -> list[str]:
            return sorted(kept)

        load_experiment = load_dataset
        save_experiment = save_dataset
        list_experiments = list_datasets

    Dataset("d", Mine(), data=ROWS).save()
    assert list(Dataset.load("d", Mine())) == ROWS


def test_a_package_can_register_a_back_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "other-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: other\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[promptls.backends]\nother/memory = other_backend:make\n")
    (tmp_path / "other_backend.py").write_text(
        "from promptls.datasets.backends import InMemory\nclass make(InMemory):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert "other/memory" in backend_names()
    Dataset("theirs", "other/memory", data=ROWS).save()
    assert list(Dataset.load("theirs", "other/memory")) == ROWS


@pytest.mark.skipif(not HAS_PANDAS, reason="no pandas")
def test_data_frames_of_pandas_come_and_go(tmp_path: Path) -> None:
    frame = Dataset("d", data=[{"a": 1, "b": "x"}]).to_pandas()
    again = Dataset.from_pandas(frame, "d", "local/jsonl", root_dir=tmp_path)
    again.save()
    assert list(Dataset.load("d", "local/jsonl", root_dir=tmp_path)) == [{"a": 1, "b": "x"}]


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ('{"a": 1}', "not a list of objects", 0),
        ('[{"a": 1},\n 5]', "an item is not a JSON object", 1),
        ('[{"a": 1}\n {"b": 2}]', "not valid JSON from here on", 1),
        ('[\n{"a": 1},\n{"b"}]', "not valid JSON from here on", 2),
        ("[{}", "not valid JSON from here on", 0),
    ],
)
def test_json_that_is_no_list_of_objects_fails_at_its_place(
    text: str, said: str, line: int, tmp_path: Path
) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "d.json").write_text(text)
    with pytest.raises(UserError, match=said) as caught:
        Dataset.load("d", "local/json", root_dir=tmp_path)
    assert caught.value.place is not None
    assert caught.value.place.line == line
