# ruff: noqa: E501 - a setting stands on one line with what is said of it
from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.settings_problems import settings_problems
from promptls.workspace.settings import find_project


def test_a_severity_for_a_rule_that_does_not_exist_is_a_problem_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('[rules]\nunknown-role = "off"\nunknown-rol = "off"\n', "utf-8")

    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2"))

    assert problem.message == "there is no rule `unknown-rol`; did you mean `unknown-role`?"
    assert problem.place is not None
    assert problem.place.line == 2


def test_an_unknown_rule_of_the_editor_has_no_place(tmp_path: Path) -> None:
    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2", {"rules": {"no-such-rule": "off"}}))

    assert problem.place is None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('roles = []\nencoding = "o200k_bas"', 1, "`encoding`: there is no encoding, and no model"),
        ('functions = "no.py"', 0, "`functions`: there is no file `no.py`"),
        ('default_model = "ecko"', 0, "`default_model`: there is no model `ecko`; did you mean `echo`?"),
        ('judge = "ecko"', 0, "`judge`: there is no model `ecko`; did you mean `echo`?"),
        ('[models.a]\nprovider = "opnai"\nmodel = "x"', 1, "model `a`: "),
        ('default_model = "openai:gpt-4"', 0, "OpenAI retired `gpt-4` on 2026-10-23"),
        ('[models.a]\nprovider = "openai"\nmodel = "o1-mini"', 2, "OpenAI retired `o1-mini` on 2025-10-27"),
        ('default_model = "replay:gone.csv"', 0, "`default_model`: there is no file `gone.csv` to replay"),
        (
            '[models.a]\nprovider = "vllm"\nmodel = "x"\nbase_url = "htp://a/v1"',
            3,
            "`base_url` of `a` begins with",
        ),
        (
            '[models.a]\nprovider = "vllm"\nmodel = "x"\nbase_url = "http://a/v1/chat/completions"',
            3,
            "`base_url` of `a` ends before",
        ),
        (
            '[models.a]\nprovider = "vllm"\nmodel = "x"\nparameters = {temprature = 0}',
            3,
            "`temprature` is probably a typo of `temperature`",
        ),
        (
            '[models.a]\nprovider = "vllm"\nmodel = "x"\nparameters = {temperature = "0"}',
            3,
            "`temperature` is a number, and not",
        ),
        (
            "token_limit = 100\ntruncation_step = 200",
            1,
            "each truncation removes 200 tokens or more, and only",
        ),
        ("[meta_templates.a]\nrounds = []", 1, "OpenCompass ignores `rounds`; did you mean `round`?"),
        ("[meta_templates.a]\nbegin = []", 0, "meta template `a`: A meta template needs a `round`."),
        (
            '[meta_templates.a]\nround = [{role = "A"}, {role = "A"}]',
            1,
            "meta template `a`: The meta template has the role `A` twice.",
        ),
        (
            '[[meta_templates.a.round]]\nrole = "A"\ngenrate = true',
            0,
            "OpenCompass ignores `genrate`; did you mean `generate`?",
        ),
        ('judge = "a"\n[models.a]\nprovider = "openai"\nmodel = "o1-mini"', 3, "OpenAI retired `o1-mini`"),
    ],
)
def test_a_name_that_leads_to_nothing_is_a_problem_at_its_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    (tmp_path / "promptls.toml").write_text(text, "utf-8")

    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2"))

    assert problem.message.startswith(message)
    assert problem.place is not None
    assert problem.place.line == line


EXPERIMENTS = """\
[experiments.one]
dataset = "rows.csv"
metrics = ["exact_match", "metrics.py:right"]
models = ["echo"]

[experiments.two]
{0}
"""


