"""`promptls check` reuses the results of earlier runs while nothing that they depend on has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from promptls import facts
from promptls.cli import checked
from promptls.cli.check_cache import FileResult
from promptls.cli.chosen_files import choose
from promptls.cli.main import main
from promptls.lint.registry import RULES
from promptls.rendering.worker import Limits, RenderWorker

EXAMPLE = Path(__file__).parents[2] / "examples" / "support_triage"
TYPO = "- {name: a, role: user, content: '{{ text | uper }}'}\n"
FINE = "- {name: a, role: user, content: Hello.}\n"


@pytest.fixture
def caches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache folder of the commands in an empty folder."""
    caches = folder / ".caches"
    monkeypatch.setenv("PROMPTLS_CACHE_DIR", str(caches))
    return caches


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files that are not taken from the cache."""
    names: list[str] = []
    check_file = checked._check_file

    async def noted(
        job: checked._Job, path: str, workers: dict[Limits, RenderWorker]
    ) -> tuple[FileResult, bool]:
        names.append(Path(path).name)
        return await check_file(job, path, workers)

    monkeypatch.setattr(checked, "_check_file", noted)
    return names


def write(file: Path, text: str) -> None:
    """Write a file with a modification time some seconds ago."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    settle(file, file.parent)


def settle(*paths: Path) -> None:
    """Make all changes of these files and folders older than the resolution of the clock."""
    ago = time.time() - 60
    for path in paths:
        os.utime(path, (ago, ago))


