from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode, urlsafe_b64encode
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from promptls.models.masking import key_mask
from promptls.models.model import ModelReference
from support.experiment_folder import Folder, last_text, table
from support.model_server import ModelServer, Reply
from support.unfinished import stored_results, unfinished_run

PLANTED = {
    "OFFICE_KEY": "planted-office-0123456789",
    "OPENAI_API_KEY": "planted-openai-0123456789",
    "ANTHROPIC_API_KEY": "planted-anthropic-0123456789",
    "AWS_SECRET_ACCESS_KEY": "planted-aws-0123456789",
    "DATABASE_PASSWORD": "planted-password-0123456789",
    "GITHUB_TOKEN": "planted-token-0123456789",
}
LEAKS = """
import os
from promptls import numeric_metric, discrete_metric, MetricResult

@numeric_metric(name="broken")
def broken(response):
    raise KeyError(os.environ["DATABASE_PASSWORD"])

@discrete_metric(name="told", allowed_values=["yes"])
def told(response):
    return MetricResult("yes", "with " + os.environ["GITHUB_TOKEN"])
"""
FAILS = "import os\nraise RuntimeError('cannot log in with ' + os.environ['DATABASE_PASSWORD'])\n"


def promptls(folder: Folder, *words: str) -> subprocess.CompletedProcess[str]:
    """Return the command line with planted keys in its environment."""
    return subprocess.run(
        [sys.executable, "-m", "promptls", *words],
        cwd=folder.path,
        env={**os.environ, **PLANTED},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def leaks(folder: Folder, *told: subprocess.CompletedProcess[str]) -> list[str]:
    """Return where a planted key appears: in a file below the folder, or in the output of a command."""
    found = [
        str(path)
        for path in folder.path.rglob("*")
        if path.is_file() and any(key.encode() in path.read_bytes() for key in PLANTED.values())
    ]
    printed = "".join(each.stdout + each.stderr for each in told)
    return found + [name for name, key in PLANTED.items() if key in printed]


@pytest.fixture
def leaking(folder: Folder, server: ModelServer) -> Folder:
    """Return an experiment whose model and metrics try to leak keys."""
    folder.serve(server, api_key_env="OFFICE_KEY")
    folder.write(model="office", metrics="leaks.py:broken, leaks.py:told, exact_match", rows=4)
    (folder.path / "leaks.py").write_text(LEAKS, "utf-8")
    rows = folder.path / "rows.csv"
    rows.write_text(rows.read_text("utf-8").replace("answer", "expected"), "utf-8")
    folder.prompt.write_text(folder.prompt.read_text("utf-8").replace("output_key: answer\n", ""), "utf-8")
    server.reply = lambda body: (
        Reply(status=400, raw=f"bad: {PLANTED['OFFICE_KEY']}".encode())
        if last_text(body) == "text 2"
        else Reply(f"the key is {PLANTED['OFFICE_KEY']}, and {PLANTED['OPENAI_API_KEY']}")
    )
    return folder


def test_no_key_is_in_a_file_or_in_what_is_printed(leaking: Folder, server: ModelServer) -> None:
    run = promptls(leaking, "run", str(leaking.prompt), "--junit", "report.xml")
    assert run.returncode == 1, run.stderr
    assert server.headers[0]["Authorization"] == f"Bearer {PLANTED['OFFICE_KEY']}"
    again = promptls(leaking, "run", str(leaking.prompt), "--json")
    others = [
        promptls(leaking, *words) for words in (["history", "--json"], ["models", "--json"], ["doctor"])
    ]
    assert "[key]" in next(leaking.results.glob("*.csv")).read_text("utf-8")
    assert leaks(leaking, run, again, *others) == []


def test_a_run_that_stopped_has_no_key_in_its_journal(leaking: Folder) -> None:
    run = promptls(leaking, "run", str(leaking.prompt), "--max-calls", "3")
    assert run.returncode == 1
    assert stored_results(unfinished_run(leaking.results))
    assert leaks(leaking, run) == []


def test_a_failure_does_not_reveal_a_key(leaking: Folder) -> None:
    (leaking.path / "leaks.py").write_text(FAILS, "utf-8")
    settings = leaking.path / "promptls.toml"
    known = settings.read_text("utf-8") if settings.is_file() else ""
    settings.write_text('environment = ["DATABASE_PASSWORD"]\n' + known, "utf-8")
    run = promptls(leaking, "run", str(leaking.prompt))
    assert run.returncode == 1
    assert "cannot log in with [key]" in run.stderr
    assert leaks(leaking, run) == []


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("MY_API_KEY", True),
        ("SECRET_SAUCE", True),
        ("HF_TOKEN", True),
        ("PGPASSWORD", True),
        ("KEYBOARD", False),
        ("PATH", False),
        ("MONKEY", False),
    ],
)
def test_a_variable_is_a_secret_by_its_name(name: str, is_secret: bool) -> None:
    mask = key_mask(environment={name: "value-of-it"})
    assert (mask.mask("a value-of-it b") == "a [key] b") is is_secret


