"""The samples of a prompt file: the default one, and the names of all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.rendering.samples import default_sample, row_samples, sample_names, samples_of
from promptls.workspace.workspace import Workspace

PART = "- name: a\n  content: {{ x }}\n"
EXAMPLES = "examples: [{x: 1, y: a}, {x: 2, y: b}]\noutput_key: y\n"
EXPERIMENT = "experiments: {e: {dataset: rows.jsonl, models: [echo], metrics: []}}\n"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("", "placeholders"),
        ("samples: both.json\n", "first"),
        ("samples: one.json\n" + EXAMPLES, "one"),
        (EXAMPLES, "example 1"),
        (EXPERIMENT, "row 1"),
        (EXAMPLES + EXPERIMENT, "example 1"),
    ],
)
def test_the_default_one_is_the_first_of_all_that_are_named(tmp_path: Path, header: str, name: str) -> None:
    (tmp_path / "both.json").write_text(json.dumps({"first": {"x": 1}, "second": {"x": 2}}))
    (tmp_path / "one.json").write_text(json.dumps({"x": 1}))
    (tmp_path / "rows.jsonl").write_text('{"x": 1}\n{"x": 2}\n')
    path = str(tmp_path / "a.yml.j2")
    workspace = Workspace([tmp_path])
    workspace.open(path, f"{{#---\n{header}---#}}\n{PART}", 1)
    samples = samples_of(workspace.snapshot, path)

    assert default_sample(workspace.snapshot, path) == samples[0]
    assert sample_names(workspace.snapshot, path) == tuple((each.name, each.source) for each in samples)
    assert samples[0].name == name


def test_a_samples_file_that_changes_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    path = str(tmp_path / "a.yml.j2")
    workspace = Workspace([tmp_path])
    workspace.open(path, f"{{#---\nsamples: one.json\n---#}}\n{PART}", 1)

    for value in ("short", "a longer one"):
        file.write_text(json.dumps({"x": value}))
        assert default_sample(workspace.snapshot, path).data == {"x": value}


def test_a_name_of_a_sample_that_is_read_like_an_input_is_still_a_name(tmp_path: Path) -> None:
    (tmp_path / "both.json").write_text('{"free": {"plan": "free", "text": "a"}, "paid": {"plan": "b"}}')
    path = str(tmp_path / "a.yml.j2")
    workspace = Workspace()
    workspace.open(
        path,
        "{#---\nsamples: both.json\n---#}\n- name: a\n  content: '{{ text }}{{ plan == free }}'\n",
        1,
    )

    assert [sample.name for sample in samples_of(workspace.snapshot, path)][:2] == ["free", "paid"]


def test_a_row_has_values_of_the_declared_types(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"x": '["a"]', "y": "2"}))
    path = str(tmp_path / "a.yml.j2")
    workspace = Workspace([tmp_path])
    workspace.open(path, f"{{#---\ninput_keys: {{x: {{type: array}}}}\n{EXPERIMENT}---#}}\n{PART}", 1)

    assert [each.data for each in row_samples(workspace.snapshot, path)] == [{"x": ["a"], "y": "2"}]
