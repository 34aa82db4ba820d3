"""The worker's rendering of an evaluation prompt: rows, examples, layouts and failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from promptls.rendering.execute import execute
from promptls.rendering.job import RenderJob
from promptls.rendering.make import COMPARING_SECONDS, job_for, limits_for
from promptls.rendering.outcome import RenderFailure, Rendering, packed_outcome, unpacked_outcome
from promptls.rendering.samples import evaluation_job, row_sample, samples_of
from promptls.workspace.workspace import Workspace

READER = "reader_cfg: {input_columns: [q], output_column: a}\n"
FEW_SHOT = (
    READER
    + """\
path: data
infer_cfg:
  ice_template: {template: "{q}={a}"}
  prompt_template:
    ice_token: "</E>"
    template: "</E>{q}={a}"
  retriever: {type: FixKRetriever, fix_id_list: [1, 0]}
  inferencer: {type: GenInferencer}
"""
)
LABELS = (
    READER
    + """\
path: data
prompt_template: {template: {yes: "{q}: yes", no: "{q}: no"}}
retriever: {type: ZeroRetriever}
inferencer: {type: PPLInferencer}
"""
)
DIALOGUE = (
    READER
    + """\
path: data
prompt_template:
  template:
    begin: [{role: SYSTEM, fallback_role: HUMAN, prompt: Be brief.}]
    round: [{role: HUMAN, prompt: "{q}"}, {role: BOT, prompt: "So: {a}"}]
