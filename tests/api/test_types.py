"""The types of the library, as a type checker reports them to its users."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import promptls
from promptls import Datset
from promptls.metrics import DiscreteMetrics, Faithfulness
from promptls.metrics.collections import ChrfScore
from promptls.metrics.discrete import DiscreteMetric

reveal_type(DiscreteMetric(name="right").score)
reveal_type(Faithfulness(llm="local:smollm2"))
DiscreteMetric(nme="right")
promptls.laod("prompt.yml.j2")
"""


def test_a_type_checker_knows_the_names_that_are_loaded_on_first_use(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, "utf-8")

    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(program)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout

    lines = [line.split(":")[1] for line in found.splitlines() if ": error:" in line]
    assert lines == ["2", "3", "9", "10"], found
    assert 'Revealed type is "promptls.metrics.collections.Faithfulness"' in found