def report(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return the report of `promptls check`."""
    main(["check", *options])
    return capsys.readouterr().out


def test_an_unchanged_file_is_not_checked_again(
    folder: Path, caches: Path, checks: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "a.yml.j2", TYPO)
    write(folder / "b.yml.j2", FINE)
    first = report(capsys)

    assert report(capsys) == first
    assert "unknown-filter" in first
    assert checks == ["a.yml.j2", "b.yml.j2"]


def test_a_stored_result_is_valid_in_a_process_that_loads_no_rules(folder: Path, caches: Path) -> None:
    write(folder / "a.yml.j2", FINE)
    program = (
        "import sys; from promptls.cli.main import main; main(['check']); print(*sys.modules, sep='\\n')"
    )
    first, second = (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )

    assert "promptls.lint.registry" in first
    assert "promptls.lint.registry" not in second


def test_only_what_a_change_affects_is_checked_again(
    folder: Path, caches: Path, checks: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "a.yml.j2", "{% include 'c.yml.j2' %}\n")
    write(folder / "b.yml.j2", FINE)
    write(folder / "c.yml.j2", FINE)
    report(capsys)
    checks.clear()

    write(folder / "c.yml.j2", TYPO)
    report(capsys)

    assert checks == ["a.yml.j2", "c.yml.j2"]


def test_a_result_is_found_in_a_new_checkout_with_other_times(
    folder: Path, caches: Path, checks: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "a.yml.j2", FINE)
    report(capsys)

    os.utime(folder / "a.yml.j2")
    report(capsys)

    assert checks == ["a.yml.j2"]


def test_a_file_that_has_just_changed_is_not_stored(
    folder: Path, caches: Path, checks: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.yml.j2").write_text(FINE, "utf-8")
    report(capsys)
    report(capsys)

    assert checks == ["a.yml.j2", "a.yml.j2"]


@pytest.mark.parametrize("options", [["--no-cache"], ["--no-render"], ["--select", "unknown-filter"]])
def test_other_options_have_results_of_their_own(
    folder: Path, caches: Path, checks: list[str], capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    write(folder / "a.yml.j2", FINE)
    report(capsys)
    report(capsys, *options)

    assert checks == ["a.yml.j2", "a.yml.j2"]


def test_a_damaged_database_is_replaced(
    folder: Path, caches: Path, checks: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "a.yml.j2", TYPO)
    caches.mkdir()
    (caches / "check.sqlite").write_bytes(b"no database, " * 400)

    first = report(capsys)

    assert report(capsys) == first
    assert checks == ["a.yml.j2"]


def test_a_cache_folder_that_cannot_be_used_does_not_matter(
    folder: Path, caches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "a.yml.j2", TYPO)
    caches.write_text("no folder")

    assert "unknown-filter" in report(capsys)


CHANGES: dict[str, Callable[[Path], None]] = {
    "the included file gets a mistake": lambda folder: write(
        folder / "sections/labels.yml.j2", "{{ a | b }}"
    ),
    "the included file disappears": lambda folder: (folder / "sections/labels.yml.j2").unlink(),
    "a new file includes this one": lambda folder: write(
        folder / "new.yml.j2", "- {name: a, role: user, content: '{% include \"triage_v1.yml.j2\" %}'}\n"
    ),
    "the settings turn a rule off": lambda folder: write(
        folder / "promptls.toml", "[rules]\nunknown-filter = 'off'\n"
    ),
    "the samples are broken": lambda folder: write(folder / "samples/tickets.yml", "a: [\n"),
    "the samples disappear": lambda folder: (folder / "samples/tickets.yml").unlink(),
    "the dataset loses a column": lambda folder: write(folder / "datasets/support_triage.csv", "a,b\n1,2\n"),
    "the metrics file loses its metric": lambda folder: write(folder / "metrics.py", "x = 1\n"),
    "a program calls the prompt without its inputs": lambda folder: write(
        folder / "app.py",
        "from prompt_poet import Prompt\nPrompt(template_path='triage_v1.yml.j2', template_data={'a': 1})\n",
    ),
    "the folder of the dataset becomes a file": lambda folder: (
        shutil.rmtree(folder / "datasets"),
        write(folder / "datasets", ""),
    )[1],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_anything_that_a_prompt_depends_on_is_noticed(
    folder: Path, caches: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Path], None]
) -> None:
    example = folder / "example"
    shutil.copytree(EXAMPLE, example, ignore=shutil.ignore_patterns("experiments", "__pycache__"))
    with (example / "triage_v1.yml.j2").open("a", encoding="utf-8") as stream:
        stream.write("- {name: a, role: user, content: '{{ ticket | uper }}'}\n")
    settle(*example.rglob("*"), example)
    before = report(capsys, "example")
    report(capsys, "example")

    change(example)
    settle(*example.rglob("*"), example)

    after = report(capsys, "example")
    assert after == report(capsys, "example", "--no-cache")
    assert after != before


class Audit:
    """Records the files and folders that this process opens outside of recorded questions."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.is_on = False
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.is_on and event in {"open", "os.listdir", "os.scandir"}:
            self.paths.add(str(arguments[0]))

    @contextmanager
    def during(self, *, on: bool) -> Iterator[None]:
        """Turn recording on or off inside the `with` block."""
        before, self.is_on = self.is_on, on
        yield
        self.is_on = before


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> Audit:
    """Record what is opened, except by recorded questions, because these are asked again."""
    audit, unrecorded = Audit(), facts.unrecorded

    def unnoted(*arguments: Any, **named: Any) -> Any:
        with audit.during(on=False):
            return unrecorded(*arguments, **named)

    monkeypatch.setattr(facts, "unrecorded", unnoted)
    return audit


def test_everything_that_is_read_is_recorded(folder: Path, audit: Audit) -> None:
    shutil.copytree(EXAMPLE, folder / "example", ignore=shutil.ignore_patterns("experiments", "__pycache__"))
    rules = {rule.name for rule in RULES}
    prompts = sorted(map(str, (folder / "example").rglob("*.yml.j2")))
    assert len(prompts) == 6
    for prompt in prompts:
        snapshot = choose([prompt]).snapshot
        with facts.recording() as reads, audit.during(on=True):
            checked.checked_file(snapshot, prompt, rules)

        recorded = {str(path) for question in reads.answers for path in question.arguments}
        assert {path for path in audit.paths if path.startswith(str(folder))} <= recorded
        audit.paths.clear()
