from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main

pytestmark = pytest.mark.usefixtures("folder")

SOUND = "- name: question\n  role: user\n  content: Hello.\n"
WRONG_ROLE = "- name: question\n  role: usr\n  content: Hello.\n"
ANSIBLE = "- hosts: all\n  tasks: []\n"


def test_a_finding_is_shown_with_its_place_its_line_and_its_fix(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    assert main(["check"]) == 1
    place, source, carets, fix, *_ = capsys.readouterr().out.splitlines()
    assert place.startswith("a.yml.j2:2:9: warning unknown-role: ")
    assert source == "    2 |   role: usr"
    assert carets == "      |         ^^^"
    assert fix == "      → Change to `user`"


def test_the_counts_are_printed_last(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    (folder / "b.yml.j2").write_text(SOUND)
    (folder / "site.yml.j2").write_text(ANSIBLE)
    main(["check"])
    assert capsys.readouterr().out.endswith("\n1 warning in 2 prompts (1 other file left alone).\n")


def test_a_sound_prompt_exits_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text(SOUND)
    assert main(["check", "a.yml.j2"]) == 0
    assert capsys.readouterr().out == "No findings in 1 prompt.\n"


@pytest.mark.parametrize(("name", "code"), [("a.yml.j2", 1), ("a.yaml", 0)])
def test_a_single_chat_message_is_no_part_in_a_file_of_another_kind(
    folder: Path, name: str, code: int
) -> None:
    (folder / name).write_text("- role: user\n  content: Hello, {{ name }}.\n")
    assert main(["check", name]) == code


@pytest.mark.parametrize("content", [b"", b"\0\x01" * 50, ANSIBLE.encode()])
def test_a_named_file_that_is_no_prompt_is_reported(
    folder: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_bytes(content)
    assert main(["check", "a.yml.j2"]) == 0
    shown = capsys.readouterr()
    assert shown.out == (
        "a.yml.j2: not a prompt: no list of parts, and no mapping with `instruction` or `infer_cfg`\n"
        "There is no prompt here (1 other file left alone).\n"
    )
    assert shown.err == ""


def test_a_named_text_with_jinja_is_not_a_prompt_yet(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.jinja2").write_text("Hello, {{ name }}!\n")
    assert main(["check", "a.jinja2"]) == 0
    assert "`infer_cfg`; `promptls convert` turns it into one\n" in capsys.readouterr().out


@pytest.mark.parametrize("content", [SOUND.encode("utf-16"), b"\0\xff\xfe\x80" * 50])
def test_a_named_file_in_another_encoding_is_reported(
    folder: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_bytes(content)
    main(["check", "a.yml.j2"])
    assert capsys.readouterr().out.startswith("a.yml.j2: not read: the file is not UTF-8; save it as UTF-8\n")


def test_a_prompt_with_bytes_of_another_encoding_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_bytes("- name: a\n  content: Café, Münster\n".encode("latin-1"))
    assert main(["check", "a.yml.j2"]) == 1
    assert capsys.readouterr().out.startswith(
        "a.yml.j2:2:15: error damaged-text: "
        "the file is not UTF-8 here, so that programs cannot read it: save it as UTF-8\n"
    )


def test_a_named_file_with_the_instruction_of_another_program_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text("instruction: do {{ x }}\nsteps: [a]\n")
    assert main(["check", "a.yml.j2"]) == 0
    assert capsys.readouterr().out == (
        "a.yml.j2: not a prompt: its `instruction` is among keys of another program, without `input_keys`\n"
        "There is no prompt here (1 other file left alone).\n"
    )


def test_a_named_file_whose_includes_do_not_exist_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text("{% include 'sections/rules.yml.j2' %}\n\n{% include 'b.yml.j2' %}\n")
    assert main(["check", "a.yml.j2"]) == 0
    assert capsys.readouterr().out.startswith(
        "a.yml.j2: not a prompt by its own text, and `sections/rules.yml.j2` does not exist\n"
    )


def test_a_folder_without_prompt_files_says_how_they_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    assert capsys.readouterr().out == "There is no file here whose name ends in .yml.j2 or .yaml.j2.\n"


def test_verbose_names_the_kind_of_each_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text(SOUND)
    (folder / "site.yml.j2").write_text(ANSIBLE)
    main(["check", "--verbose"])
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["parts", "template", "a.yml.j2"] in shown
    assert ["no", "prompt", "file", "site.yml.j2"] in shown


def test_a_section_is_known_by_who_includes_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".git").mkdir()
    (folder / "sections").mkdir()
    (folder / "a.yml.j2").write_text("{% include 'sections/tone.yml.j2' %}\n" + SOUND)
    (folder / "sections" / "tone.yml.j2").write_text(SOUND)
    main(["check", "--verbose", "sections/tone.yml.j2"])
    assert capsys.readouterr().out.startswith("section ")


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main(["check", "--json", *words])
    read: dict[str, Any] = json.loads(capsys.readouterr().out)
    return read


def test_json_counts_lines_and_columns_from_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    (finding,) = as_json(capsys)["findings"]
    assert (finding["line"], finding["column"]) == (2, 9)
    assert (finding["end_line"], finding["end_column"]) == (2, 12)


def test_json_carries_the_edits_of_a_fix(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    (finding,) = as_json(capsys)["findings"]
    edit = {"line": 2, "column": 9, "end_line": 2, "end_column": 12, "text": "user"}
    assert finding["fixes"] == [{"title": "Change to `user`", "preferred": True, "edits": [edit]}]


def test_a_rule_that_is_off_finds_nothing(folder: Path) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    (folder / "promptls.toml").write_text('[rules]\nunknown-role = "off"\n')
    assert main(["check"]) == 0


def test_a_hint_does_not_fail_the_check(folder: Path) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    (folder / "promptls.toml").write_text('[rules]\nunknown-role = "hint"\n')
    assert main(["check"]) == 0


def test_a_wrong_setting_is_shown_and_fails_the_check(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text(SOUND)
    (folder / "promptls.toml").write_text('encodin = "o200k_base"\n')
    assert main(["check"]) == 1
    shown = capsys.readouterr().out
    assert (
        "promptls.toml:1:1: error settings: there is no setting `encodin`; did you mean `encoding`?" in shown
    )
    assert shown.endswith("1 error in 1 prompt.\n")
    (problem,) = as_json(capsys)["settings"]
    assert (problem["path"], problem["line"], problem["column"]) == ("promptls.toml", 1, 1)


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        ((), {"unknown-role", "unknown-part-key"}),
        (("--select", "unknown-role"), {"unknown-role"}),
        (("--select", "unknown-role, unknown-part-key"), {"unknown-role", "unknown-part-key"}),
        (("--select", "unknown-role", "--select", "unknown-part-key"), {"unknown-role", "unknown-part-key"}),
        (("--ignore", "unknown-role"), {"unknown-part-key"}),
        (("--severity", "error"), {"unknown-part-key"}),
    ],
)
def test_only_chosen_findings_are_reported(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], rules: set[str]
) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE + "  foo_bar_baz: 1\n- name: b\n  role: user\n  content: x\n")
    assert {finding["rule"] for finding in as_json(capsys, *words)["findings"]} == rules


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--select", "unknown-rol"), "did you mean `unknown-role`?"),
        (("--ignore", "x"), "`promptls rules` lists them"),
        (("--select", ","), "`--select` names no rule"),
        (("--select", "unknown-role", "--ignore", "unknown-role"), "excludes every rule"),
        (("--severity", "eror"), "did you mean `error`?"),
    ],
)
def test_rules_and_severities_that_there_are_none_of_are_wrong_use(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert main(["check", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("threshold", "code"), [("error", 0), ("warning", 1), ("information", 1), ("hint", 1), ("never", 0)]
)
def test_the_exit_code_follows_the_threshold(folder: Path, threshold: str, code: int) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    assert main(["check", "--fail-on", threshold]) == code


CONFIGURATION = """\
a_infer_cfg = dict(
    prompt_template=dict(template='{qestion}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer),
)
a_reader_cfg = dict(input_columns=['question'], output_column='answer')
"""


@pytest.mark.parametrize("arguments", [[], ["a.py"]])
def test_a_configuration_in_python_is_checked(
    arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.py").write_text(CONFIGURATION)
    assert main(["check", *arguments]) == 1
    shown = capsys.readouterr().out
    assert "a.py:2:36: warning unknown-field: " in shown
    assert shown.endswith("1 warning in 1 prompt.\n")


def test_a_program_that_is_no_configuration_is_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.py").write_text("- name: a\n  role: usr\n")
    (folder / "b.py").write_text("instruction: str = ''\nexamples: list = []\n")
    assert main(["check", "a.py", "b.py"]) == 0
    why = "not checked: no OpenCompass configuration, and no calls that load prompts"
    assert capsys.readouterr().out == (
        f"a.py: {why}\nb.py: {why}\nThere is no prompt here (2 other files left alone).\n"
    )


def test_a_program_whose_uses_of_a_library_are_right_counts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "from ragas import SingleTurnSample\n\nsample = SingleTurnSample(user_input='a', response='b')\n"
    (folder / "a.py").write_text(text)
    assert main(["check", "a.py"]) == 0
    assert capsys.readouterr().out == "No findings in 1 program.\n"
    (folder / "a.py").write_text(text.replace("response", "answer"))
    assert main(["check", "a.py"]) == 1
    assert capsys.readouterr().out.endswith("1 warning in 1 program.\n")


def test_a_comment_of_python_suppresses_a_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = "# promptls: ignore[unknown-field] the dataset has it"
    (folder / "a.py").write_text(CONFIGURATION.replace("'),\n    ret", f"'),  {mark}\n    ret"))
    (folder / "b.py").write_text(CONFIGURATION.replace("    prompt", f"    {mark}\n    prompt"))
    assert main(["check", "a.py", "b.py"]) == 0
    assert capsys.readouterr().out == "No findings in 2 prompts.\n"


def test_a_configuration_in_python_is_fixed(folder: Path) -> None:
    text = CONFIGURATION.replace("{qestion}", "{question} {qestion}")
    (folder / "a.py").write_text(text)
    assert main(["check", "a.py", "--fix"]) == 0
    assert (folder / "a.py").read_text() == text.replace("qestion", "question")


@pytest.mark.parametrize("named", ["prompts", "prompts/a.yml.j2", "."])
def test_paths_in_programs_count_from_the_working_folder(
    folder: Path, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "prompts").mkdir()
    (folder / "prompts" / "a.yml.j2").write_text('- name: a\n  content: "{{ x }}"\n')
    (folder / "app.py").write_text("Prompt(template_path='prompts/a.yml.j2', template_data={})\n")
    assert main(["check", named]) == 1
    assert "`app.py` loads this template in line 1 without `x`" in capsys.readouterr().out


WITH_SAMPLES = (
    "{#---\ninput_keys: {text: {type: string}}\nsamples: samples/tickets.yml\n---#}\n"
    "- name: ticket\n  role: user\n  content: |\n    {{ escape_special_characters(text) }}\n"
)


def _with_samples(folder: Path, samples: str) -> None:
    (folder / "promptls.toml").write_text("")
    (folder / "samples").mkdir()
    (folder / "samples" / "tickets.yml").write_text(samples)
    (folder / "a.yml.j2").write_text(WITH_SAMPLES)
    (folder / "b.yml.j2").write_text(WITH_SAMPLES)


def test_a_mistake_in_a_samples_file_is_reported_in_it_with_its_prompts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _with_samples(folder, "first:\n  text: Hello.\nsecond:\n  txt: Hello.\n")
    assert main(["check", "samples/tickets.yml"]) == 1
    place, source, _, *prompts, _, count = capsys.readouterr().out.splitlines()
    assert place == (
        "samples/tickets.yml:4:3: warning invalid-sample: the sample `second` lacks `text`; it has `txt`"
    )
    assert source == "    4 |   txt: Hello."
    assert [line.split(":")[0].strip() for line in prompts[:2]] == ["a.yml.j2", "b.yml.j2"]
    assert count == "1 warning in 1 data file."


def test_a_value_inside_of_a_sample_is_reported_at_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _with_samples(folder, "first:\n  text: Hello.\n  turns:\n    - {role: user}\n    - {role: bot}\n")
    prompt = WITH_SAMPLES.replace(
        "{text: {type: string}}",
        "{text: {type: string}, turns: {type: array, items: {properties: {role: {enum: [user]}}}}}",
    )
    (folder / "a.yml.j2").write_text(prompt.replace("(text)", "(text) }} {{ turns | tojson"))
    assert main(["check", "samples/tickets.yml"]) == 1
    assert capsys.readouterr().out.startswith("samples/tickets.yml:5:8: warning invalid-sample: ")


def test_an_expected_value_that_no_answer_has_is_reported_in_its_dataset(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "promptls.toml").write_text("")
    (folder / "t.csv").write_text("text,expected_mood\na,good\nb,bad\nc,bda\n")
    (folder / "metrics.py").write_text("def right(response, expected_mood):\n    return 1\n")
    (folder / "a.yml.j2").write_text(
        "{#---\ninput_keys: [text]\noutput_key: response\noutput_type: json\n"
        "output_schema: {properties: {mood: {enum: [good, bad]}}}\n"
        "experiments:\n  e: {dataset: t.csv, metrics: ['metrics.py:right']}\n---#}\n"
        "- name: a\n  content: |\n    {{ escape_special_characters(text) }}\n"
    )
    assert main(["check", "t.csv"]) == 1
    assert capsys.readouterr().out.startswith(
        "t.csv:4:1: warning invalid-example-output: row 3 of `t.csv` expects `bda`"
    )


def test_a_sound_samples_file_has_no_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _with_samples(folder, "first:\n  text: Hello.\n")
    assert main(["check", "samples/tickets.yml"]) == 0
    assert capsys.readouterr().out == "No findings in 1 data file.\n"


def test_a_yaml_file_that_no_prompt_names_is_no_samples_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _with_samples(folder, "first:\n  text: Hello.\n")
    (folder / "samples" / "other.yml").write_text("first:\n  txt: Hello.\n")
    assert main(["check", "samples/other.yml"]) == 0
    assert "samples/other.yml: not a prompt" in capsys.readouterr().out


def test_a_file_with_only_macros_is_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "macros.yml.j2").write_text("{% macro greet(x) %}\nHello {{ x }}\n{% endmacro %}\n")
    assert main(["check", "macros.yml.j2"]) == 0
    assert "macros.yml.j2: only macros: they are checked with the prompts" in capsys.readouterr().out


@pytest.mark.parametrize("importer", ["a.j2", "a.jinja", "a.jinja2"])
def test_macros_that_another_template_imports_are_a_part_of_it(
    folder: Path, capsys: pytest.CaptureFixture[str], importer: str
) -> None:
    (folder / "macros.yml.j2").write_text("{% macro greet(x) %}\nHello {{ y }}\n{% endmacro %}\n")
    (folder / importer).write_text(
        '{% import "macros.yml.j2" as m %}\n- name: a\n  content: |\n    {{ m.greet("x") }}\n'
    )
    main(["check", "--verbose", "macros.yml.j2"])
    assert "text section" in capsys.readouterr().out.splitlines()[0]
