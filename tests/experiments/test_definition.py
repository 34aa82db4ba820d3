from __future__ import annotations

from pathlib import Path

import pytest

from promptls.experiments.experiment import override_values, with_engine
from promptls.experiments.manifest import prompt_stem
from promptls.text.errors import UsageError
from support.experiment_folder import Folder


def test_an_experiment_is_read_from_the_header(folder: Folder) -> None:
    experiment = folder.write(settings="temperature: 0.5").experiment()
    assert experiment.name == "main"
    assert experiment.dataset == folder.path / "rows.csv"
    assert [model.name for model in experiment.models] == ["echo"]
    assert experiment.parameters == {"temperature": 0.5}
    assert (experiment.input_keys, experiment.output_key) == (("text",), "answer")
    assert experiment.folder == folder.path / "experiments"


def test_unsaved_text_goes_before_the_file(folder: Folder) -> None:
    text = folder.prompt.read_text(encoding="utf-8").replace("main:", "other:")
    assert folder.experiment(unsaved={str(folder.prompt): text}).name == "other"


def test_the_caller_may_choose_models_concurrency_and_timeout(folder: Folder) -> None:
    experiment = override_values(folder.experiment(models=["openai:a", "echo"]), concurrency=9, timeout=1.5)
    assert [model.name for model in experiment.models] == ["openai:a", "echo"]
    assert (experiment.concurrency, experiment.timeout) == (9, 1.5)


def test_results_lie_in_the_root_of_a_project(folder: Folder) -> None:
    (folder.path / "promptls.toml").write_text("", encoding="utf-8")
    below = folder.path / "prompts"
    below.mkdir()
    prompt = folder.prompt.rename(below / folder.prompt.name)
    (folder.path / "rows.csv").rename(below / "rows.csv")
    from promptls.experiments.definition import define_experiment

    assert define_experiment(prompt).folder == folder.path / "experiments"


def test_an_experiment_of_the_project_reads_its_paths_from_the_root(folder: Folder) -> None:
    (folder.path / "promptls.toml").write_text(
        '[experiments.shared]\ndataset = "data/x.csv"\n', encoding="utf-8"
    )
    experiment = folder.experiment(name="shared")
    assert experiment.dataset == folder.path / "data" / "x.csv"
    assert [model.name for model in experiment.models] == ["local:smollm2"]


def test_a_missing_prompt_suggests_the_nearest(folder: Folder) -> None:
    folder.prompt.rename(folder.path / "asks.yml.j2")
    with pytest.raises(UsageError, match=r"does not exist; did you mean `asks\.yml\.j2`"):
        folder.experiment()


def test_a_prompt_without_an_experiment_says_what_to_write(folder: Folder) -> None:
    folder.prompt.write_text("- name: a\n  content: b\n", encoding="utf-8")
    with pytest.raises(UsageError, match="declares no experiment") as failure:
        folder.experiment()
    assert "experiments:" in failure.value.remedy
    assert "dataset:" in failure.value.remedy


def test_a_file_that_is_no_prompt_is_not_run(folder: Folder) -> None:
    folder.prompt.write_text("text,answer\na,b\n", encoding="utf-8")
    with pytest.raises(UsageError, match="not a prompt file"):
        folder.experiment()


def test_an_unknown_experiment_names_those_that_there_are(folder: Folder) -> None:
    with pytest.raises(UsageError, match="no experiment `mane`; did you mean `main`"):
        folder.experiment(name="mane")


def test_a_wrong_key_in_the_header_is_named_with_its_line(folder: Folder) -> None:
    folder.write(settings="concurency: 3")
    with pytest.raises(UsageError, match=r"concurency.*did you mean `concurrency`") as failure:
        folder.experiment()
    assert failure.value.place.line == 8


def test_an_unknown_model_is_named(folder: Folder) -> None:
    folder.write(model="local:smolm2")
    with pytest.raises(UsageError, match="there is no model `local:smolm2`") as failure:
        folder.experiment()
    assert failure.value.place.path == folder.prompt


def test_wrong_settings_are_named_with_their_line(folder: Folder) -> None:
    (folder.path / "promptls.toml").write_text('\nencodin = "x"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="no setting `encodin`; did you mean `encoding`") as failure:
        folder.experiment()
    assert failure.value.place.line == 1


@pytest.mark.parametrize(("name", "stem"), [("triage_v2.yml.j2", "triage_v2"), ("a.b.yaml.j2", "a.b")])
def test_runs_are_named_after_the_prompt_file(tmp_path: Path, name: str, stem: str) -> None:
    assert prompt_stem(tmp_path / name) == stem


@pytest.mark.parametrize(
    ("project", "settings", "expected"),
    [
        ("", "repeats: 1", ("local", None)),
        ('engine = "ray"\n[ray]\naddress = "head:6379"', "repeats: 1", ("ray", "head:6379")),
        ('engine = "ray"', "engine: local", ("local", None)),
        ("", "engine: ray", ("ray", None)),
    ],
)
def test_the_engine_is_that_of_the_experiment_else_of_the_project(
    project: str, settings: str, expected: tuple[str, str | None], folder: Folder
) -> None:
    folder.write(settings=settings)
    (folder.path / "promptls.toml").write_text(project, encoding="utf-8")
    experiment = folder.experiment()
    assert (experiment.engine, experiment.ray_address) == expected
    on_ray = with_engine(experiment, None, "other:6379")
    assert (on_ray.engine, on_ray.ray_address) == ("ray", "other:6379")
    assert with_engine(experiment, "local", None).engine == "local"
