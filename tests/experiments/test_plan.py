from __future__ import annotations

import pytest

from promptls.experiments.plan import plan_run
from promptls.experiments.row_choice import parse_rows
from promptls.models import weights
from promptls.text.errors import UsageError, UserError
from support.experiment_folder import Folder
from support.model_server import ModelServer


async def test_every_row_is_rendered_before_any_model_is_asked(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", rows=5, settings="repeats: 2")
    plan = await plan_run(folder.experiment())
    assert (plan.results, plan.calls, len(set(plan.digests))) == (10, 10, 5)
    assert plan.rendered.tokens == 5 * 3
    assert server.requests == []


async def test_rows_that_do_not_render_are_counted_and_named(folder: Folder) -> None:
    text = folder.prompt.read_text(encoding="utf-8")
    folder.prompt.write_text(
        text.replace("{{ escape_special_characters(text) }}", "{{ 1 // (text[-1] | int - 2) }}"),
        encoding="utf-8",
    )
    plan = await plan_run(folder.experiment())
    assert [(row.number, row.line) for row in plan.rendered.failing] == [(2, 2)]
    assert "division" in plan.rendered.failing[0].message
    assert plan.calls == 3


async def test_equal_renderings_have_equal_hashes(folder: Folder) -> None:
    (folder.path / "rows.csv").write_text("text,answer\nsame,1\nsame,2\nother,3\n", encoding="utf-8")
    first, second, third = (await plan_run(folder.experiment())).digests
    assert first == second != third


async def test_included_files_are_part_of_the_plan(folder: Folder) -> None:
    (folder.path / "part.yml.j2").write_text("- name: p\n  content: c\n", encoding="utf-8")
    with folder.prompt.open("a", encoding="utf-8") as stream:
        stream.write('{% include "part.yml.j2" %}\n')
    assert str(folder.path / "part.yml.j2") in (await plan_run(folder.experiment())).files


async def test_only_declared_inputs_reach_the_prompt(folder: Folder) -> None:
    with folder.prompt.open("a", encoding="utf-8") as stream:
        stream.write("- name: leak\n  content: 'x{{ answer }}'\n")
    plan = await plan_run(folder.experiment(), 1)
    assert plan.rendered.tokens == 3 + 1


async def test_the_row_limit_is_respected(folder: Folder) -> None:
    assert (await plan_run(folder.experiment(), 2)).results == 2


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        *(("2", "2"), ("3", ""), ("5", "")),
        *(("1-2", "1-2"), ("2-99", "2-99"), ("1-3", ""), ("1-99", ""), ("3,1,2", "")),
        *(("row_number > 1", "row_number > 1"), ("row_number > 0", "")),
    ],
)
async def test_a_choice_that_leaves_out_no_row_is_all_rows(
    folder: Folder, server: ModelServer, rows: str, chosen: str
) -> None:
    folder.serve(server).write(model="office", rows=3)
    assert (await plan_run(folder.experiment(), parse_rows(rows))).choice.text == chosen


async def test_a_missing_column_names_the_columns_that_there_are(folder: Folder) -> None:
    (folder.path / "rows.csv").write_text("id,txt,answer\n1,a,b\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"no column `text`.*did you mean `txt`") as failure:
        await plan_run(folder.experiment())
    assert failure.value.place.path == folder.path / "rows.csv"
    assert "`id`, `txt`, `answer`" in failure.value.remedy


async def test_an_input_with_a_default_needs_no_column(folder: Folder) -> None:
    text = folder.prompt.read_text(encoding="utf-8")
    folder.prompt.write_text(text.replace("[text]", "{text: {default: hi}}"), encoding="utf-8")
    (folder.path / "rows.csv").write_text("id,answer\n1,b\n", encoding="utf-8")
    assert (await plan_run(folder.experiment())).rendered.failing == []


async def test_a_cell_of_an_input_that_is_a_list_is_read_as_json(folder: Folder) -> None:
    text = folder.prompt.read_text(encoding="utf-8").replace("[text]", "{text: {type: array}}")
    folder.prompt.write_text(text.replace("(text)", "(text[0].said)"), encoding="utf-8")
    (folder.path / "rows.csv").write_text('id,text,answer\n1,"[{""said"": ""a""}]",b\n', encoding="utf-8")
    assert (await plan_run(folder.experiment())).rendered.failing == []


async def test_a_metric_that_no_column_serves_fails_before_the_run(folder: Folder) -> None:
    (folder.path / "rows.csv").write_text("id,text\n1,a\n", encoding="utf-8")
    with pytest.raises(UsageError, match="the metric `right` needs `expected_answer`"):
        await plan_run(folder.experiment())


async def test_two_metrics_of_one_name_fail_before_the_run(folder: Folder) -> None:
    folder.write(metrics="metrics.py:right, metrics.py:right")
    with pytest.raises(UsageError, match="two metrics are named `right`"):
        await plan_run(folder.experiment())


async def test_a_data_set_without_rows_is_refused(folder: Folder) -> None:
    (folder.path / "rows.csv").write_text("id,text,answer\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no rows"):
        await plan_run(folder.experiment())


async def test_a_model_that_is_not_installed_fails_before_the_run(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda _name: None)
    folder.write(model="local:smollm2")
    with pytest.raises(UserError, match="not installed"):
        await plan_run(folder.experiment())


async def test_a_missing_key_fails_before_the_run(
    folder: Folder, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLANTED", raising=False)
    folder.serve(server, api_key_env="PLANTED").write(model="office")
    with pytest.raises(UserError, match="`PLANTED` is not set"):
        await plan_run(folder.experiment())


async def test_a_row_without_an_end_fails_alone_among_many(folder: Folder) -> None:
    folder.write(rows=30)
    (folder.path / "promptls.toml").write_text("[rendering]\ntimeout = 0.5\n", "utf-8")
    endless = "{% for a in range(10**10 if text == 'text 13' else 1) %}{% endfor %}\n- name: question"
    text = folder.prompt.read_text("utf-8").replace("- name: question", endless)
    folder.prompt.write_text(text, "utf-8")
    plan = await plan_run(folder.experiment())
    assert [row.number for row in plan.rendered.failing] == [13]
    assert "0.5 seconds" in plan.rendered.failing[0].message
    assert [row.number for row, _ in plan.rendered] == list(range(1, 31))
