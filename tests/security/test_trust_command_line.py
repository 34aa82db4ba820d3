"""Commands execute nothing of a folder that the user does not trust."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from promptls.cli.main import main
from promptls.security.files import ANYWHERE, reading_within
from promptls.security.trust import KeyGrant, TrustStore
from security.hostile import Hostile, promptls

COMMANDS = (
    ("render", "prompt.yml.j2"),
    ("tokens", "prompt.yml.j2"),
    ("truncate", "prompt.yml.j2"),
    ("preview", "prompt.yml.j2", "--no-open"),
    ("run", "prompt.yml.j2"),
    ("run", "prompt.yml.j2", "--dry-run"),
    ("generate", "notes.md", "--model", "echo", "--plan"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_without_a_terminal_a_command_refuses_and_names_the_remedies(
    hostile: Hostile, words: tuple[str, ...]
) -> None:
    done = hostile.command(*words)

    assert done.returncode == 2
    assert f"{hostile.folder} is not trusted" in done.stderr
    assert "`--trust` trusts it this time, `promptls trust .` from now on" in done.stderr
    assert done.stdout == ""
    assert not hostile.has_run


@pytest.mark.parametrize(
    ("words", "problem"), [((), "needs documents"), (("gone.md",), "there is no such file or folder")]
)
def test_documents_that_are_not_there_are_named_before_a_question_for_trust(
    hostile: Hostile, words: tuple[str, ...], problem: str
) -> None:
    done = hostile.command("generate", *words)

    assert done.returncode == 2
    assert problem in done.stderr
    assert "trust" not in done.stderr


def test_the_folder_of_nobody_is_wrong_use(hostile: Hostile) -> None:
    done = hostile.command("trust", "~nobody-has-this-name/prompts")

    assert done.returncode == 2
    assert "there is no such user" in done.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_trust_in_the_working_folder_does_not_extend_to_a_folder_beside_it(
    hostile: Hostile, words: tuple[str, ...]
) -> None:
    beside = hostile.folder.parent / "trusted"
    beside.mkdir()
    (beside / "promptls.toml").touch()
    hostile.store.decide(beside, trusted=True)
    shutil.rmtree(hostile.folder / ".git")  # with it, the folder is a project
    command, file, *options = words

    done = replace(hostile, folder=beside).command(command, f"../{hostile.folder.name}/{file}", *options)

    assert not hostile.has_run
    if command != "generate":  # its folder is that of the dataset
        assert done.returncode == 2, done.stdout
        assert f"{hostile.folder} is not trusted" in done.stderr


def test_the_refusal_names_what_would_be_run(hostile: Hostile) -> None:
    said = hostile.command("run", "prompt.yml.j2").stderr
    assert "run its Python: functions.py, metrics.py" in said


def test_an_option_trusts_the_folder_for_one_command(hostile: Hostile) -> None:
    assert hostile.command("render", "prompt.yml.j2", "--string", "--trust").returncode == 0
    assert hostile.has_run
    assert hostile.store.decision([hostile.folder]) is None


def test_a_remembered_decision_counts_for_every_command(hostile: Hostile) -> None:
    hostile.command("trust", ".")

    done = hostile.command("run", "prompt.yml.j2", "--json")

    assert done.returncode == 0, done.stderr
    assert hostile.has_run


def test_what_needs_nothing_of_the_folder_needs_no_trust(hostile: Hostile) -> None:
    assert hostile.command("render", "plain.yml.j2", "--string").stdout == "hello"


def test_a_run_that_needs_nothing_of_the_folder_needs_no_trust_and_stays_inside(hostile: Hostile) -> None:
    (hostile.folder.parent / "secret.csv").write_text("text,expected\nsecret,\n")
    (hostile.folder / "rows.csv").write_text("text,expected\nhello,hello\n")
    prompt = hostile.folder / "harmless.yml.j2"
    for dataset, code in (("rows.csv", 0), ("../secret.csv", 1)):
        header = f"experiments:\n  main: {{dataset: {dataset}, models: [echo], metrics: [exact_match]}}\n"
        prompt.write_text(f"{{#---\n{header}---#}}\n- {{name: a, role: user, content: '{{{{ text }}}}'}}\n")
        done = hostile.command("run", prompt.name)
        assert done.returncode == code, done.stderr
    assert "outside of the workspace, which is not trusted" in done.stderr

    shutil.rmtree(hostile.folder / "experiments")
    (hostile.folder / "experiments").symlink_to(hostile.configuration, target_is_directory=True)
    assert "the results would be outside of the folder" in hostile.command("run", prompt.name).stderr
    assert not hostile.has_run


def test_a_run_that_needed_no_trust_is_completed_without_it(hostile: Hostile) -> None:
    (hostile.folder / "rows.csv").write_text("text,expected\nhello,hello\nbye,bye\n")
    prompt = hostile.folder / "harmless.yml.j2"
    header = "experiments:\n  main: {dataset: rows.csv, models: [echo], metrics: [exact_match]}\n"
    prompt.write_text(f"{{#---\n{header}---#}}\n- {{name: a, role: user, content: '{{{{ text }}}}'}}\n")
    partial = json.loads(hostile.command("run", prompt.name, "--rows", "1", "--json").stdout)

    done = hostile.command("run", "--complete", Path(partial["results"]).stem, "--json")

    assert done.returncode == 0, done.stderr
    assert len(Path(json.loads(done.stdout)["results"]).read_text().splitlines()) == 1 + 2
    assert not hostile.has_run


def test_a_run_without_trust_refuses_code_that_came_after_the_question(hostile: Hostile) -> None:
    request = {"prompt": str(hostile.prompt), "roots": [str(hostile.folder)]}
    done = subprocess.run(
        [sys.executable, "-m", "promptls.experiments.process"],
        input=json.dumps(request) + "\n",
        env=hostile.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    failed = json.loads(done.stdout)
    assert "the run would run its Python: functions.py, metrics.py" in failed["message"]
    assert not hostile.has_run


def test_a_file_outside_of_projects_depends_on_its_own_folder(hostile: Hostile) -> None:
    (hostile.folder / ".git").rmdir()
    hostile.store.decide(hostile.folder.parent / "another", trusted=True)
    assert hostile.command("render", "prompt.yml.j2").returncode == 2

    hostile.store.decide(hostile.folder, trusted=True)
    assert hostile.command("render", "prompt.yml.j2").returncode == 0


# -- check ------------------------------------------------------------------------


def test_a_check_runs_nothing_and_says_what_it_left_out(hostile: Hostile) -> None:
    done = hostile.command("check")

    assert done.returncode == 0, done.stdout
    assert done.stderr == (
        "promptls: not trusted: functions.py was not run (1 prompt); `--trust` or `promptls trust .` "
        "includes it\n"
    )
    assert not hostile.has_run


def test_a_report_for_programs_says_what_was_left_out(hostile: Hostile) -> None:
    report = json.loads(hostile.command("check", "--json").stdout)
    assert [finding["rule"] for finding in report["findings"]] == ["no-truncatable-part"]
    assert report["left_out"].startswith("not trusted: functions.py was not run (1 prompt)")


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need privileges")
def test_a_check_names_the_files_that_it_may_not_read(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (hostile.folder.parent / "outside.j2").write_text("SECRET")
    (hostile.folder / "link.j2").symlink_to("../outside.j2")
    (hostile.folder / "plain.yml.j2").write_text(
        "{#---\nsamples: ../outside.json\n---#}\n"
        "- {name: a, role: user, content: '{% include \"link.j2\" %}'}\n"
    )
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", str(hostile.configuration))
    monkeypatch.chdir(hostile.folder)

    with reading_within(lambda: ANYWHERE):
        assert main(["check", "plain.yml.j2"]) == 1

    shown = capsys.readouterr()
    assert "`link.j2` leads out of the project, which is not trusted: it is not read" in shown.out
    assert "../outside.json, link.j2 lead out of the project and were not read; `--trust`" in shown.err
    assert "SECRET" not in shown.out + shown.err


def test_a_check_of_a_trusted_folder_leaves_nothing_out(hostile: Hostile) -> None:
    hostile.store.decide(hostile.folder, trusted=True)

    done = hostile.command("check", "--json")

    assert json.loads(done.stdout)["left_out"] is None
    assert hostile.has_run


# -- on a terminal -----------------------------------------------------------------


class _Terminal:
    """A command whose input and error stream are a terminal."""

    def __init__(self, hostile: Hostile, *words: str, answer: str = "") -> None:
        import pty

        ours, theirs = pty.openpty()
        os.write(ours, f"{answer}\n".encode())
        self.done = subprocess.run(
            promptls(words), cwd=hostile.folder, env=hostile.environment(), stdin=theirs,
            stdout=subprocess.PIPE, stderr=theirs, timeout=120, check=False,
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""
        try:
            while piece := os.read(ours, 65536):
                self.shown += piece.decode()
        except OSError:  # Linux: the other end is closed
            pass
        os.close(ours)


needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


@needs_terminal
def test_on_a_terminal_the_user_is_asked_once(hostile: Hostile) -> None:
    first = _Terminal(hostile, "render", "prompt.yml.j2", "--string", answer="y")

    question = (
        f"{hostile.folder} is not trusted. promptls would run its Python: functions.py. Trust it? [y/N]"
    )
    assert question in first.shown
    assert first.done.returncode == 0
    assert hostile.has_run
    second = _Terminal(hostile, "run", "prompt.yml.j2", "--json")
    assert "Trust" not in second.shown
    assert second.done.returncode == 0


@needs_terminal
@pytest.mark.parametrize("answer", ["n", "", "yo"])
def test_any_other_answer_is_a_no_for_this_command(hostile: Hostile, answer: str) -> None:
    shown = _Terminal(hostile, "run", "prompt.yml.j2", answer=answer)

    assert shown.done.returncode == 2
    assert not hostile.has_run
    assert hostile.store.decision([hostile.folder]) is None


@needs_terminal
def test_a_refused_folder_is_not_asked_for(hostile: Hostile) -> None:
    hostile.command("trust", ".", "--revoke")

    shown = _Terminal(hostile, "render", "prompt.yml.j2", answer="y")

    assert "[y/N]" not in shown.shown
    assert shown.done.returncode == 2
    assert not hostile.has_run


@needs_terminal
def test_a_check_asks_nothing(hostile: Hostile) -> None:
    shown = _Terminal(hostile, "check", answer="y")

    assert "[y/N]" not in shown.shown
    assert not hostile.has_run


@needs_terminal
def test_names_of_folders_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    hostile = Hostile.at(tmp_path / "a\x1b[2Jb\u202ec", tmp_path / "configuration")
    assert (
        "a\ufffd[2Jb\ufffdc is not trusted."
        in _Terminal(hostile, "render", "prompt.yml.j2", answer="n").shown
    )


# -- the command ------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrustStore:
    """Return the decisions of a user who has made none, whose home folder the test uses."""
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", str(tmp_path / "configuration"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    return TrustStore()


def test_decisions_are_listed(store: TrustStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good").mkdir()
    assert main(["trust"]) == 0
    assert capsys.readouterr().out.startswith("Nothing was decided: no folder is trusted.\n")

    main(["trust", "good"])
    main(["trust", "bad", "--revoke"])
    main(["trust", "--key", "OPENAI_API_KEY@https://LLM.example.com:443/v1"])
    capsys.readouterr()
    main(["trust"])

    assert capsys.readouterr().out == (
        f"not trusted  {tmp_path / 'bad'}\n"
        f"trusted      {tmp_path / 'good'}\n"
        f"key          OPENAI_API_KEY to https://llm.example.com\nin {store.file}\n"
    )


def test_a_key_can_be_taken_back(store: TrustStore) -> None:
    grant = KeyGrant("A_KEY", "https://example.com")
    main(["trust", "--key", "A_KEY@example.com"])
    assert grant in store.read().grants

    main(["trust", "--key", "A_KEY@https://example.com", "--revoke"])
    assert grant not in store.read().grants


def test_decisions_can_be_read_by_programs(
    store: TrustStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["trust", ".", "--json"])
    assert json.loads(capsys.readouterr().out) == {
        "file": str(store.file),
        "folders": [{"path": str(tmp_path), "trusted": True}],
        "keys": [],
    }


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "there is no such folder"),
        (["--revoke"], "`--revoke` needs a folder or a key"),
        (["--key", "no-name"], "`no-name` is not `VARIABLE@https://HOST`"),
    ],
)
def test_what_cannot_be_decided_on_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trust", *words]) == 2
    assert said in capsys.readouterr().err


def test_trust_in_a_part_of_a_project_says_that_the_project_is_meant(
    hostile: Hostile, store: TrustStore, capsys: pytest.CaptureFixture[str]
) -> None:
    (hostile.folder / "prompts").mkdir()
    main(["trust", str(hostile.folder / "prompts")])

    assert store.decision([hostile.folder]) is None
    assert f"its project is {hostile.folder}, which is not trusted" in capsys.readouterr().err


def test_a_folder_cannot_bring_its_own_decisions(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a configuration folder is called in an environment without a home.
    TrustStore(hostile.folder / "~" / "trust.json").decide(hostile.folder, trusted=True)
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", "~")
    monkeypatch.chdir(hostile.folder)

    assert main(["render", "prompt.yml.j2"]) == 2
    assert not hostile.has_run


# -- pytest ------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "passed"), [((), False), (("--promptls-trust",), True)])
def test_prompt_files_are_tests_only_in_a_trusted_folder(
    hostile: Hostile, options: tuple[str, ...], passed: bool
) -> None:
    text = hostile.prompt.read_text().replace("metrics: [", "thresholds: {right: 0.5}\n    metrics: [")
    hostile.prompt.write_text(text)
    plugins = {  # all that are installed take a second
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "promptls.pytest_plugin.plugin,pytest_asyncio.plugin",
    }

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--promptls", "prompt.yml.j2", *options],
        cwd=hostile.folder, env={**hostile.environment(), **plugins}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert (done.returncode == 0) is passed, done.stdout
    assert hostile.has_run is passed
    assert ("`--promptls-trust` trusts it this time" in done.stdout) is not passed
