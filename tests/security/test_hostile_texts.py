"""Hostile texts and files: the work for them grows linearly with their size."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from promptls.datasets.cells import MAX_COLUMNS, MAX_ROWS_FOR_COLUMNS
from promptls.datasets.dataset_files import known_columns, open_dataset
from promptls.experiments.manifest import manifest_of
from promptls.ide.refactor import offers
from promptls.ide.settings_file import place_in
from promptls.lint.rule import MAX_FINDINGS
from promptls.lint.runner import check
from promptls.lint.settings_problems import settings_problems
from promptls.metrics.values import NoJsonError, json_of
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.settings.valid_part import MAX_PROBLEMS
from promptls.syntax.chunk import cut
from promptls.syntax.jinja import scanner as tag_ends
from promptls.syntax.jinja.statements import parse_tag
from promptls.syntax.source import MAX_OPEN_BLOCKS, MAX_UNCLOSED_TAGS, Source
from promptls.syntax.toml_places import MAX_CHARACTERS, MAX_LEVELS, toml_names
from promptls.syntax.yaml import nodes
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.errors import UserError, parse_json
from promptls.text.positions import PositionEncoding, Span, units_from_column
from promptls.text.suggest import is_close, nearest
from promptls.workspace.python_calls import calls_in
from promptls.workspace.python_experiments import PythonFindings, findings_in
from promptls.workspace.python_functions import functions_in, names_of_module, plain_names
from promptls.workspace.settings import ProjectFile, project_in
from promptls.workspace.workspace import Workspace

# -- settings ---------------------------------------------------------------


def settings(text: str) -> ProjectFile:
    project = project_in(Path("promptls.toml"), text)
    assert project is not None
    return project


@pytest.mark.parametrize(
    "text",
    [
        "a." * 20_000 + "a = 1",
        "[" + "a." * 20_000 + "a]",
        "a = " + "[" * 20_000,
        "a = " + "{a = " * 20_000,
        "a = 1\n" * MAX_CHARACTERS,
    ],
    ids=["dotted key", "dotted table", "lists", "tables in line", "long file"],
)
def test_settings_that_the_parser_takes_too_long_for_are_not_parsed(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptls.workspace.settings.import_module", lambda _: pytest.fail("parsed"))

    found = settings(text)

    (problem,) = found.problems
    assert problem.message.startswith("the settings are not read: ")
    assert problem.place is not None
    assert problem.place.line == 0
    assert place_in(text, len(text), ()) is None
    assert len(list(toml_names(text))) <= 2 * MAX_LEVELS


def test_settings_may_be_nested_as_deep_as_anybody_needs() -> None:
    deep = ".".join(["a"] * (MAX_LEVELS - 1))

    found = settings(f'[models."a:b"]\nprovider = "openai"\nmodel = "b"\nparameters.{deep} = [1]\n')

    assert not found.problems


def test_a_project_of_another_tool_may_have_any_text() -> None:
    assert project_in(Path("pyproject.toml"), "a." * 20_000 + "a = 1") is None


def test_only_the_first_problems_of_the_settings_are_reported() -> None:
    found = settings("".join(f"name{index} = 1\n" for index in range(5_000)))

    assert len(found.problems) == MAX_PROBLEMS + 1
    assert found.problems[0].message == "there is no setting `name0`"
    assert found.problems[-1].message == "4,900 more problems from here on"
    assert found.problems[-1].place is not None
    assert found.problems[-1].place.line == MAX_PROBLEMS


def test_only_the_first_names_that_lead_to_nothing_are_reported() -> None:
    found = settings("[rules]\n" + "".join(f'name{index} = "error"\n' for index in range(5_000)))

    problems = settings_problems(found)

    assert len(problems) == MAX_PROBLEMS + 1
    assert "the others are not looked up" in problems[0].message


def test_unknown_settings_cost_no_more_than_their_number() -> None:
    def read(number: int) -> Callable[[], object]:
        text = "[rendering]\n" + "".join(f"name{each} = 1\n" for each in range(number))
        return lambda: settings(text)

    assert growth(read, 400) < DOUBLE


# -- prompts ----------------------------------------------------------------

ITEM = "- name: a\n  role: user\n  content: |\n    "


def findings(text: str) -> list[tuple[str, str]]:
    workspace = Workspace()
    workspace.open("/a.yml.j2", text, 1)
    return [(found.rule, found.message) for found in check(workspace.snapshot, "/a.yml.j2")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            ITEM + "word " * 500_000,
            "the file has 2,500,040 characters, and files are analyzed up to 2,000,000",
        ),
        (ITEM + "{{ a " * 10_000, "more than 200 tags are not closed"),
        (ITEM + "{#" * 10_000, "more than 200 tags are not closed"),
        (ITEM + "{% if a %}" * 10_000, "more than 100 blocks are open here"),
        ((ITEM + "{% if a %}\n") * 10_000, "more than 100 blocks are open here"),
        (ITEM + "{% include a %}" * 10_000, "more than 200 tags name other templates"),
    ],
    ids=["long text", "open outputs", "open comments", "open blocks", "open blocks in parts", "includes"],
)
def test_a_text_that_takes_too_long_to_analyze_gets_one_diagnostic(text: str, reason: str) -> None:
    ((rule, message),) = findings(text)

    assert rule == "unchecked-file"
    assert reason in message


@pytest.mark.parametrize(
    "text",
    [
        ITEM + "{{ a " * MAX_UNCLOSED_TAGS,
        ITEM + "{% if a %}" * MAX_OPEN_BLOCKS + "{% endif %}" * MAX_OPEN_BLOCKS,
        ITEM + "{% if a %}{% endif %}" * 1_000,
        ITEM + "{% endif %}" * 1_000,
        (ITEM + "{% if a %}b{% endif %}\n") * 1_000,
    ],
    ids=["open outputs", "nested blocks", "blocks", "ends", "blocks in parts"],
)
def test_a_text_within_the_limits_is_analyzed(text: str) -> None:
    assert "unchecked-file" not in {rule for rule, _ in findings(text)}


def test_nothing_is_looked_for_in_a_text_that_is_not_analyzed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptls.syntax.source.cut", lambda *_, **__: pytest.fail("cut"))
    source = Source.of(ITEM + "{{ a }} " * 300_000)

    template = Template(source)

    assert template.kind is Kind.OTHER
    assert template.parts == ()
    assert template.root is None
    assert not template.has_parts


def test_a_text_is_analyzed_again_once_it_is_short_enough() -> None:
    text = ITEM + "{{ a }} word " * 200_000
    source = Source.of(text)

    shorter = source.edited(Span(len(ITEM) + len("{{ a }}"), len(text)), "\n")
    longer = shorter.edited(Span(len(ITEM), len(ITEM)), "word " * 500_000)

    assert source.refusal is not None
    assert shorter.refusal is None
    assert Template(shorter).kind is Kind.PARTS
    assert [tag.text for tag in shorter.first_chunk.tags] == ["{{ a }}"]
    assert longer.refusal is not None


@pytest.mark.parametrize(
    "piece",
    [
        "{{ '\\",
        '{{ \\"',
        "{{ '\\'",
        '{{ "{{ ',
        '{{ "',
        "{{ 'it }}\n",
        "{{ '\\' }}",
        '{{ (("',
        "{#",
        "{% raw %}",
        "{%",
    ],
)
@pytest.mark.parametrize("end", ["", " }}", '" }}'])
def test_tags_are_scanned_in_linear_time(piece: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = {
        name: CountingPattern(pattern)
        for name, pattern in vars(tag_ends).items()
        if isinstance(pattern, re.Pattern) and name != "RAW_BEGIN"
    }
    for name, counting in patterns.items():
        monkeypatch.setattr(tag_ends, name, counting)

    def scanned(number: int) -> int:
        before = sum(each.characters for each in patterns.values())
        cut(piece * number + end, at_items=True)
        return sum(each.characters for each in patterns.values()) - before

    assert scanned(1_600) <= DOUBLE * scanned(800)


def opened(text: str) -> Workspace:
    workspace = Workspace()
    workspace.open("/a.yml.j2", text, 1)
    return workspace


@pytest.mark.parametrize(
    "text",
    [
        lambda number: "- {name: a, role: user, content: b}\n" * number,
        lambda number: ITEM + "".join(f"{{{{ customer_{each}_name }}}}" for each in range(number)),
        lambda number: ITEM + "".join(f"{{{{ customer.key_{each}_name }}}}" for each in range(number)),
    ],
    ids=["parts", "names", "keys"],
)
def test_names_are_not_compared_in_quadratic_time(text: Callable[[int], str]) -> None:
    def checked(number: int) -> Callable[[], object]:
        workspace = opened(text(number))
        return lambda: check(workspace.snapshot, "/a.yml.j2")

    assert growth(checked, 200) < 3  # each name is compared with up to 100 that are alike


def test_refactorings_are_looked_for_in_linear_time() -> None:
    def offered(number: int) -> Callable[[], object]:
        text = ITEM + "{% set a = a %}" * number
        snapshot = opened(text).snapshot
        return lambda: list(offers(snapshot, "/a.yml.j2", Span(0, len(text))))

    assert growth(offered, 200) < DOUBLE


@pytest.mark.parametrize("tag", ["{% endif %}", "{% elif a %}", "{% foo %}"])
def test_only_the_first_findings_of_a_rule_are_reported(tag: str) -> None:
    found = findings(ITEM + tag * 2 * MAX_FINDINGS)

    reported = [message for rule, message in found if rule == "jinja-syntax"]
    assert len(reported) == MAX_FINDINGS + 1
    assert f"the file has more than {MAX_FINDINGS} of these; others are left out" in reported


def test_a_name_is_compared_with_few_of_many_names() -> None:
    known = [f"a{number}letter{number}" for number in range(1_000)]

    assert nearest("a77lettr77", known) == "a77letter77"
    assert growth(lambda number: lambda: nearest("b77lettr77", known * number), 1) < DOUBLE


def test_names_too_long_for_a_person_are_not_compared() -> None:
    long = "ab" * 60_000

    assert nearest(f"{long}a", [long]) is None
    assert not is_close(f"{long}a", long)


def test_problems_of_one_tag_take_linear_time() -> None:
    def parsed(number: int) -> Callable[[], object]:
        text = "{% for " + "1," * number + " in b %}"
        return lambda: parse_tag.__wrapped__(text, 2, len(text) - 2)

    assert growth(parsed, 1_000) < DOUBLE


def test_tags_on_lines_of_their_own_take_linear_time() -> None:
    def read(number: int) -> Callable[[], object]:
        text = "- name: a\n  content: 'b\n" + "  {{ a }}\n" * number
        return lambda: chunk_yaml(Source.of(text).first_chunk)

    assert growth(read, 400) < DOUBLE


@pytest.mark.parametrize("encoding", list(PositionEncoding))
@pytest.mark.parametrize("text", ["", "a", "é", "😀 b", "\ud800"])
def test_columns_beyond_ascii_are_counted_in_each_unit(text: str, encoding: PositionEncoding) -> None:
    sizes = {
        PositionEncoding.UTF8: "utf-8",
        PositionEncoding.UTF16: "utf-16-le",
        PositionEncoding.UTF32: "utf-32-le",
    }
    width = {PositionEncoding.UTF8: 1, PositionEncoding.UTF16: 2, PositionEncoding.UTF32: 4}[encoding]

    units = units_from_column(text + "rest", len(text), encoding)

    assert units == len(text.encode(sizes[encoding], "surrogatepass")) // width


def test_keys_of_a_mapping_are_looked_up_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def counted(entry: nodes.Entry) -> str | None:
        nonlocal calls
        calls += 1
        return key_text(entry)

    key_text = nodes.key_text
    monkeypatch.setattr(nodes, "key_text", counted)
    names = [f"e{index}" for index in range(400)]
    findings(
        "{#---\nexperiments:\n"
        + "".join(f"  {name}: {{dataset: a.csv, models: [local:smollm2]}}\n" for name in names)
        + "---#}\n- name: a\n  role: user\n  content: b\n"
    )

    assert 0 < calls < 20 * len(names)


def test_only_the_first_problems_of_a_header_are_reported() -> None:
    keys = "".join(f"name{index}: 1\n" for index in range(1_000))

    found = findings("{#---\n" + keys + "---#}\n" + ITEM + "b\n")

    reported = [message for rule, message in found if rule == "invalid-header"]
    assert len(reported) == MAX_PROBLEMS + 1
    assert reported[-1] == "900 more problems from here on"


@pytest.mark.parametrize("around", ["{text}", "instruction: a\nexamples:\n{text}"])
@pytest.mark.parametrize("line", ["a:", "-", "? a"])
def test_deep_indentation_is_an_error(line: str, around: str) -> None:
    text = "".join(" " * depth + line + "\n" for depth in range(1, 300))

    findings(around.format(text=text))


# -- data -------------------------------------------------------------------


def test_a_data_set_with_too_many_columns_is_refused(tmp_path: Path) -> None:
    names = ",".join(f"column{index}" for index in range(MAX_COLUMNS + 1))
    (tmp_path / "a.csv").write_text(names + "\n")
    (tmp_path / "a.jsonl").write_text(json.dumps(dict.fromkeys(names.split(","))))

    for name in ("a.csv", "a.jsonl"):
        failure = known_columns(tmp_path / name).failure
        assert failure is not None
        assert failure.message == "the dataset has more than 2,000 columns"


def test_columns_are_looked_for_in_the_first_rows_only(tmp_path: Path) -> None:
    rows = [json.dumps({"first": "b"})] * MAX_ROWS_FOR_COLUMNS
    (tmp_path / "a.jsonl").write_text("\n".join([*rows, '{"late": 1}', "no JSON"]))
    (tmp_path / "a.json").write_text("[" + ",".join([*rows, '{"late": 1}', "no JSON"]))

    for name in ("a.jsonl", "a.json"):
        dataset = open_dataset(tmp_path / name)
        assert tuple(dataset.columns) == ("first",)
        last = next(islice(dataset.rows(), MAX_ROWS_FOR_COLUMNS, None))
        assert last.values == {"first": None, "late": 1}


def test_columns_are_looked_for_in_the_first_characters_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptls.datasets.cells.MAX_CHARACTERS_FOR_COLUMNS", 20)
    (tmp_path / "a.jsonl").write_text('{"a": "twenty characters"}\nno JSON\n')

    assert open_dataset(tmp_path / "a.jsonl").columns == ("a",)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_line_that_is_too_long_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptls.datasets.cells.MAX_LINE", 100)
    (tmp_path / name).write_text('{"a": "' + "b" * 1_000)

    failure = known_columns(tmp_path / name).failure

    assert failure is not None
    assert failure.message == "the line has more than 100 characters"


def test_json_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptls.datasets.json_file.MAX_CHARACTERS", 10)
    (tmp_path / "a.json").write_text('[{"a": "b"}]')

    failure = known_columns(tmp_path / "a.json").failure

    assert failure is not None
    assert failure.message == "the dataset has more than 10 characters, and is read whole"


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 100_000], ids=["long number", "deep lists"])
def test_json_that_python_gives_up_on_is_invalid(value: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(f'[{{"a": {value}}}]')
    (tmp_path / "a.jsonl").write_text(f'{{"a": {value}}}\n')
    for name in ("a.json", "a.jsonl"):
        failure = known_columns(tmp_path / name).failure
        assert failure is not None
        assert "not valid JSON" in failure.message
    with pytest.raises(UserError):
        manifest_of(tmp_path / "a.json")
    with pytest.raises(NoJsonError):
        json_of(value)
    with pytest.raises(ValueError, match=r"digits|deep"):
        parse_json(value)
    text = f"instruction: a\nexamples:\n  - input: {{a: b}}\n    output: '{value}'\n"
    assert "invalid-prompt-object" in {rule for rule, _ in findings(text)}


@pytest.mark.parametrize(
    "text", ["a = " + "lambda a: " * 20_000, "a = " + "(" * 20_000, "a = " + "-" * 20_000]
)
def test_python_that_its_parser_gives_up_on_defines_nothing(text: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"{text}1  # promptls.load('a').render(), promptls.Dataset\n")
    path = str(program)

    assert functions_in(path) is None
    assert names_of_module(path) is None
    assert plain_names(path) == frozenset()
    assert findings_in(program.read_text(), path) == PythonFindings()
    assert calls_in(program.read_text(), path) == ()


# -- counting ---------------------------------------------------------------

DOUBLE = 2.5
"""The maximum growth of the work when a text doubles its length."""


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """Return the ratio of calls for `2 * size` to those for `size`."""
    work(size)()
    return calls(work(2 * size)) / calls(work(size))


def calls(work: Callable[[], object]) -> int:
    """Return the number of function calls, including functions written in C."""
    count = 0

    def plural(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(plural)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


class CountingPattern:
    """A pattern that counts the characters that it inspects."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self.characters = 0

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self._counted(self._pattern.search(text, start, end), text, start, end)

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self._counted(self._pattern.match(text, start, end), text, start, end)

    def _counted(self, found: re.Match[str] | None, text: str, start: int, end: int) -> re.Match[str] | None:
        self.characters += (found.end() if found else min(end, len(text))) - start
        return found