def test_short_values_are_no_secrets_and_long_ones_go_first() -> None:
    mask = key_mask(environment={"A_KEY": "short", "B_KEY": "longer-one", "C_KEY": "longer-one-still"})
    assert mask.mask("short longer-one-still longer-one") == "short [key] [key]"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("told: longer-one-…", "told: [key]…"),
        ("told: long… and longer-o…", "told: [key]… and [key]…"),
        ("lon…", "lon…"),
        ("longer words", "longer words"),
    ],
)
def test_a_secret_that_was_cut_in_the_middle_is_masked_too(text: str, masked: str) -> None:
    assert key_mask(environment={"C_KEY": "longer-one-still"}).mask(text) == masked


AWKWARD = 'sk-awkward/A+b=7 Qz"81'


@pytest.mark.parametrize(
    "sent",
    [
        quote(AWKWARD),
        quote(AWKWARD, safe=""),
        quote_plus(AWKWARD),
        json.dumps(AWKWARD),
        *(b64encode(before + AWKWARD.encode() + b"!").decode() for before in (b"", b"u", b"ab", b"user:")),
        urlsafe_b64encode(AWKWARD.encode()).decode(),
    ],
)
def test_a_secret_is_masked_in_every_form_that_a_server_may_send_it_back(sent: str) -> None:
    masked = key_mask(environment={"A_KEY": AWKWARD}).mask(f"you sent {sent}, which is wrong")
    assert "[key]" in masked
    # At the ends of base64 a character may be left, which tells of what stands beside the secret.
    assert len(masked) <= len("you sent [key], which is wrong") + 12


@pytest.mark.parametrize(
    ("secret", "settings"),
    [
        ("planted-password-1", {"base_url": "http://bob:planted-password-1@host/v1"}),
        ("planted query+2", {"base_url": "http://host/v1?api-key=planted%20query%2B2"}),
        ("planted-header-3", {"parameters": {"extra_headers": {"x-api-key": "planted-header-3"}}}),
        ("planted-bearer-4", {"parameters": {"Authorization": "planted-bearer-4"}}),
    ],
)
def test_secrets_of_a_models_address_and_parameters_are_masked(secret: str, settings: dict[str, Any]) -> None:
    mask = key_mask([ModelReference("office", "openai", "small", **settings)], environment={})
    assert mask.mask(f"not {secret}, {quote(secret, safe='')}") == "not [key], [key]"


async def test_every_word_of_an_answer_is_masked(
    folder: Folder, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFICE_KEY", AWKWARD)
    folder.serve(server, api_key_env="OFFICE_KEY").write(model="office")
    choice = {"message": {"role": "assistant", "content": AWKWARD}, "finish_reason": AWKWARD}
    answer = {"model": AWKWARD, "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    server.reply = lambda _body: Reply(raw=json.dumps(answer).encode())
    finished = await folder.ask()
    assert {(row["response"], row["finish_reason"]) for row in table(finished)} == {("[key]", "[key]")}
    assert (folder.results / ".cache" / "results.sqlite").is_file()
    kept = b"".join(path.read_bytes() for path in folder.results.rglob("*") if path.is_file())
    assert b"sk-awkward" not in kept


def test_a_key_in_the_place_of_its_variables_name_is_not_repeated(folder: Folder) -> None:
    (folder.path / "promptls.toml").write_text(
        '[models.office]\nprovider = "openai"\nmodel = "small"\napi_key_env = "sk-planted-by-mistake"\n'
    )
    for words in (
        ["models"],
        ["models", "office", "--try"],
        ["run", str(folder.prompt), "--model", "office"],
    ):
        told = promptls(folder, *words)
        assert "sk-planted-by-mistake" not in told.stdout + told.stderr


def test_a_long_error_that_quotes_every_key_reveals_none_of_them(
    leaking: Folder, server: ModelServer
) -> None:
    for length in range(250, 300, 7):
        told = "x" * length + " ".join(PLANTED.values())
        server.queue.append(Reply(status=400, raw=told.encode()))
    (leaking.path / "rows.csv").write_text(
        "id,text,expected\n" + "".join(f"{n},text 9,a\n" for n in range(8)), "utf-8"
    )
    run = promptls(leaking, "run", str(leaking.prompt), "--fresh", "--junit", "report.xml")
    files = [path for path in leaking.path.rglob("*") if path.is_file()]
    told = run.stdout + run.stderr + "".join(path.read_text("utf-8", "replace") for path in files)
    assert "xxxx" in told
    assert "planted-" not in told.replace("planted-[key]", "")
