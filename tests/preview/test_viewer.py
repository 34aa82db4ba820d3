"""The data of an evaluation prompt for the page."""

from __future__ import annotations

from pathlib import Path

from promptls.preview.preview_result import RenderingChoice, chosen_sample, preview_job, preview_result
from promptls.rendering.execute import execute
from promptls.rendering.file_rendering import FileRendering
from promptls.workspace.workspace import Workspace

PROMPT = """\
reader_cfg: {input_columns: [q], output_column: a}
path: rows.csv
examples: [{q: zero, a: "0"}]
ice_template: {template: "{q}={a}"}
prompt_template: {template: {"A": "</E>{q} A", "B": "</E>{q} B"}, ice_token: "</E>"}
retriever: {type: FixKRetriever, fix_id_list: [0]}
inferencer: {type: PPLInferencer}
meta_template: {round: [{role: HUMAN}]}
"""


def test_a_row_has_a_prompt_for_each_label_and_meta_templates_to_choose_from(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("q,a\none,A\ntwo,B\n", "utf-8")
    prompt = tmp_path / "ask.yml.j2"
    prompt.write_text(PROMPT, "utf-8")
    workspace = Workspace([tmp_path], trusted=True)
    workspace.scan()
    snapshot, path = workspace.snapshot, str(prompt)
    choice = RenderingChoice.from_json({"row": 1, "metaTemplate": "none"})
    sample = chosen_sample(snapshot, path, choice.data)
    job = preview_job(snapshot, path, sample, choice)
    result = preview_result(snapshot, path, FileRendering(job, sample, execute(job)), str)
    assert result["viewer"] == {
        "rows": 2,
        "row": 1,
        "prompts": [
            {"label": "A", "text": "zero=0\ntwo A", "tokens": 6},
            {"label": "B", "text": "zero=0\ntwo B", "tokens": 6},
        ],
        "examples": [{"row": 0, "text": "zero=0", "tokens": 3}],
        "dropped": [],
        "inferencer": "PPLInferencer",
        "retriever": "FixKRetriever",
        "approximation": None,
        "metaTemplate": "none",
        "metaTemplates": ["meta_template", "none", "chat"],
    }
    assert result["dataset"] == "rows.csv"
    assert [part["name"] for part in result["rendering"]["parts"]] == ["A", "B"]