"""
)
Render = Callable[..., Rendering | RenderFailure]


@pytest.fixture
def render(tmp_path: Path) -> Render:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/train.csv").write_text("q,a\none,1\ntwo,2\n", "utf-8")
    (tmp_path / "data/test.csv").write_text("q,a\nthree,3\nfour,4\nfive,5\n", "utf-8")

    def made(text: str, data: dict[str, Any] | None = None, settings: str = "", **choice: Any) -> Any:
        path = tmp_path / "prompt.yml.j2"
        path.write_text(text, "utf-8")
        (tmp_path / "promptls.toml").write_text(settings, "utf-8")
        workspace = Workspace([tmp_path], trusted=True)
        workspace.scan()
        snapshot = workspace.snapshot
        job = job_for(snapshot, str(path), data or {})
        job = replace(job, evaluation=evaluation_job(snapshot, str(path), **choice))
        # Jobs and outcomes reach and leave the worker as JSON.
        return unpacked_outcome(packed_outcome(execute(RenderJob.from_json(job.to_json()))))

    return made


def test_a_row_is_asked_with_the_training_rows_and_without_its_answer(render: Render) -> None:
    made = render(FEW_SHOT, row=2)
    assert isinstance(made, Rendering)
    assert made.string == "two=2\none=1\nfour="
    assert made.messages == [{"role": "user", "content": "two=2\none=1\nfour="}]
    assert [(part.name, part.role) for part in made.parts] == [("prompt", "user")]
    assert made.tokens == made.tokens_kept == 10


def test_a_label_is_a_part_and_no_chat_model_can_be_asked(render: Render) -> None:
    made = render(LABELS)
    assert isinstance(made, Rendering)
    assert [(part.name, part.content) for part in made.parts] == [
        ("True", "three: yes"),
        ("False", "three: no"),
    ]
    assert made.messages == []


def test_the_viewer_shows_rows_with_prompts_examples_and_tokens(render: Render) -> None:
    made = render(FEW_SHOT, row=2, rows=0)
    assert isinstance(made, Rendering)
    assert made.viewer is not None
    rows = made.viewer.pop("all")
    assert [row["row"] for row in rows] == [2, 3]
    assert rows[1]["prompts"] == [{"label": None, "text": "two=2\none=1\nfive=", "tokens": 10}]
    assert rows[0]["examples"] == [
        {"row": 2, "text": "two=2", "tokens": 3},
        {"row": 1, "text": "one=1", "tokens": 3},
    ]
    assert made.viewer == {
        **rows[0],
        "rows": 3,
        "selected": 3,
        "inferencer": "GenInferencer",
        "retriever": "FixKRetriever",
        "approximation": None,
        "metaTemplate": "none",
        "metaTemplates": ["none", "chat"],
    }


def test_examples_that_do_not_fit_are_shown_with_the_label_from_which_on_they_are_missing(
    render: Render,
) -> None:
    labels = {"a": "</E>{q} is a", "b": "</E>{q} is rather a b"}
    text = FEW_SHOT.replace('"</E>{q}={a}"', str(labels)).replace(
        "GenInferencer", "PPLInferencer, max_seq_len: 12"
    )
    made = render(text, row=1)
    assert isinstance(made, Rendering)
    assert made.viewer is not None
    assert [each["row"] for each in made.viewer["examples"]] == [2]
    assert made.viewer["dropped"] == [{"row": 1, "text": "one=1", "tokens": 3, "label": "b"}]


def test_a_small_model_replaces_the_requested_one_and_is_named(
    render: Render, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptls.embeddings.minilm.is_installed", lambda: True)
    vectors = {"one": [1.0, 0.0], "two": [0.0, 1.0]}
    monkeypatch.setattr(
        "promptls.embeddings.minilm.embed_texts",
        lambda texts: ([vectors.get(text, [0.1, 0.9]) for text in texts], 0),
    )
    retriever = "FixKRetriever, fix_id_list: [1, 0]"
    made = render(FEW_SHOT.replace(retriever, "TopkRetriever, sentence_transformers_model_name: large"))
    assert isinstance(made, Rendering)
    assert made.viewer is not None
    assert [each["row"] for each in made.viewer["examples"]] == [2]
    assert made.viewer["approximation"] == "≈ chosen with all-MiniLM-L6-v2 instead of large"
    itself = "TopkRetriever, sentence_transformers_model_name: sentence-transformers/all-MiniLM-L6-v2"
    made = render(FEW_SHOT.replace(retriever, itself))
    assert isinstance(made, Rendering)
    assert made.viewer is not None
    assert made.viewer["approximation"] is None


@pytest.mark.parametrize(
    ("choice", "string"),
    [
        ({}, "Be brief.\nthree\nSo: "),
        ({"meta_template": "chat"}, "Be brief.\nthree"),
        ({"meta_template": "base"}, "<Be brief.><three>!"),
    ],
)
def test_a_dialogue_is_laid_out_by_the_chosen_meta_template(
    render: Render, choice: dict[str, Any], string: str
) -> None:
    named = (
        "meta_templates:\n  base:\n    round:\n      - {role: HUMAN, begin: '<', end: '>'}\n"
        "      - {role: BOT, begin: '!', generate: true}\n"
    )
    made = render(DIALOGUE + (named if choice.get("meta_template") == "base" else ""), **choice)
    assert isinstance(made, Rendering)
    assert made.string == string


def test_chat_models_get_a_dialogue_as_messages(render: Render) -> None:
    made = render(DIALOGUE)
    assert isinstance(made, Rendering)
    assert made.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "three"},
    ]


def test_the_project_names_meta_templates(render: Render) -> None:
    settings = '[[meta_templates.mine.round]]\nrole = "HUMAN"\nbegin = "> "\n'
    settings += '[[meta_templates.mine.round]]\nrole = "BOT"\ngenerate = true\n'
    made = render(DIALOGUE, settings=settings)
    assert isinstance(made, Rendering)
    assert made.viewer is not None
    assert (made.string, made.viewer["metaTemplate"]) == ("> Be brief.> three", "mine")


API_ROLES = "[{role: HUMAN, api_role: HUMAN}, {role: BOT, api_role: BOT, generate: true}]"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (FEW_SHOT.replace('"</E>{q}={a}"', '"{q}={a}"'), 6, "is not in this text"),
        (FEW_SHOT.replace("[1, 0]", "[7]"), 7, "names the training row 7"),
        (READER + "prompt_template: {template: 5}\n", 1, "neither a text nor a mapping"),
        (DIALOGUE + "meta_template: {round: [{role: A}, {role: A}]}\n", 6, "the role `A` twice"),
        (f"{DIALOGUE}meta_template:\n  round: {API_ROLES}\n  begin: Be brief.\n", 8, "is one message"),
    ],
)
def test_a_failure_is_reported_at_the_line_that_causes_it(
    render: Render, text: str, line: int, message: str
) -> None:
    made = render(text)
    assert isinstance(made, RenderFailure)
    assert (made.kind, made.line) == ("evaluation prompt", line)
    assert message in made.message


def test_a_row_that_fails_leaves_the_others(render: Render) -> None:
    text = FEW_SHOT.replace(
        "{type: FixKRetriever, fix_id_list: [1, 0]}", "{type: SlidingWindowRetriever, k: 1}"
    )
    made = render(
        text.replace("path: data", "path: data/test.csv\nexamples: [{q: x, a: y}, {q: z, a: w}]"), rows=0
    )
    assert isinstance(made, Rendering)
    assert made.viewer is not None
    assert [row.get("failure") for row in made.viewer["all"]] == [None, None, None]
    made = render(text.replace("path: data", "path: data/test.csv\nexamples: [{q: x, a: y}]"), rows=0)
    assert isinstance(made, Rendering)
    assert made.viewer is not None
    assert [bool(row.get("failure")) for row in made.viewer["all"]] == [False, False, True]


def test_ranges_of_the_reader_choose_the_rows(render: Render) -> None:
    ranged = READER.replace("{input", "{train_range: '[1:]', test_range: '[1:]', input")
    text = FEW_SHOT.replace(READER, ranged).replace("[1, 0]", "[0]")
    made = render(text, rows=0)
    assert isinstance(made, Rendering)
    assert made.viewer is not None
    assert (made.viewer["rows"], made.viewer["selected"], made.viewer["row"]) == (3, 2, 2)
    assert [(row["row"], row["prompts"][0]["text"]) for row in made.viewer["all"]] == [
        (2, "two=2\nfour="),
        (3, "two=2\nfive="),
    ]
    outside = render(text, row=1)
    assert isinstance(outside, Rendering)
    assert outside.viewer is not None
    assert (outside.viewer["row"], outside.string) == (1, "two=2\nthree=")


def test_jinja_makes_the_configuration_first(render: Render) -> None:
    made = render(READER + "path: data\nprompt_template: {template: '{{ 1 + 1 }} {q}'}\n")
    assert isinstance(made, Rendering)
    assert made.string == "2 three"


def test_examples_that_do_not_fit_are_a_problem(render: Render) -> None:
    made = render(FEW_SHOT.replace("type: GenInferencer", "type: GenInferencer, max_seq_len: 8"))
    assert isinstance(made, Rendering)
    assert made.string == "two=2\nthree="
    assert [problem.message for problem in made.problems] == [
        "1 example does not fit into the prompt: left out."
    ]


def test_the_rows_that_are_asked_are_the_first_samples(tmp_path: Path, render: Render) -> None:
    render(FEW_SHOT + "examples: [{q: x, a: y}]\n")
    workspace = Workspace([tmp_path])
    workspace.scan()
    path = str(tmp_path / "prompt.yml.j2")
    assert [sample.name for sample in samples_of(workspace.snapshot, path)] == [
        "row 1",
        "example 1",
        "placeholders",
    ]
    assert row_sample(workspace.snapshot, path, 3).data == {"q": "five", "a": "5"}


def test_given_values_are_asked_like_a_row(render: Render) -> None:
    made = render(FEW_SHOT, {"q": "six", "a": "6"})
    assert isinstance(made, Rendering)
    assert made.string == "two=2\none=1\nsix="


def test_a_prompt_whose_rows_are_compared_may_take_longer(tmp_path: Path) -> None:
    workspace = Workspace([tmp_path])
    fixed = str(tmp_path / "fixed.yml.j2")
    near = str(tmp_path / "near.yml.j2")
    workspace.open(fixed, FEW_SHOT, 1)
    workspace.open(near, FEW_SHOT.replace("FixKRetriever, fix_id_list: [1, 0]", "TopkRetriever"), 1)
    longer = limits_for(workspace.snapshot, near).seconds - limits_for(workspace.snapshot, fixed).seconds
    assert longer == COMPARING_SECONDS


RAW = (
    READER
    + """\