@pytest.mark.parametrize("file", ["promptls.toml", "pyproject.toml"])
@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ('dataset = "row.csv"', "there is no file `row.csv` next to `{0}`; did you mean `rows.csv`?"),
        ('dataset = "rows.csv"\nmodels = ["ecko"]', "there is no model `ecko`; did you mean `echo`?"),
        (
            'dataset = "rows.csv"\nmetrics = ["exact_mach"]',
            "there is no metric `exact_mach`; did you mean `exact_match`?",
        ),
        (
            'dataset = "rows.csv"\nmetrics = ["exact_match"]\nthresholds = {exact_mach = 0.5}',
            "the experiment has no metric `exact_mach`; did you mean `exact_match`?",
        ),
        (
            'dataset = "rows.csv"\nmetrics = ["metrics.py:rigth"]',
            "`metrics.py` has no `rigth`; did you mean `metrics.py:right`?",
        ),
        (
            'dataset = "rows.csv"\nmetrics = ["metric.py:right"]',
            "there is no file `metric.py` next to `{0}`; did you mean `metrics.py:right`?",
        ),
    ],
)
def test_what_an_experiment_of_the_project_names_must_be_there(
    tmp_path: Path, file: str, declared: str, message: str
) -> None:
    (tmp_path / "rows.csv").write_text("text,expected\n", "utf-8")
    (tmp_path / "metrics.py").write_text("def right(prediction): ...\n", "utf-8")
    text = EXPERIMENTS.format(declared)
    text = text.replace("[experiments", "[tool.promptls.experiments") if file == "pyproject.toml" else text
    (tmp_path / file).write_text(text, "utf-8")

    (problem,) = settings_problems(find_project(tmp_path / "prompts" / "a.yml.j2"))

    assert problem.message == "experiment `two`: " + message.format(file)
    assert problem.place is not None
    assert problem.place.line == 6 + declared.count("\n")


def test_an_experiment_in_one_line_has_its_place_too(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('[experiments]\ntwo = {dataset = "no.csv"}\n', "utf-8")

    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2"))

    assert problem.place is not None
    assert problem.place.line == 1


def test_a_rule_of_the_editor_has_no_place_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('[rules]\nunknown-role = "off"\n', "utf-8")

    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2", {"rules": {"no-such-rule": "off"}}))

    assert problem.place is None


def test_an_experiment_may_lack_what_the_settings_turn_off(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text(
        '[rules]\nunknown-dataset = "off"\n[experiments.two]\ndataset = "no.csv"\n', "utf-8"
    )

    assert settings_problems(find_project(tmp_path / "a.yml.j2")) == ()


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        (
            "[rendering]\ntimout = 3\n",
            1,
            0,
            "there is no setting `rendering.timout`; did you mean `timeout`?",
        ),
        (
            '[models.big]\nprovidr = "openai"\nmodel = "m"\n',
            1,
            0,
            "there is no setting `models.big.providr`; did you mean `provider`?",
        ),
        (
            "rendering = {timout = 3}\n",
            0,
            13,
            "there is no setting `rendering.timout`; did you mean `timeout`?",
        ),
    ],
)
def test_a_misspelled_setting_is_reported_once_with_the_nearest_name(
    tmp_path: Path, text: str, line: int, column: int, message: str
) -> None:
    (tmp_path / "promptls.toml").write_text(text, "utf-8")

    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2"))

    assert problem.message == message
    assert problem.place is not None
    assert (problem.place.line, problem.place.column) == (line, column)


