from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.signature_help import SignatureHelp, signature_help
from promptls.workspace.workspace import Workspace
from support.fixture import opened, parse

ROOT = Path("/project")
MACROS = """\
-- main.yml.j2 --
{%% from "macros.yml.j2" import greet as hi %%}
{%% import "macros.yml.j2" as m %%}
{# Says it. #}
{%% macro say(what, how="loud") %%}{%% endmacro %%}
- name: a
  content: "%s"
-- macros.yml.j2 --
{# Greets somebody. #}
{%% macro greet(name, mark='!') %%}Hi {{ name }}{{ mark }}{%% endmacro %%}
"""


def helped(content: str) -> SignatureHelp | None:
    snapshot, files = opened(MACROS % content)
    return signature_help(snapshot, str(ROOT / "main.yml.j2"), files["main.yml.j2"].cursor or 0)


@pytest.mark.parametrize(
    ("content", "label", "active"),
    [
        ("{{ say(<CURSOR>", "say(what, how='loud')", "what"),
        ("{{ say('x', <CURSOR>) }}", "say(what, how='loud')", "how='loud'"),
        ("{{ say(how=<CURSOR>", "say(what, how='loud')", "how='loud'"),
        ("{{ hi('a', mark=<CURSOR>", "greet(name, mark='!')", "mark='!'"),
        ("{{ m.greet(<CURSOR>", "greet(name, mark='!')", "name"),
        (
            "{{ x | truncate(10, <CURSOR>",
            "truncate(length=255, killwords=false, end='...', leeway=none)",
            "killwords=false",
        ),
        (
            "{{ x | truncate(end=<CURSOR>",
            "truncate(length=255, killwords=false, end='...', leeway=none)",
            "end='...'",
        ),
        (
            "{{ x | truncate(nonsense=<CURSOR>",
            "truncate(length=255, killwords=false, end='...', leeway=none)",
            None,
        ),
        ("{{ x | map('upper', <CURSOR>", "map(*args, **kwargs)", "*args"),
        ("{{ x | map(attribute=<CURSOR>", "map(*args, **kwargs)", "**kwargs"),
        ("{% filter indent(<CURSOR>", "indent(width=4, first=false, blank=false)", "width=4"),
        ("{{ x is divisibleby(<CURSOR>", "divisibleby(num)", "num"),
        ("{{ x is not sameas(<CURSOR>", "sameas(other)", "other"),
        ("{{ range(1, <CURSOR>", "range(start, stop, step=1)", "stop"),
        ("{{ range(1, 2, 3, <CURSOR>", "range(start, stop, step=1)", None),
        ("{{ namespace(<CURSOR>", "namespace(**values)", "**values"),
        ("{{ escape_special_characters(<CURSOR>", "escape_special_characters(text)", "text"),
        ("{% for i in x %}{{ loop.cycle('a', <CURSOR>", "cycle(*values)", "*values"),
        ("{{ x.get('a', <CURSOR>", "get(key, default=none)", "default=none"),
        ("{{ x.split(<CURSOR>", "split(sep=none, maxsplit=-1)", "sep=none"),
        ("{{ range(say(1), <CURSOR>", "range(start, stop, step=1)", "stop"),
        ("{{ range((1, 2), [3, 4], <CURSOR>", "range(start, stop, step=1)", "step=1"),
        ("{{ say({'a': <CURSOR>", "say(what, how='loud')", "what"),
        ("{{ say('a, b', <CURSOR>", "say(what, how='loud')", "how='loud'"),
        ("{{ say('unclosed, <CURSOR>", "say(what, how='loud')", "what"),
    ],
)
def test_the_signature_of_the_call_around_the_place_is_shown(
    content: str, label: str, active: str | None
) -> None:
    found = helped(content.replace('"', "'"))

    assert found is not None
    assert found.signature.text.replace('"', "'") == label
    assert (
        None if found.active is None else found.signature.parameters[found.active].text.replace('"', "'")
    ) == active


@pytest.mark.parametrize(
    "content",
    [
        "{{ say<CURSOR>(",
        "{{ say('a') <CURSOR>",
        "{{ (<CURSOR>",
        "{{ unknown(<CURSOR>",
        "say(<CURSOR>",
        "{# say(<CURSOR> #}",
        "{% macro f(<CURSOR>",
        "{% call(<CURSOR>",
        "{{ x | unknown(<CURSOR>",
        "{{ x[<CURSOR>",
        "{% raw %}{{ say(<CURSOR> {% endraw %}",
    ],
)
def test_there_is_no_signature_where_nothing_is_called(content: str) -> None:
    assert helped(content) is None


def test_signatures_are_documented() -> None:
    for content, words in (
        ("{{ hi(<CURSOR>", "Greets somebody."),
        ("{{ say(<CURSOR>", "Says it."),
        ("{{ x | truncate(<CURSOR>", "truncated copy"),
        ("{{ x.get(<CURSOR>", "default"),
    ):
        found = helped(content)
        assert found is not None
        assert words in found.documentation


def test_the_header_is_no_documentation_of_the_macro_below_it() -> None:
    snapshot, files = opened(
        "{#---\nname: a\n---#}\n{% macro f(x) %}{% endmacro %}\n- name: a\n  content: '{{ f(<CURSOR>) }}'\n"
    )
    (file,) = files.values()

    found = signature_help(snapshot, str(ROOT / "main.yml.j2"), file.cursor or 0)

    assert found is not None
    assert found.documentation == "macro of `main.yml.j2`"


def test_a_function_of_the_functions_file_has_its_annotations(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(
        'def shout(text: str, /, by: int = 1, *rest, mark="!", **more) -> str:\n    """Louder."""\n'
    )
    marked = parse(
        "{#---\nfunctions: helpers.py\n---#}\n- name: a\n  content: '{{ shout(x, by=2, mark=<CURSOR>) }}'\n"
    )["main.yml.j2"]
    workspace = Workspace([tmp_path])
    path = str(tmp_path / "main.yml.j2")
    workspace.open(path, marked.text, 1)

    found = signature_help(workspace.snapshot, path, marked.cursor or 0)

    assert found is not None
    assert found.signature.text == "shout(text: str, by: int = 1, *rest, mark='!', **more)"
    assert found.active == 3
    assert "Louder." in found.documentation
