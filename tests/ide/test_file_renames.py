"""File renames: files before and after the rename and its edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.rename import rename_files
from promptls.workspace.workspace import Workspace

PROMPT = "- name: a\n  content: x\n"
CASES: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str]]] = {
    "an included file": (
        {"main.yml.j2": '{% include "tail.yml.j2" %}\n' + PROMPT, "tail.yml.j2": PROMPT},
        {"tail.yml.j2": "parts/end.yml.j2"},
        {"main.yml.j2": '{% include "parts/end.yml.j2" %}\n' + PROMPT},
    ),
    "a folder of included files": (
        {
            "main.yml.j2": "{% include 'sections/a.yml.j2' %}{% import \"sections/b.yml.j2\" as b %}",
            "sections/a.yml.j2": PROMPT,
            "sections/b.yml.j2": PROMPT,
        },
        {"sections": "parts"},
        {"main.yml.j2": "{% include 'parts/a.yml.j2' %}{% import \"parts/b.yml.j2\" as b %}"},
    ),
    "a name in a list of names": (
        {"main.yml.j2": "{% include ['gone.yml.j2', 'tail.yml.j2'] %}", "tail.yml.j2": PROMPT},
        {"tail.yml.j2": "end.yml.j2"},
        {"main.yml.j2": "{% include ['gone.yml.j2', 'end.yml.j2'] %}"},
    ),
    "a name in a section, which counts from the folder of the entry": (
        {
            "main.yml.j2": '{% include "sections/a.yml.j2" %}\n' + PROMPT,
            "sections/a.yml.j2": '{% include "sections/b.yml.j2" %}',
            "sections/b.yml.j2": PROMPT,
        },
        {"sections/b.yml.j2": "sections/c.yml.j2"},
        {"sections/a.yml.j2": '{% include "sections/c.yml.j2" %}'},
    ),
    "the entry itself, further up": (
        {
            "chat/main.yml.j2": '{% include "a.yml.j2" %}\n' + PROMPT,
            "chat/a.yml.j2": '{% include "b.yml.j2" %}',
            "chat/b.yml.j2": PROMPT,
        },
        {"chat/main.yml.j2": "main.yml.j2"},
        {
            "chat/main.yml.j2": '{% include "chat/a.yml.j2" %}\n' + PROMPT,
            "chat/a.yml.j2": '{% include "chat/b.yml.j2" %}',
        },
    ),
    "the entry out of the folder that names count from": (
        {"main.yml.j2": '{% include "a.yml.j2" %}\n' + PROMPT, "a.yml.j2": PROMPT},
        {"main.yml.j2": "deeper/main.yml.j2"},
        {},
    ),
    "a folder with all that its files name": (
        {"chat/main.yml.j2": '{% include "a.yml.j2" %}\n' + PROMPT, "chat/a.yml.j2": PROMPT},
        {"chat": "talk"},
        {},
    ),
    "what a header names": (
        {
            "main.yml.j2": "{#---\nsamples: data/s.yml\nfunctions: 'f.py'\nexperiments:\n"
            '  e: {dataset: "data/d.csv", metrics: [f.py:good, exact_match]}\n---#}\n' + PROMPT,
            "data/s.yml": "",
            "data/d.csv": "",
            "f.py": "",
        },
        {"data": "rows", "f.py": "lib/f.py"},
        {
            "main.yml.j2": "{#---\nsamples: rows/s.yml\nfunctions: 'lib/f.py'\nexperiments:\n"
            '  e: {dataset: "rows/d.csv", metrics: [lib/f.py:good, exact_match]}\n---#}\n' + PROMPT
        },
    ),
    "a prompt whose header names files": (
        {"main.yml.j2": "{#---\nsamples: data/s.yml\n---#}\n" + PROMPT, "data/s.yml": ""},
        {"main.yml.j2": "chat/main.yml.j2"},
        {"main.yml.j2": "{#---\nsamples: ../data/s.yml\n---#}\n" + PROMPT},
    ),
    "a new name that YAML would misread": (
        {"main.yml.j2": "{#---\nsamples: s.yml\n---#}\n" + PROMPT, "s.yml": ""},
        {"s.yml": "it's # 1.yml"},
        {"main.yml.j2": "{#---\nsamples: 'it''s # 1.yml'\n---#}\n" + PROMPT},
    ),
    "a prompt object's samples": (
        {"main.yml.j2": "instruction: x\nsamples: s.yml\n", "s.yml": ""},
        {"s.yml": "t.yml"},
        {"main.yml.j2": "instruction: x\nsamples: t.yml\n"},
    ),
    "what nobody names": (
        {"main.yml.j2": '{% include "a.yml.j2" %}\n' + PROMPT, "a.yml.j2": PROMPT, "b.yml.j2": PROMPT},
        {"b.yml.j2": "c.yml.j2"},
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_open", [False, True])
def test_what_leads_to_a_file_leads_to_it_under_its_new_name(
    tmp_path: Path, case: str, is_open: bool
) -> None:
    files, renames, expected = CASES[case]
    workspace = Workspace([tmp_path])
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    workspace.scan()
    if is_open:
        for name, text in files.items():
            if name.endswith(".j2"):
                workspace.open(str(tmp_path / name), text, 1)

    edits = rename_files(
        workspace.snapshot, {str(tmp_path / old): str(tmp_path / new) for old, new in renames.items()}
    )

    changed = {}
    for edit in reversed(edits):
        name = Path(edit.path).relative_to(tmp_path).as_posix()
        text = changed.get(name, files[name])
        changed[name] = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert changed == expected
