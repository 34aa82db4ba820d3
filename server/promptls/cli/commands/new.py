"""`promptls new`: a prompt to begin with, that has no findings and runs."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from promptls.cli.output.terminal import print_json, shown_path
from promptls.features.new_prompt import BESIDE, KINDS, Beside, new_prompt
from promptls.text.failure import FilePlace, WrongUse

SUMMARY = "begin a prompt, with a sample and a data set"

DESCRIPTION = """\
Begins a prompt from a template: a file NAME.yml.j2, with samples to preview it with and
a data set beside it, and if asked an experiment over that data set. What is written has
no findings and runs: change it step by step. No file is overwritten without --force.

examples:
  promptls new triage                          triage.yml.j2, samples/, datasets/
  promptls new prompts/triage --with experiment
  promptls new answer --kind object --alone    nothing beside the prompt
  promptls new gsm8k --kind evaluation         for OpenCompass

exit codes: 0 written, 1 it cannot be written, 2 wrong use"""

_ENDING = re.compile(r"\.ya?ml(\.j2)?$")
_NAME = re.compile(r"[^\W][\w.-]*")
_DEFAULT: tuple[Beside, ...] = ("sample", "dataset")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the name, the kind and what stands beside the prompt."""
    parser.add_argument("name", metavar="NAME", help="name of the prompt, with its folder if it has one")
    parser.add_argument("--kind", choices=KINDS, default="parts", help="kind of the prompt (default: parts)")
    parser.add_argument(
        "--with",
        dest="beside",
        choices=BESIDE,
        nargs="+",
        default=[],
        metavar="WHAT",
        help=f"also write {', '.join(BESIDE)}; sample and dataset are written anyway",
    )
    parser.add_argument(
        "--alone", action="store_true", help="write nothing beside the prompt but what --with names"
    )
    parser.add_argument("--force", action="store_true", help="overwrite files that are there")
    parser.add_argument("--json", action="store_true", help="print the paths of the files as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Writes the files; raises WrongUse, and writes nothing, where one is there already."""
    from promptls.datasets.atomic import replaced

    path = Path(os.path.abspath(arguments.name))  # noqa: PTH100 - links stay as they are
    name = _ENDING.sub("", arguments.name.replace(os.sep, "/").rpartition("/")[2])
    if not _NAME.fullmatch(name):
        raise WrongUse(
            f"`{arguments.name}` is no name for a prompt", remedy="write letters, digits, `_`, `-` and `.`"
        )
    beside = {*arguments.beside, *(() if arguments.alone else _DEFAULT)}
    if arguments.kind == "evaluation" and "sample" in arguments.beside:
        raise WrongUse(
            "the rows of the data set are what an evaluation prompt is shown with, not samples",
            remedy="write `--with dataset`, or choose another `--kind`",
        )
    files = {path.parent / file: text for file, text in new_prompt(name, arguments.kind, beside).items()}
    there = next((file for file in files if file.exists()), None)
    if there is not None and not arguments.force:
        raise WrongUse(
            "there is such a file already, and nothing was written",
            FilePlace(there),
            "choose another name, or overwrite it with `--force`",
        )
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        with replaced(file) as stream:
            stream.write(text)
    if arguments.json:
        print_json({"files": [shown_path(file) for file in files]})
        return 0
    for file in files:
        print(f"wrote {shown_path(file)}")
    prompt = shown_path(next(iter(files)))
    shows = f"render {prompt} --viewer" if arguments.kind == "evaluation" else f"render {prompt}"
    print(f"next: promptls {f'run {prompt}' if 'experiment' in beside else shows}")
    return 0
