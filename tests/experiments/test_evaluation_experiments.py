"""Experiments on evaluation prompts: rows are asked as OpenCompass asks them, and labels cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.datasets.files import open_dataset
from promptls.experiments.definition import define_experiment
from promptls.experiments.row_rendering import RowRenderer
from promptls.text.errors import UsageError

PROMPT = """\
ice_template: {template: "Q: {q}; A: {a}"}
prompt_template:
  ice_token: "</E>"
  template:
    begin: [{role: SYSTEM, fallback_role: HUMAN, prompt: Be brief.}]
    round:
      - {role: HUMAN, prompt: "</E>{q}"}
      - {role: BOT, prompt: "{a}"}
retriever: {type: SlidingWindowRetriever, k: 1}
inferencer: {type: GenInferencer}
reader_cfg: {input_columns: [q], output_column: a}
experiments:
  first: {dataset: other.csv}
  second: {dataset: rows.csv}
"""


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("q,a\none,1\ntwo,2\nthree,3\n", "utf-8")
    path = tmp_path / "ask.yml.j2"
    path.write_text(PROMPT, "utf-8")
    return path


async def test_a_row_is_asked_with_its_own_examples_and_without_its_answer(prompt: Path) -> None:
    experiment = define_experiment(prompt, "second")
    assert experiment.output_key == "a"
    renderer = RowRenderer(experiment)
    try:
        rendered = [await renderer.render(row) for row in open_dataset(experiment.dataset).rows()]
    finally:
        await renderer.close()
    assert [each.error for each in rendered] == [None, None, None]
    assert [each.messages[1]["content"] for each in rendered] == [
        "Q: three; A: 3\none",
        "Q: one; A: 1\ntwo",
        "Q: two; A: 2\nthree",
    ]
    assert rendered[0].messages[0] == {"role": "system", "content": "Be brief."}
    assert len(rendered[0].messages) == 2


def test_labels_that_are_weighed_cannot_be_asked(prompt: Path) -> None:
    prompt.write_text(PROMPT.replace("GenInferencer", "PPLInferencer"), "utf-8")
    with pytest.raises(UsageError, match="log-probabilities of whole prompts, which chat models do not tell"):
        define_experiment(prompt, "second")