path: data
prompt_template:
  {type: RawPromptTemplate, messages: [{role: system, content: Add.}, {role: user, content: "{q}"}]}
"""
)
MODELS = """\
models:
  - {abbr: api, type: OpenAI, meta_template: {round: [{role: HUMAN}, {role: BOT, generate: true}]}}
  - {abbr: chat, type: opencompass.models.VLLMwithChatTemplate}
  - {abbr: base, type: HuggingFaceBaseModel, max_seq_len: 1}
"""


def test_messages_are_shown_without_a_meta_template(render: Render) -> None:
    made = render(RAW)
    assert isinstance(made, Rendering)
    assert made.viewer is not None
    assert made.viewer["metaTemplate"] == "none"
    assert made.messages == [{"role": "system", "content": "Add."}, {"role": "user", "content": "three"}]


def test_examples_that_are_no_messages_are_shown_as_the_prompt_viewer_prints_them(render: Render) -> None:
    examples = """\
ice_template: {template: {round: [{role: HUMAN, prompt: "{q}"}]}}
retriever: {type: FixKRetriever, fix_id_list: [0]}
"""
    made = render(RAW.replace("messages: [", 'messages: ["</E>", ') + examples)
    assert isinstance(made, Rendering)
    assert "{'section': 'ice', 'pos': 'begin'}, {'role': 'HUMAN', 'prompt': 'one'}" in made.string
    assert [problem.line for problem in made.problems] == [4]


def test_messages_of_a_meta_template_go_ahead_of_those_of_their_role(render: Render) -> None:
    model = """\
models:
  - {type: OpenAI, meta_template: [{role: system, content: "Be brief. "}, {role: assistant, content: Sure}]}
"""
    made = render(RAW + model)
    assert isinstance(made, Rendering)
    assert made.messages == [
        {"role": "system", "content": "Be brief. Add."},
        {"role": "assistant", "content": "Sure"},
        {"role": "user", "content": "three"},
    ]


def test_a_model_lays_prompts_out_as_its_class_does(render: Render) -> None:
    failing = render(DIALOGUE + MODELS)
    assert isinstance(failing, RenderFailure)
    assert "api_role" in failing.message
    made = render(DIALOGUE + MODELS, meta_template="chat")
    assert isinstance(made, Rendering)
    assert made.messages == [{"role": "user", "content": "Be brief.\nthree\n"}]
    base = render(DIALOGUE + MODELS, meta_template="base")
    assert isinstance(base, Rendering)
    assert base.string == "Be brief.\nthree\nSo: "
    assert base.viewer is not None
    assert base.viewer["metaTemplates"][:3] == ["api", "chat", "base"]


def test_an_empty_path_is_no_dataset(render: Render) -> None:
    made = render(RAW.replace("path: data", 'path: ""'), {"q": "given"})
    assert isinstance(made, Rendering)
    assert made.messages[1] == {"role": "user", "content": "given"}
