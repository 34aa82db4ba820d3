"""The rule about Python calls, and its updates after changes of Python files."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.lint.runner import check
from promptls.workspace.workspace import Workspace


def test_a_call_is_looked_at_again_when_its_file_changes(tmp_path: Path) -> None:
    prompt, caller = tmp_path / "main.yml.j2", tmp_path / "support.py"
    workspace = Workspace([tmp_path])
    workspace.open(str(prompt), "- name: a\n  content: {{ text }}\n", 1)
    workspace.scan_calls()

    def missing() -> list[str]:
        found = check(workspace.snapshot, str(prompt))
        return [finding.message for finding in found if finding.rule == "missing-template-data"]

    assert missing() == []
    caller.write_text("x = 1\n\nPrompt(template_path='main.yml.j2', template_data={})\n")
    workspace.python_changed(str(caller))
    assert missing() == ["`support.py` loads this template in line 3 without `text`"]
    workspace.open(str(prompt), "- name: a\n  content: {{ tone }}\n", 2)
    assert missing() == ["`support.py` loads this template in line 3 without `tone`"]
    caller.unlink()
    workspace.python_changed(str(caller))
    assert missing() == []


def test_the_call_is_a_related_place(tmp_path: Path) -> None:
    text = "# ä🎉\nmade = ('ä🎉', Prompt(template_path='main.yml.j2', template_data={}))\n"
    (tmp_path / "support.py").write_text(text, "utf-8")
    workspace = Workspace([tmp_path])
    workspace.open(str(tmp_path / "main.yml.j2"), "- name: a\n  content: {{ text }}\n", 1)
    workspace.scan_calls()

    found = check(workspace.snapshot, str(tmp_path / "main.yml.j2"))
    (place,) = next(finding for finding in found if finding.rule == "missing-template-data").related

    assert Path(place.path).name == "support.py"
    assert text[place.span.start : place.span.end] == "Prompt"


@pytest.mark.parametrize(("given", "count"), [('"a, b"', 1), ('["a", "b"]', 0), ('""', 0)])
def test_a_text_that_is_joined_is_found(tmp_path: Path, given: str, count: int) -> None:
    (tmp_path / "main.yml.j2").write_text("- name: a\n  content: '{{ tools | join(\", \") }}'\n")
    call = f"Prompt(template_path='main.yml.j2', template_data={{'tools': {given}}})\n"
    (tmp_path / "support.py").write_text(call)
    workspace = Workspace([tmp_path])
    workspace.scan_calls()
    found = check(workspace.snapshot, str(tmp_path / "main.yml.j2"))
    assert sum(finding.rule == "missing-template-data" for finding in found) == count


@pytest.mark.parametrize(("role", "count"), [("assistent", 1), ("assistant", 0), ("narrator", 0)])
def test_a_misspelled_role_in_the_data_is_found(tmp_path: Path, role: str, count: int) -> None:
    part = "- name: turn\n  role: {{ turn.role }}\n  content: {{ turn.text }}\n"
    (tmp_path / "main.yml.j2").write_text(f"{{% for turn in turns %}}\n{part}{{% endfor %}}\n")
    data = f'{{"turns": [{{"role": "user", "text": "Hi"}}, {{"role": "{role}", "text": "Hi"}}]}}'
    (tmp_path / "support.py").write_text(f"Prompt(template_path='main.yml.j2', template_data={data})\n")
    workspace = Workspace([tmp_path])
    workspace.scan_calls()
    found = check(workspace.snapshot, str(tmp_path / "main.yml.j2"))
    assert sum(finding.rule == "missing-template-data" for finding in found) == count


CALLER = """def ask(documents, language):
    return Prompt(template_path="main.yml.j2", template_data={"documents": documents, "language": language})

ask([{"title": "One"}], "English")
"""
LISTED = """- name: a
  content: |
    {{ escape_special_characters(language) }}
    {% for d in documents %}{{ d.title }}{% endfor %}
"""


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ('"title"', '"titel"', ["`documents[…]` lacks `title`; it has `titel`"]),
        ('[{"title": "One"}]', '["One"]', ["`documents[…]` is a text"]),
        (
            '[{"title": "One"}], "English"',
            'language=5, documents=[{"title": "One"}]',
            ["takes text, not a number"],
        ),
        ('[{"title": "One"}]', "[]", []),
        ("    return", "    documents = [{'title': each} for each in documents]\n    return", []),
        ("    return", "    if not documents: return\n    return", []),
        ("def ask", "@prepared\ndef ask", []),
        ("ask([{", "with pytest.raises(ValueError):\n    ask([{'titel': 1}], 'x')\nask([{", []),
        ("ask([{", "def again(d):\n    ask([d, ask([d], d)], d)\n    again([d, again(d)])\nask([{", []),
    ],
)
def test_a_parameter_has_the_values_of_the_calls(
    tmp_path: Path, old: str, new: str, messages: list[str]
) -> None:
    (tmp_path / "main.yml.j2").write_text(LISTED)
    assert CALLER.count(old)
    (tmp_path / "support.py").write_text(CALLER.replace(old, new, 1))
    workspace = Workspace([tmp_path])
    workspace.scan_calls()
    found = [
        finding.message
        for finding in check(workspace.snapshot, str(tmp_path / "main.yml.j2"))
        if finding.rule == "missing-template-data"
    ]
    assert len(found) == len(messages)
    assert all(message in each for message, each in zip(messages, found, strict=True))


@pytest.mark.parametrize(
    ("content", "given", "is_broken"),
    [
        ("|\n    {{ x }}", '"\\n".join(lines)', True),
        ("|\n    {{ x }}", '"\\n".join(["a", "b"])', True),
        ("|\n    {{ x }}", '"a\\n" + name', True),
        ("|\n    {{ x }}", '"\\n".join(["a"])', False),
        ("|\n    {{ x }}", '", ".join(lines)', False),
        ("|\n    {{ x }}", 'f"{name}\\n"', False),
        ("|\n    {{ x | indent(4) }}", '"\\n".join(lines)', False),
        ("|\n    {% if y %}{{ x }}{% endif %}", '"\\n".join(lines)', False),
        ("'{{ x }}'", '"\\n".join(lines)', False),
        ('"{{ x }}"', "'say \"a\"'", True),
        ("{{ x }}", "'note: a'", True),
        ("{{ x }}", "'a note'", False),
        ("|\n    {{ escape_special_characters(x) }}", "5", True),
        ("|\n    {{ escape_special_characters(x) }}", "None", True),
        ("|\n    {{ escape_special_characters(x) }}", "[name]", True),
        ("|\n    {{ escape_special_characters(x) }}", "name", False),
        ("|\n    {% if x %}{{ escape_special_characters(x) }}{% endif %}", "None", False),
    ],
)
def test_a_text_that_breaks_the_yaml_is_an_error(
    tmp_path: Path, content: str, given: str, *, is_broken: bool
) -> None:
    (tmp_path / "main.yml.j2").write_text(f"- name: a\n  content: {content}\n  role: user\n")
    call = f"Prompt(template_path='main.yml.j2', template_data={{'x': {given}, 'y': 1}})"
    (tmp_path / "support.py").write_text(f"def made(lines, name):\n    {call}\n")
    workspace = Workspace([tmp_path])
    workspace.scan_calls()
    errors = [
        finding.message
        for finding in check(workspace.snapshot, str(tmp_path / "main.yml.j2"))
        if finding.rule == "missing-template-data" and finding.severity == "error"
    ]
    assert [" with a `x` that fails: " in message for message in errors] == [True] * is_broken
