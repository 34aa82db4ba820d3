from __future__ import annotations

from pathlib import Path

import pytest

from promptls.cli.checked import checked_files
from promptls.cli.chosen_files import choose
from promptls.cli.main import main
from promptls.lint.registry import RULES

LIMITED = (
    "{#---\ntoken_limit: 5\ntruncation_step: 1\n---#}\n"
    "- name: a\n  truncation_priority: 1\n  content: Say in one word how urgent it is.\n"
    "- name: b\n  content: Hello!\n"
)

FINE = "- name: a\n  role: user\n  content: Hello.\n"

pytestmark = pytest.mark.usefixtures("folder")


def test_what_needs_a_rendering_is_found_too_and_can_be_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text(LIMITED)

    main(["check"])
    assert "a.yml.j2:2:14: information over-token-limit: " in capsys.readouterr().out

    main(["check", "--no-render"])
    assert "over-token-limit" not in capsys.readouterr().out


def test_it_can_be_chosen_by_its_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yml.j2").write_text(LIMITED.replace("Hello!", "{{ a | nope }}"))

    main(["check", "--select", "over-token-limit"])

    assert capsys.readouterr().out == "No findings in 1 prompt.\n"


def test_a_check_runs_no_functions_and_says_so_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", str(folder / "configuration"))
    (folder / "helpers.py").write_text("open('ran', 'w').close()\n\ndef shout(text):\n    return text\n")
    (folder / "a.yml.j2").write_text(
        "{#---\nfunctions: helpers.py\n---#}\n- name: a\n  content: {{ shout('a') }}\n"
    )

    main(["check"])

    assert not (folder / "ran").exists()
    assert capsys.readouterr().err == (
        "promptls: not trusted: helpers.py was not run (1 prompt); `--trust` or `promptls trust .` "
        "includes it\n"
    )


def test_functions_are_run_where_that_is_allowed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "helpers.py").write_text("def shout(text):\n    return text + ': ' + text\n")
    (folder / "a.yml.j2").write_text(
        "{#---\nfunctions: helpers.py\n---#}\n- name: a\n  content: {{ shout('a') }}\n"
    )

    main(["check", "--trust"])

    shown = capsys.readouterr()
    assert "rendered-yaml" in shown.out
    assert shown.err == ""


def test_every_sample_is_rendered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "samples.yml").write_text("one: {q: fine}\ntwo: {q: 'a: b'}\n")
    (folder / "a.yml.j2").write_text(
        "{#---\ninput_keys: [q]\nsamples: samples.yml\n---#}\n- name: a\n  content: {{ q }}\n"
    )

    assert main(["check", "--select", "rendered-yaml"]) == 1

    assert "a.yml.j2:6:12: error rendered-yaml: with the sample `two`" in capsys.readouterr().out


def test_rows_of_a_declared_dataset_are_rendered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.csv").write_text("q,expected\nfine,x\nfine too,x\na: b,x\n")
    (folder / "a.yml.j2").write_text(
        "{#---\ninput_keys: [q]\nexperiments:\n  e: {dataset: rows.csv, metrics: [exact_match]}\n---#}\n"
        "- name: a\n  content: {{ q }}\n"
    )

    assert main(["check", "--select", "rendered-yaml"]) == 1

    assert "error rendered-yaml: with row 3" in capsys.readouterr().out


def test_a_value_in_the_first_column_of_a_block_is_found_without_data(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text(
        "- name: a\n  content: |\n    Hello to all\n{{ question }}\n    Good bye\n"
    )

    assert main(["check", "--select", "rendered-yaml"]) == 1

    assert "a.yml.j2:4:1: warning rendered-yaml" in capsys.readouterr().out


def test_a_text_that_the_settings_include_is_no_list_of_parts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "promptls.toml").write_text('include = ["*.j2"]\n')
    (folder / "text.j2").write_text("You are helpful. {{ question }}\n")

    assert main(["check", "."]) == 1

    assert "text.j2:1:1: error rendered-yaml" in capsys.readouterr().out


BRANCH = """\
- name: q
  content: |
    Text
    {% if mode == "long" %}
{{ detail }}
    {% endif %}
    {% if not notes %}
{{ detail }}
    {% endif %}
"""


def test_branches_that_placeholders_do_not_reach_are_rendered_as_well(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text(BRANCH)
    assert main(["check"]) == 1
    shown = capsys.readouterr().out
    assert 'a.yml.j2:5:1: error rendered-yaml: with placeholders and mode = "long"' in shown
    assert 'a.yml.j2:8:1: error rendered-yaml: with placeholders and notes = ""' in shown


def test_rows_of_every_experiment_are_rendered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "first.csv").write_text("text\nFine.\n")
    (folder / "second.csv").write_text('text\nFine.\n"One\nTwo"\n')
    (folder / "a.yml.j2").write_text(
        "{#---\nexperiments:\n  one: {dataset: first.csv, models: [replay]}\n"
        "  two: {dataset: second.csv, models: [replay]}\n---#}\n"
        "- name: a\n  content: |\n    Hello.\n    {{ text }}\n"
    )

    main(["check"])

    shown = capsys.readouterr().out
    assert "a.yml.j2:9:5: error rendered-yaml: with row 2 of second.csv, this value" in shown


def test_processes_report_together_what_one_reports(folder: Path) -> None:
    for index in range(45):
        text = "- name: a\n  role: user\n  content: |\n    {{ text | uppr }}\n" if index % 9 == 0 else FINE
        (folder / f"prompt_{index:02}.yml.j2").write_text(text)
    rules = frozenset({rule.name for rule in RULES})

    alone = checked_files(choose(["."]), rules)
    together = checked_files(choose(["."]), rules, processes=2)

    assert [file.path for file in together.files] == [file.path for file in alone.files]
    assert together == alone
    assert sum(bool(file.findings) for file in alone.files) == 5


def test_a_template_in_a_program_is_rendered_with_the_data_of_its_call(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "app.py").write_text(
        'raw = """\n- name: a\n  content: \'Hi {{ name | trim }}, \'\n"""\n'
        "p = Prompt(raw_template=raw, template_data={'name': 'Ada'})\n"
    )

    main(["check", "app.py"])

    assert "information stripped-whitespace: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("comment", "is_reported"), [("", True), ("promptls: ignore[stripped-whitespace]", False)]
)
def test_findings_in_the_rendering_of_a_program_are_suppressed_by_a_comment(
    folder: Path, capsys: pytest.CaptureFixture[str], comment: str, is_reported: bool
) -> None:
    literal = r"""'- name: a\n  content: "Hi {{ name | trim }}, "'"""
    (folder / "app.py").write_text(
        f"# {comment}\nPrompt(raw_template={literal}, template_data={{'name': 'Ada'}})\n"
    )

    main(["check", "app.py"])

    assert ("information stripped-whitespace: " in capsys.readouterr().out) is is_reported
