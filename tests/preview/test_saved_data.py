from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from promptls.preview.saved_data import SavedData, saved_data, saved_truncation
from promptls.semantic.template import Template
from promptls.syntax.source import Source
from promptls.text.errors import UsageError
from promptls.workspace.workspace import Workspace

PARTS = "- name: question\n  role: user\n  content: '{{ text }}'\n"
DATA = {"text": "Hi\nthere"}


def prompt(folder: Path, header: str = "", **files: str) -> tuple[Workspace, str]:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, "utf-8")
    path = folder / "a.yml.j2"
    path.write_text(f"{{#---\n{header}---#}}\n{PARTS}" if header else PARTS, "utf-8")
    made = Workspace([folder], trusted=True)
    made.scan()
    return made, str(path)


def saved(
    made: tuple[Workspace, str], to: str, name: str | None = None, response: str | None = None
) -> SavedData:
    workspace, path = made
    return saved_data(
        workspace.snapshot, path, {"to": to, "data": DATA, "sample": name, "response": response}
    )


def header_of(text: str) -> Template:
    return Template(Source.of(text))


def test_a_first_sample_gets_a_file_that_the_header_names(tmp_path: Path) -> None:
    made = prompt(tmp_path)

    found = saved(made, "sample", "greeting")

    texts = {Path(path).relative_to(tmp_path).as_posix(): text for path, text in found.texts.items()}
    assert texts["samples/a.yml"] == "greeting:\n  text: |-\n    Hi\n    there\n"
    declared = header_of(texts["a.yml.j2"]).declarations
    assert (declared.settings.samples, [key.name for key in declared.inputs]) == (
        "samples/a.yml",
        ["text"],
    )
    assert texts["a.yml.j2"].endswith(PARTS)


@pytest.mark.parametrize(
    ("suffix", "before"),
    [
        ("yml", "# Kept.\nfirst:\n  text: One\n"),
        ("yml", "{first: {text: One}}\n"),
        ("json", '{"first": {"text": "One"}}'),
    ],
)
def test_a_further_sample_is_added_to_the_file(tmp_path: Path, suffix: str, before: str) -> None:
    made = prompt(tmp_path, f"samples: data.{suffix}\n", **{f"data__{suffix}": before})

    (text,) = saved(made, "sample", "second").texts.values()

    assert yaml.safe_load(text) == {"first": {"text": "One"}, "second": DATA}
    assert text.startswith("# Kept.") == before.startswith("# Kept.")


def test_a_file_with_one_sample_gets_names(tmp_path: Path) -> None:
    made = prompt(tmp_path, "samples: data.yml\n", data__yml="text: |\n  One\n  two\n")

    (text,) = saved(made, "sample", "second").texts.values()

    assert yaml.safe_load(text) == {"data": {"text": "One\ntwo\n"}, "second": DATA}


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    made = prompt(tmp_path, "samples: data.yml\n", data__yml="first: {text: One}\n")
    with pytest.raises(UsageError, match="a sample `first` already"):
        saved(made, "sample", "first")


@pytest.mark.parametrize(
    "examples",
    ["", "examples:\n  - text: One\n    answer: Two\n", "examples: [{text: One, answer: Two}]\n"],
)
def test_an_example_has_the_data_and_the_answer(tmp_path: Path, examples: str) -> None:
    made = prompt(tmp_path, f"input_keys: [text]\noutput_key: answer\n{examples}")

    (text,) = saved(made, "example", response="Hello.").texts.values()

    declarations = header_of(text).declarations
    assert declarations.problems == ()
    assert declarations.data["examples"][-1] == {**DATA, "answer": "Hello."}
    assert len(declarations.data["examples"]) == (2 if examples else 1)


def test_a_first_example_declares_the_output_key_that_its_answer_needs(tmp_path: Path) -> None:
    made = prompt(tmp_path, "input_keys: [text]\n")

    (text,) = saved(made, "example", response="Hello.").texts.values()

    declarations = header_of(text).declarations
    assert declarations.problems == ()
    assert declarations.settings.output_key == "answer"
    assert declarations.data["examples"] == [{**DATA, "answer": "Hello."}]