UNUSUAL = {
    "a key of another provider's": (
        "[rate_limits.opnai]\nrequests_per_minute = 5\n",
        (0, 13, "`rate_limits`: there is no provider `opnai`; did you mean `openai`?"),
    ),
    "a key in the place of its variable's name": (
        '[models.a]\nprovider = "openai"\nmodel = "x"\napi_key_env = "sk-abc"\n',
        (
            3,
            0,
            "the setting `models.a.api_key_env` is wrong: input should be the name of a",
        ),
    ),
    "a release that has no prompt objects": (
        'ragas_version = "0.2.0"\n',
        (0, 0, "the setting `ragas_version` is wrong: input should be a release from `0.1.0` to `0.1.21`"),
    ),
    "a folder of templates that is misspelled": (
        'template_paths = [\n  "sections/.", # there\n  "setions",\n]\n',
        (
            2,
            3,
            "`template_paths`: there is no folder `setions` in the folder of these settings; did you mean `sections`?",
        ),
    ),
    "a folder of templates that is not there": (
        "template_paths = ['sections', 'shared/prompts']\n",
        (0, 31, "`template_paths`: there is no folder `shared/prompts` in the folder of these settings"),
    ),
    "a file in the place of a folder of templates": (
        'template_paths = ["d.csv"]\n',
        (0, 19, "`template_paths`: `d.csv` is a file, and no folder"),
    ),
    "one folder without a list": (
        'template_paths = "sections"\n',
        (0, 0, 'the setting `template_paths` is wrong: input should be a list: `["sections"]`'),
    ),
    "functions without their ending": (
        'functions = "helper"\n',
        (
            0,
            0,
            "`functions`: there is no file `helper` in the folder of these settings; did you mean `helpers.py`?",
        ),
    ),
    "a folder of functions": (
        'functions = "sections"\n',
        (0, 0, "`functions`: `sections` is a folder, and no Python file"),
    ),
    "an experiment without a name": (
        '[experiments]\ndataset = "d.csv"\nmetrics = ["exact_match"]\n',
        (1, 0, "`dataset` belongs below a name: `experiments.NAME.dataset`"),
    ),
    "a model without a name": (
        '[models]\nprovider = "openai"\nmodel = "x"\n',
        (1, 0, "`provider` belongs below a name: `models.NAME.provider`"),
    ),
    "a limit without a provider": (
        "[rate_limits]\nrequests_per_minute = 5\n",
        (1, 0, "`requests_per_minute` belongs below a name: `rate_limits.NAME.requests_per_minute`"),
    ),
    "experiments in a list": (
        '[[experiments]]\nname = "t"\ndataset = "d.csv"\n',
        (0, 2, "the setting `experiments` is wrong: input should be tables with names: `[experiments.NAME]`"),
    ),
    "thresholds beside their experiment": (
        '[experiments.t]\ndataset = "d.csv"\n[thresholds]\nexact_match = 0.8\n',
        (2, 1, "there is no setting `thresholds`; it belongs at `experiments.NAME.thresholds`"),
    ),
    "a table with another name": (
        '[experiments.t]\ndataset = "d.csv"\n[experiments.t.threshold]\nexact_match = 0.8\n',
        (2, 15, "there is no setting `experiments.t.threshold`; did you mean `thresholds`?"),
    ),
    "a budget that is a number": (
        '[experiments.t]\ndataset = "d.csv"\nbudget = 5\n',
        (2, 0, "the setting `experiments.t.budget` is wrong: input should be a mapping"),
    ),
    "a budget of nothing": (
        '[experiments.t]\ndataset = "d.csv"\nbudget = {calls = 1, cost = 0}\n',
        (2, 21, "the setting `experiments.t.budget.cost` is wrong: input should be greater than 0"),
    ),
    "a limit in hyphens": (
        "token-limit = 5\n",
        (0, 0, "there is no setting `token-limit`; did you mean `token_limit`?"),
    ),
    "a rule in underscores": (
        "[rules]\nunknown_role = 'off'\n",
        (1, 0, "there is no rule `unknown_role`; did you mean"),
    ),
    "a severity in words of YAML": (
        "[rules]\nunknown-role = false\n",
        (1, 0, "the setting `rules.unknown-role` is wrong: input should be 'error', 'warning'"),
    ),
    "the table of pyproject.toml": (
        '[tool.promptls]\nencoding = "cl100k_base"\n',
        (0, 1, "in `promptls.toml`, settings belong at the top, not below `[tool]`"),
    ),
    "a key that a text holds too": (
        'judge = "echo" # dataset = 1\n[experiments.u]\n# dataset = "x"\n"dataset" = \'e.csv\'\n',
        (3, 1, "experiment `u`: there is no file `e.csv` next to `promptls.toml`; did you mean `d.csv`?"),
    ),
    "keys with dots": (
        'experiments.t.dataset = "d.csv"\nexperiments.t.models = ["echo", "ecko"]\n',
        (1, 33, "experiment `t`: there is no model `ecko`; did you mean `echo`?"),
    ),
    "a name that two tables have": (
        '[experiments.a]\ndataset = "d.csv"\nmodels = ["ecko", "echo"]\n[experiments.b]\ndataset = "d.csv"\n',
        (2, 11, "experiment `a`: there is no model `ecko`"),
    ),
    "an item on a line of its own": (
        '[experiments.t]\ndataset = "d.csv"\nmodels = [\n  "echo",\n  "echoo",\n]\n',
        (4, 3, "experiment `t`: there is no model `echoo`; did you mean `echo`?"),
    ),
    "an item in braces": (
        'experiments = {t = {dataset = "d.csv", metrics = ["exact_mtch"]}}\n',
        (0, 51, "experiment `t`: there is no metric `exact_mtch`; did you mean `exact_match`?"),
    ),
    "a name with a dot": ('rules.unknown-rol = "off"\n', (0, 6, "there is no rule `unknown-rol`")),
    "a name in quotes": ('[rules]\n"unknown-rol" = "off"\n', (1, 1, "there is no rule `unknown-rol`")),
    "a key that stands in another table too": (
        '[experiments.t]\ndataset = "d.csv"\nmodels = ["echo"]\n[models.t]\nprovider = "opnai"\nmodel = "x"',
        (4, 0, "model `t`: there is no provider `opnai`"),
    ),
    "a key that stands in a comment too": (
        "# token_limit = 5\ntoken_limit = -5\n",
        (1, 0, "the setting `token_limit` is wrong: input should be greater than 0"),
    ),
    "a key in the writing of another language": (
        "tokenLimit = 5\n",
        (0, 0, "there is no setting `tokenLimit`; did you mean `token_limit`?"),
    ),
    "lines that end in two characters": (
        'roles = ["a"]\r\n[rules]\r\nunknown-rol = "off"\r\n',
        (2, 0, "there is no rule `unknown-rol`"),
    ),
}


