"""Templates in strings that a Python program passes to Prompt Poet: diagnostics and hovers."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.rule import Finding, apply_edits
from promptls.programs.findings import findings_of_python
from promptls.programs.templates import hover_in_program, program_lenses
from promptls.workspace.workspace import Workspace

GOOD = """
- name: system instructions
  role: system
  content: "You are {{ escape_special_characters(name) }}."
"""


def checked(folder: Path, program: str) -> tuple[str, tuple[Finding, ...]]:
    file = folder / "app.py"
    file.write_text(program, "utf-8")
    return program, findings_of_python(Workspace([folder]).snapshot, str(file)).findings


def spoken_of(folder: Path, program: str) -> list[tuple[str, str]]:
    """Return the underlined text and rule of each finding."""
    text, findings = checked(folder, program)
    return [(text[each.span.start : each.span.end], each.rule) for each in findings]


def test_a_good_template_with_its_data_has_no_findings(tmp_path: Path) -> None:
    program = f"raw = '''{GOOD}'''\nPrompt(raw_template=raw, template_data={{'name': 'Ada'}})\n"
    assert spoken_of(tmp_path, program) == []


WRITTEN = {
    "long quotes": 'Prompt(raw_template="""{}""", template_data=data)',
    "a name": "raw = '''{}'''\nPrompt(raw_template=raw, template_data=data)",
    "after a mark": "\ufeffPrompt(raw_template='''{}''', template_data=data)",
    "stripped": 'Prompt(raw_template="""{}""".strip(), template_data=data)',
    "indented less": 'Prompt(raw_template=textwrap.dedent("""{}"""), template_data=data)',
    "a longer text": "raw = '''{}''' + \"- name: last\\n  content: x\\n\"\nPrompt(raw_template=raw)",
    "another letter ahead": "x = '🎉'; Prompt(raw_template='''{}''', template_data=data)",
}


@pytest.mark.parametrize("shape", WRITTEN.values(), ids=WRITTEN)
def test_a_mistake_is_at_its_place_in_the_text(tmp_path: Path, shape: str) -> None:
    program = shape.replace("{}", GOOD.replace("role: system", "role: systm"))
    assert ("systm", "unknown-role") in spoken_of(tmp_path, program)


def test_escapes_of_python_do_not_move_the_places(tmp_path: Path) -> None:
    program = r'Prompt(raw_template="- name: \"a\"\n  role: systm\n  content: x\n", template_data=data)'
    assert spoken_of(tmp_path, program) == [("systm", "unknown-role")]


def test_an_f_string_leaves_single_braces(tmp_path: Path) -> None:
    program = f"raw = f'''{GOOD.replace('escape_special_characters(name)', 'name')}'''\n"
    program += "Prompt(raw_template=raw, template_data={'name': 'Ada'})\n"
    text, (finding,) = checked(tmp_path, program)
    assert finding.rule == "single-brace"
    assert text[finding.span.start : finding.span.end] == "{{ name }}"
    (fix,) = finding.fixes
    assert apply_edits(text, fix.edits) == text.replace("f'''", "'''")


def test_an_attribute_of_a_class_does_not_hide_the_template_of_its_name(tmp_path: Path) -> None:
    program = f"raw = '''{GOOD}'''\nclass Bot:\n    raw: str = raw\n    def ask(self):\n"
    program += "        Prompt(raw_template=raw, template_data={'nmae': 'Ada'})\n"
    assert [finding.rule for finding in checked(tmp_path, program)[1]] == ["missing-template-data"]


FORMATTED = {
    "doubled twice": ("{title}: {{{{ name }}}}", "{'name': 1}"),
    "no data of that name": ("{{ id }}", "{'name': 1}"),
    "unknown data": ("{{ name }}", "data"),
}


@pytest.mark.parametrize(("content", "data"), FORMATTED.values(), ids=FORMATTED)
def test_braces_of_an_f_string_that_may_be_meant_are_not_reported(
    tmp_path: Path, content: str, data: str
) -> None:
    program = f"Prompt(raw_template=f'- name: a\\n  content: {content}', template_data={data})"
    assert spoken_of(tmp_path, program) == []


def test_an_f_string_with_values_stays_one(tmp_path: Path) -> None:
    program = "Prompt(raw_template=f'- name: {a}\\n  content: {{ name }}', template_data={'name': 1})"
    _, (finding,) = checked(tmp_path, program)
    assert finding.fixes == ()


def test_each_fix_gives_the_template_that_it_is_meant_to(tmp_path: Path) -> None:
    program, (finding,) = checked(
        tmp_path, r'Prompt(raw_template="- name: a\n  role: systm\n  content: x\n")'
    )
    (fix,) = finding.fixes
    (edit,) = fix.edits
    assert program[: edit.span.start] + edit.text + program[edit.span.end :] == program.replace(
        "systm", "system"
    )


def test_data_that_the_call_lacks_and_does_not_need_are_reported(tmp_path: Path) -> None:
    program = f"Prompt(raw_template='''{GOOD}''', template_data={{'nmae': 'Ada'}})\n"
    text, (finding,) = checked(tmp_path, program)
    assert finding.message == "`name` is not given to the template; `nmae` is, which it does not read"
    (related,) = finding.related
    assert (related.path, text[related.span.start : related.span.end]) == (str(tmp_path / "app.py"), "name")


def test_a_call_without_data_lacks_all(tmp_path: Path) -> None:
    assert spoken_of(tmp_path, f"Prompt(raw_template='''{GOOD}''')") == [("Prompt", "missing-template-data")]


def test_unrecognized_data_is_not_changed(tmp_path: Path) -> None:
    assert spoken_of(tmp_path, f"Prompt(raw_template='''{GOOD}''', template_data=data())") == []


def test_includes_are_errors_because_a_text_has_no_folder(tmp_path: Path) -> None:
    (tmp_path / "there.yml.j2").write_text("- name: b\n  content: x\n", "utf-8")
    program = "Prompt(raw_template='''- name: a\n  content: x\n{% include \"there.yml.j2\" %}\n''')"
    assert spoken_of(tmp_path, program) == [('"there.yml.j2"', "unresolved-include")]


@pytest.mark.parametrize(
    "program",
    [
        'raw_template = """{{ broken """',
        "Prompt(raw_template=load(), template_data={})",
        'Prompt(raw_template=f"- name: {x}")',
        'raw = "- name: a"\nraw = "- nam: b"\nPrompt(raw_template=raw)',
        "Prompt(raw_template=",
        'Prompt(raw_template="")',
    ],
)
def test_what_is_no_written_template_is_left_alone(tmp_path: Path, program: str) -> None:
    assert spoken_of(tmp_path, program) == []


def test_a_comment_suppresses_a_line(tmp_path: Path) -> None:
    program = (
        "# promptls: ignore[missing-template-data]\nPrompt(raw_template='- name: a\\n  content: {{ x }}\\n')"
    )
    assert "missing-template-data" not in {rule for _, rule in spoken_of(tmp_path, program)}


def test_names_in_the_text_are_explained(tmp_path: Path) -> None:
    program = f"raw = '''{GOOD}'''\nPrompt(raw_template=raw, template_data={{'name': 'Ada'}})\n"
    (tmp_path / "app.py").write_text(program, "utf-8")
    snapshot = Workspace([tmp_path]).snapshot
    at = program.index("escape_special")
    found = hover_in_program(snapshot, str(tmp_path / "app.py"), at)
    assert found is not None
    assert program[found.span.start : found.span.end] == "escape_special_characters"
    assert hover_in_program(snapshot, str(tmp_path / "app.py"), 0) is None


QUOTED = """
- name: a
  content: "{{ text }}"
"""


@pytest.mark.parametrize(
    "value", ["'say \"hi\"'", "f'\"{x}\" is'", "json.dumps({'a': x})"], ids=["a text", "an f-string", "JSON"]
)
def test_each_call_that_ends_the_quotes_with_its_data_is_an_error(tmp_path: Path, value: str) -> None:
    call = f"Prompt(raw_template=raw, template_data={{'text': {value}}})\n"
    good = "Prompt(raw_template=raw, template_data={'text': 'x'})\n"
    text, findings = checked(tmp_path, f"raw = '''{QUOTED}'''\n{call}{good}{call}")
    errors = [each.span.start for each in findings if each.severity == "error"]
    assert errors == [text.index("text':"), text.rindex("text':")]


def test_a_typo_in_a_template_of_the_program_is_reported_there(tmp_path: Path) -> None:
    template = "- name: user query\n  content: |\n    {{ user_qeury }}\n"
    program = f"Prompt(raw_template='''{template}''', template_data={{'user_query': 'Help me.'}})\n"
    text, findings = checked(tmp_path, program)
    (finding,) = (each for each in findings if each.rule == "missing-template-data")
    assert text[finding.span.start : finding.span.end] == "user_qeury"
    assert finding.message == "`user_qeury` is not given to the template; did you mean `user_query`?"
    assert [fix.title for fix in finding.fixes] == ["Change to `user_query`"]


def test_a_line_break_that_ends_a_block_is_reported_once_where_the_call_gives_it(tmp_path: Path) -> None:
    template = "- name: a\n  content: |\n    {{ text }}\n"
    program = f'Prompt(raw_template="""{template}""", template_data={{"text": "a\\nb"}})'
    assert spoken_of(tmp_path, program) == [("text", "missing-template-data")]


CONFIGURATION = """\
from opencompass.datasets import HFDataset

quiz_reader_cfg = dict(input_columns=['question'], output_column='answer')
quiz_infer_cfg = dict(prompt_template=dict(template='{question}'))
quiz_datasets = [dict(reader_cfg=quiz_reader_cfg, infer_cfg=quiz_infer_cfg)]
"""


@pytest.mark.parametrize(
    ("program", "line"), [(CONFIGURATION, 2), ("train_datasets = load()\n", None), ("infer_cfg == 1\n", None)]
)
def test_a_configuration_has_its_preview_above_the_first_of_its_variables(
    tmp_path: Path, program: str, line: int | None
) -> None:
    path = str(tmp_path / "quiz_gen.py")
    workspace = Workspace([tmp_path])
    workspace.open(path, program, 1)

    lenses = program_lenses(workspace.snapshot, path)

    assert [program.count("\n", 0, lens.offset) for lens in lenses] == ([] if line is None else [line])