def test_an_example_beside_others_without_answers_says_that_it_has_none(tmp_path: Path) -> None:
    made = prompt(tmp_path, "input_keys: [text]\nexamples:\n  - text: One\n")

    found = saved(made, "example", response="Hello.")

    (text,) = found.texts.values()
    assert header_of(text).declarations.data["examples"] == [{"text": "One"}, DATA]
    assert found.message.endswith(", without the answer, because the header has no `output_key`.")


def test_an_answer_in_json_is_an_object_in_the_example(tmp_path: Path) -> None:
    made = prompt(tmp_path, "input_keys: [text]\noutput_key: answer\n")

    (text,) = saved(made, "example", response='{"label": "A"}').texts.values()

    assert header_of(text).declarations.data["examples"] == [{**DATA, "answer": {"label": "A"}}]


EXPERIMENT = "experiments:\n  answers: {dataset: rows.SUFFIX, models: [echo]}\n"


@pytest.mark.parametrize(
    ("suffix", "before", "added"),
    [
        ("csv", "id,text,expected\n1,One,Two", '\n2,"Hi\nthere",Hello.\n'),
        ("jsonl", '{"text": "One", "expected": "Two"}\n', '{"text": "Hi\\nthere", "expected": "Hello."}\n'),
    ],
)
def test_a_row_is_added_to_the_dataset(tmp_path: Path, suffix: str, before: str, added: str) -> None:
    made = prompt(tmp_path, EXPERIMENT.replace("SUFFIX", suffix), **{f"rows__{suffix}": before})

    (text,) = saved(made, "dataset", response="Hello.").texts.values()

    assert text == before + added


def test_a_dataset_without_the_column_is_named(tmp_path: Path) -> None:
    made = prompt(tmp_path, EXPERIMENT.replace("SUFFIX", "csv"), rows__csv="id,question\n1,One\n")
    with pytest.raises(UsageError, match="no column `text`"):
        saved(made, "dataset")


def test_rows_of_other_formats_are_refused(tmp_path: Path) -> None:
    made = prompt(tmp_path, EXPERIMENT.replace("SUFFIX", "json"), rows__json=json.dumps([{"text": "One"}]))
    with pytest.raises(UsageError, match=r"`\.csv` and `\.jsonl`"):
        saved(made, "dataset")


def test_a_prompt_without_an_experiment_gets_one_over_its_samples(tmp_path: Path) -> None:
    workspace, path = prompt(
        tmp_path, "samples: data.yml\n", data__yml="first: {text: One}\nsecond: {text: Two}\n"
    )

    texts = saved_data(workspace.snapshot, path, {"to": "experiment"}).texts

    declared = header_of(texts[path]).declarations
    assert declared.problems == ()
    assert declared.settings.experiments is not None
    assert declared.settings.experiments["answers"].dataset == "datasets/a.csv"
    assert texts[str(tmp_path / "datasets" / "a.csv")] == "text,expected\nOne,\nTwo,\n"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", "token_limit: 300\ntruncation_step: 20\n"),
        ("token_limit: 5 # tight\ntruncation_step: 1\n", "token_limit: 300 # tight\ntruncation_step: 20\n"),
        ("encoding: a\ntruncation_step:\n", "encoding: a\ntruncation_step: 20\ntoken_limit: 300\n"),
        ("{token_limit: 5, encoding: a}\n", "{token_limit: 300, encoding: a, truncation_step: 20}\n"),
        (
            "  encoding: a\n  # the end\n",
            "  encoding: a\n  token_limit: 300\n  truncation_step: 20\n  # the end\n",
        ),
        ("name: |+\n  a\n\n", "name: |+\n  a\n\ntoken_limit: 300\ntruncation_step: 20\n"),
        ("{encoding: a}\n", "{encoding: a, token_limit: 300, truncation_step: 20}\n"),
    ],
)
def test_a_limit_and_a_step_replace_those_of_the_header(tmp_path: Path, header: str, expected: str) -> None:
    workspace, path = prompt(tmp_path, header)

    (text,) = saved_truncation(workspace.snapshot, path, {"limit": 300, "step": 20}).texts.values()

    declared = header_of(text).declarations
    assert (declared.settings.token_limit, declared.settings.truncation_step) == (300, 20)
    assert expected in text
    assert text.endswith(PARTS)
