"""Runs started outside of VS Code, followed by the results panel."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from code_server import CodeServer
from playwright.sync_api import expect
from workbench import Workbench

from support.experiment_folder import Folder

# Each row takes a moment to score, so that a run is seen while it goes on.
METRICS = """
import time
from promptls import discrete_metric

@discrete_metric(name="right", allowed_values=["yes", "no"])
def right(response, expected_answer):
    time.sleep(0.2)
    return "yes" if response == expected_answer else "no"
"""


def test_a_run_in_a_terminal_is_followed_and_shown_when_it_ends(
    code_server: CodeServer, tmp_path: Path, open_folder: Callable[[CodeServer, Path], Workbench]
) -> None:
    folder = Folder(tmp_path).write(metrics="metrics.py:right", settings="concurrency: 1", rows=20)
    (tmp_path / "metrics.py").write_text(METRICS, "utf-8")
    command = [sys.executable, "-m", "promptls", "run", str(folder.prompt)]
    subprocess.run([*command, "--rows", "4"], check=True, capture_output=True)
    workbench = open_folder(code_server, tmp_path)
    workbench.open_file(folder.prompt.name)
    workbench.click_lens("right")
    results = workbench.panel("share of yes")
    totals = results.get_by_role("region", name="Totals")
    expect(totals).to_contain_text(re.compile(r"rows\s*4"))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
        expect(results.get_by_role("progressbar", name="Progress of main")).to_be_visible()
        expect(results.get_by_text(re.compile(r"\d+ of 20 rows"))).to_be_visible()
        workbench.screenshot("going on")
        assert run.wait() == 0
    expect(totals).to_contain_text(re.compile(r"rows\s*20"))
    expect(results.get_by_role("progressbar")).to_have_count(0)
