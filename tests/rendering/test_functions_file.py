"""Functions of a user's file can be called from templates, and run only in the worker."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.worker import RenderWorker

MakeJob = Callable[..., RenderJob]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def helpers(tmp_path: Path) -> Path:
    return tmp_path / "helpers.py"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


async def string(worker: RenderWorker, job: RenderJob) -> str | None:
    outcome = await worker.render(job)
    assert isinstance(outcome, Rendering), outcome
    return outcome.string


async def failure(worker: RenderWorker, job: RenderJob) -> RenderFailure:
    outcome = await worker.render(job)
    assert isinstance(outcome, RenderFailure), outcome
    return outcome


def calling(make_job: MakeJob, expression: str, helpers: Path, **fields: object) -> RenderJob:
    return make_job(f"- name: a\n  content: x{{{{ {expression} }}}}", functions=str(helpers), **fields)


async def test_a_public_function_can_be_called(
    worker: RenderWorker, make_job: MakeJob, helpers: Path
) -> None:
    write(helpers, "from functools import cache\n@cache\ndef shout(text):\n    return text.upper()\n")
    assert await string(worker, calling(make_job, "shout('a')", helpers)) == "xA"


async def test_private_and_imported_names_are_left_out(
    worker: RenderWorker, make_job: MakeJob, helpers: Path
) -> None:
    write(helpers, "from os import getcwd\ndef _hidden():\n    return 1\nclass Thing: ...\n")
    assert await string(worker, calling(make_job, "getcwd is defined", helpers)) == "xFalse"
    assert await string(worker, calling(make_job, "_hidden is defined", helpers)) == "xFalse"
    assert await string(worker, calling(make_job, "Thing is defined", helpers)) == "xFalse"


async def test_names_chosen_in_all_are_taken(worker: RenderWorker, make_job: MakeJob, helpers: Path) -> None:
    write(helpers, "from math import floor\n__all__ = ['floor']\ndef other(): ...\n")
    assert await string(worker, calling(make_job, "floor(2.5) ~ (other is defined)", helpers)) == "x2False"


async def test_data_come_before_functions(worker: RenderWorker, make_job: MakeJob, helpers: Path) -> None:
    write(helpers, "def who():\n    return 'function'\n")
    assert await string(worker, calling(make_job, "who", helpers, data={"who": "data"})) == "xdata"


async def test_a_change_of_the_file_or_of_one_it_imports_counts(
    worker: RenderWorker, make_job: MakeJob, helpers: Path
) -> None:
    write(helpers, "from beside import number\ndef give():\n    return number\n")
    beside = helpers.with_name("beside.py")
    write(beside, "number = 1\n")
    assert await string(worker, calling(make_job, "give()", helpers)) == "x1"
    write(beside, "number = 22\n")
    assert await string(worker, calling(make_job, "give()", helpers)) == "x22"
    assert not list(helpers.parent.rglob("__pycache__"))


async def test_two_projects_may_name_their_modules_alike(
    worker: RenderWorker, make_job: MakeJob, tmp_path: Path
) -> None:
    for project in ("one", "two"):
        write(tmp_path / project / "shared_name.py", f"name = {project!r}\n")
        helpers = tmp_path / project / "helpers.py"
        write(helpers, "from shared_name import name\ndef give():\n    return name\n")
        assert await string(worker, calling(make_job, "give()", helpers)) == f"x{project}"


async def test_the_unsaved_text_of_the_file_counts(
    worker: RenderWorker, make_job: MakeJob, helpers: Path
) -> None:
    unsaved = {str(helpers): "def give():\n    return 'typed'\n"}
    assert await string(worker, calling(make_job, "give()", helpers, unsaved=unsaved)) == "xtyped"


async def test_prints_and_reads_do_not_disturb_the_worker(
    worker: RenderWorker, make_job: MakeJob, helpers: Path
) -> None:
    write(
        helpers,
        "import os, sys\ndef noisy():\n    print('x' * 10000)\n    os.write(1, b'raw')\n"
        "    os.system('echo shell')\n    return sys.stdin.read()\n",
    )
    assert await string(worker, calling(make_job, "noisy()", helpers)) == "x"
    assert await worker.count(["hello"], "o200k_base") == [1]


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("def f(:\n", 0, "is not valid Python"),
        ("\n\nimport nothing_of_that_name\n", 2, "ModuleNotFoundError"),
        ("def g():\n    return 1 / 0\ng()\n", 1, "ZeroDivisionError"),
        ("import sys\nsys.exit(3)\n", 1, "SystemExit: 3"),
    ],
)
async def test_an_error_in_the_file_names_its_line(
    worker: RenderWorker, make_job: MakeJob, helpers: Path, source: str, line: int, message: str
) -> None:
    write(helpers, source)
    found = await failure(worker, calling(make_job, "f()", helpers))
    assert (found.kind, found.path, found.line) == ("functions", str(helpers), line)
    assert message in found.message


async def test_an_error_in_a_called_function_names_both_places(
    worker: RenderWorker, make_job: MakeJob, helpers: Path
) -> None:
    write(helpers, "def f():\n    raise ValueError('no luck')\n")
    found = await failure(worker, calling(make_job, "f()", helpers))
    assert (found.kind, found.line) == ("render", 1)
    assert "ValueError: no luck (line 2 of helpers.py)" in found.message


async def test_a_function_that_exits_does_not_end_the_worker(
    worker: RenderWorker, make_job: MakeJob, helpers: Path
) -> None:
    write(helpers, "import sys\ndef f():\n    sys.exit(1)\n")
    found = await failure(worker, calling(make_job, "f()", helpers))
    assert (found.kind, found.path) == ("functions", str(helpers))


async def test_a_missing_file_is_reported(worker: RenderWorker, make_job: MakeJob, helpers: Path) -> None:
    found = await failure(worker, calling(make_job, "f()", helpers))
    assert (found.kind, "cannot be read" in found.message) == ("functions", True)


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("raise BaseException('enough')", "(BaseException: enough)"),
        ("raise GeneratorExit", "(GeneratorExit)"),
        ("exit(3)", "(SystemExit: 3)"),
    ],
)
async def test_a_function_that_would_end_the_process_is_a_failure_with_both_places(
    worker: RenderWorker, make_job: MakeJob, helpers: Path, does: str, words: str
) -> None:
    write(helpers, f"def leave():\n    {does}\n")
    found = await failure(worker, calling(make_job, "leave()", helpers))
    assert (found.kind, found.path, found.line) == ("functions", str(helpers), 1)
    assert "at line 2 of helpers.py, called at line 2 of prompt.yml.j2" in found.message
    assert words in found.message


async def test_a_function_that_calls_itself_is_to_blame_and_not_the_template(
    worker: RenderWorker, make_job: MakeJob, helpers: Path
) -> None:
    write(helpers, "def deeper():\n    return deeper()\n")
    found = await failure(worker, calling(make_job, "deeper()", helpers))
    assert found.message == "A function calls itself without end (line 2 of helpers.py)."


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
async def test_a_process_that_a_function_leaves_behind_answers_nothing(
    worker: RenderWorker, make_job: MakeJob, helpers: Path
) -> None:
    write(helpers, "import os\ndef split():\n    os.fork()\n    return 'one'\n")
    assert await string(worker, calling(make_job, "split()", helpers)) == "xone"
    write(helpers, "def split():\n    return 'two'\n")
    assert await string(worker, calling(make_job, "split()", helpers)) == "xtwo"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
async def test_a_process_that_a_function_leaves_behind_ends(
    worker: RenderWorker, make_job: MakeJob, helpers: Path
) -> None:
    split = "import os\nchildren = []\ndef split():\n    children.append(os.fork())\n    return 'one'\n"
    waited = "def waited():\n    return os.waitpid(children[-1], 0)[1]\n"
    write(helpers, split + waited)
    assert await string(worker, calling(make_job, "split()", helpers)) == "xone"
    assert await string(worker, calling(make_job, "waited()", helpers)) == "x0"
