"""Evaluation prompts that fail on their rows, which only rendering shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.runner import check_rendering
from promptls.rendering.execute import execute
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.make import job_for
from promptls.rendering.samples import samples_of
from promptls.workspace.workspace import Workspace

PROMPT = """\
reader_cfg: {input_columns: [q], output_column: a}
path: rows.csv
ice_template: {template: {A: "{q} A", B: "{q} B"}}
prompt_template: {template: {A: "</E>{q} A", B: "</E>{q} B"}, ice_token: "</E>"}
retriever: {type: FixKRetriever, fix_id_list: [0, 1]}
inferencer: {type: PPLInferencer}
"""
BY_WORDS = (
    PROMPT.replace("[q]", "[q, z]").replace("FixK", "BM25").replace("fix_id_list: [0, 1]", "ice_num: 1")
)
ROWS = "q,a\none,A\ntwo,B\n"


@pytest.mark.parametrize(
    ("text", "rows", "found"),
    [
        (PROMPT, ROWS, []),
        (PROMPT, "q,a\none,A\ntwo,C\n", [(2, "`ice_template` has no template for the label `C`")]),
        (PROMPT, "q,a\none,A\n", [(4, "`fix_id_list` names the training row 1, and there are 1")]),
        (BY_WORDS, ROWS, [(0, "The dataset has no column `z`")]),
        (PROMPT.replace("FixK", "MDL").replace(", fix_id_list: [0, 1]", ""), ROWS, []),
        (PROMPT.replace(', ice_token: "</E>"', ""), "q,a\none,C\n", []),
        (PROMPT.replace("prompt_template", "promt_template"), ROWS, []),
        (PROMPT.replace("rows.csv", "hub/name"), ROWS, []),
    ],
    ids=["right", "answer", "row", "column", "unknown to promptls", "found without rows", "typo", "no rows"],
)  # fmt: skip
def test_what_the_rows_make_fail_is_found(
    tmp_path: Path, text: str, rows: str, found: list[tuple[int, str]]
) -> None:
    (tmp_path / "rows.csv").write_text(rows, "utf-8")
    path = str(tmp_path / "ask.yml.j2")
    Path(path).write_text(text, "utf-8")
    workspace = Workspace([tmp_path], trusted=True)
    workspace.scan()
    snapshot = workspace.snapshot
    sample = samples_of(snapshot, path)[0]
    job = job_for(snapshot, path, sample.data, with_stand_ins=True)
    findings = check_rendering(snapshot, path, FileRendering(job, sample, execute(job)))
    assert [finding.rule for finding in findings] == ["failing-rendering"] * len(found)
    for finding, (line, message) in zip(findings, found, strict=True):
        template = snapshot.template(path)
        assert template is not None
        assert template.source.line_column(finding.span.start).line == line
        assert message in finding.message
