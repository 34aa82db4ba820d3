"""Extreme data files beside a prompt, generated or malicious: each is rejected with a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.convert.formats import convert
from promptls.rendering.samples import samples_of
from promptls.text.errors import UserError
from promptls.workspace.workspace import Workspace

TEXTS = {
    "deep.yml": "a: " + "[" * 100_000,
    "deep.json": '{"a": ' + "[" * 100_000,
    "lists.yml": "- " * 100_000,
    "aliases.yml": "a0: &a0 [1]\n"
    + "".join(f"a{n + 1}: &a{n + 1} [" + ",".join([f"*a{n}"] * 10) + "]\n" for n in range(9)),
    "surrogate.yml": "a: \ud800",
    "date.yml": "a: 2024-99-99",
    "broken.yml": "a: [",
    "itself.yml": "a: &x {b: *x}",
    "large.yml": "a: |\n" + "  text\n" * 400_000,
}


@pytest.mark.parametrize("name", TEXTS)
def test_samples_that_cannot_be_read_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(TEXTS[name].encode("utf-8", "surrogatepass"))
    path = str(tmp_path / "a.yml.j2")
    workspace = Workspace([tmp_path])
    workspace.open(path, f"{{#---\nsamples: {name}\n---#}}\n- name: a\n  content: x\n", 1)

    with pytest.raises(UserError, match="samples file"):
        list(samples_of(workspace.snapshot, path))


FIT_TO_CONVERT = {"itself.yml", "large.yml"}


@pytest.mark.parametrize(
    "name", [name for name in TEXTS if name.endswith(".yml") and name not in FIT_TO_CONVERT]
)
def test_what_cannot_be_read_is_not_converted(name: str) -> None:
    with pytest.raises(UserError, match="the file is no"):
        convert(TEXTS[name], name, "object", "parts")