@pytest.mark.parametrize(("text", "expected"), UNUSUAL.values(), ids=UNUSUAL)
def test_a_setting_is_validated_in_any_notation(
    tmp_path: Path, text: str, expected: tuple[int, int, str]
) -> None:
    (tmp_path / "d.csv").write_text("a\n1\n", "utf-8")
    (tmp_path / "sections").mkdir()
    (tmp_path / "helpers.py").write_text("", "utf-8")
    (tmp_path / "promptls.toml").write_bytes(text.encode())

    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2"))

    line, column, message = expected
    assert problem.place is not None
    assert (problem.place.line, problem.place.column) == (line, column)
    assert problem.message.startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        '\ufeffroles = ["critic"]\n',
        "token_limit = 2_000\n",
        '[models.m]\nprovider = "openai"\nmodel = "x"\n[rate_limits.m]\nrequests_per_minute = 5\n',
        '[rate_limits."openai:gpt-4.1-mini"]\nrequests_per_minute = 5\n',
        'template_paths = [".", "", "./", "sections/../"]\n',
        '[experiments.t]\ndataset = "d.csv"\nmetrics = ["exact_match"]\n[experiments.t.thresholds]\nexact_match = 1\n',
        '[experiments.t]\ndataset = "./d.csv"\nbudget = {calls = 5, tokens = 1_000, cost = 0.5}\n',
        '["experiments"."a.b"]\n"dataset" = \'d.csv\'\n',
        '[models.m]\nprovider = "vllm"\nmodel = "x"\nbase_url = "http://localhost:1/v1"\n[models.m.parameters]\ntemperature = 0\nanything = {deep = [1]}\n',
        "[rules]\nunknown-role = \"hint\"\n'unused-input' = 'off'\n",
    ],
)
def test_settings_that_are_right_have_no_problem(tmp_path: Path, text: str) -> None:
    (tmp_path / "d.csv").write_text("a,expected\n1,2\n", "utf-8")
    (tmp_path / "sections").mkdir()
    (tmp_path / "promptls.toml").write_bytes(text.encode())
    assert settings_problems(find_project(tmp_path / "a.yml.j2")) == ()


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("[tool.promptsl]\n", 6, "promptls does not read `[tool.promptsl]`; did you mean `[tool.promptls]`?"),
        ("[promptls]\nx = 1\n", 1, "promptls does not read `[promptls]`; did you mean `[tool.promptls]`?"),
    ],
)
def test_a_table_that_promptls_does_not_read_is_named(
    tmp_path: Path, text: str, column: int, message: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "promptls"\n\n{text}', "utf-8")

    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2"))

    assert problem.place is not None
    assert (problem.place.line, problem.place.column) == (3, column)
    assert problem.message == message


@pytest.mark.parametrize("text", ["[tool.prompt]\nx = 1\n", "[tool.promptfoo]\nx = 1\n", 'promptls = "a"\n'])
def test_a_table_of_another_tool_is_not_meant_for_promptls(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")

    assert settings_problems(find_project(tmp_path / "a.yml.j2")) == ()


def test_metrics_of_a_project_are_checked_in_its_settings(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text(
        'judge = "local:smollm9"\n'
        '[metrics.polite]\nuse = "aspect_critic"\ndefinitions = "Is it polite?"\n'
        '[metrics.other]\nuse = "exact_mach"\n'
        '[experiments.main]\ndataset = "rows.csv"\nmetrics = ["polite"]\n',
        "utf-8",
    )
    (tmp_path / "rows.csv").write_text("text\n", "utf-8")
    messages = [problem.message for problem in settings_problems(find_project(tmp_path / "a.yml.j2"))]
    assert messages == [
        "`judge`: there is no model `local:smollm9`; did you mean `local:smollm2`?",
        "metric `polite`: `aspect_critic` takes no `definitions`; did you mean `definition`?",
        "metric `other`: there is no metric `exact_mach`; did you mean `exact_match`?",
    ]
