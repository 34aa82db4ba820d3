"""`promptls new`: create a prompt that has no findings and renders."""

from __future__ import annotations

import argparse
import os
import re

from promptls.cli.terminal import print_json, printed_path, shown_path
from promptls.ide.new_prompt import BESIDE, KINDS, Beside, new_prompt
from promptls.security.files import absolute_path
from promptls.text.errors import FilePlace, UsageError
from promptls.text.filenames import file_name_problem

DESCRIPTION = """\
Create a prompt NAME.yml.j2 with samples, a dataset and, if requested, an experiment. The prompt
has no findings and renders at once. Files are overwritten only with --force.

examples:
  promptls new triage                          triage.yml.j2, samples/, datasets/
  promptls new prompts/triage --with experiment
  promptls new answer --kind object --alone    only the prompt file
  promptls new gsm8k --kind evaluation         for OpenCompass

exit codes: 0 created, 1 cannot be written, 2 usage error"""

_ENDING = re.compile(r"\.ya?ml(\.j2)?$")
_NAME = re.compile(r"[^\W][\w.-]*")
_DEFAULT: tuple[Beside, ...] = ("sample", "dataset")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the name, the kind and the files created beside the prompt."""
    parser.add_argument("name", metavar="NAME", help="name of the prompt, optionally with a folder")
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
    parser.add_argument("--alone", action="store_true", help="create only the prompt and what --with names")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.add_argument("--json", action="store_true", help="print the paths of the files as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Write the files; raises UsageError, and writes nothing, if one already exists."""
    from promptls.security.written_files import replace_file

    path = absolute_path(arguments.name)
    name = _ENDING.sub("", arguments.name.replace(os.sep, "/").rpartition("/")[2])
    problem = file_name_problem(name)
    if problem is not None or not _NAME.fullmatch(name):
        raise UsageError(
            f"`{arguments.name}` is not a name for a prompt{f': it {problem}' if problem else ''}",
            remedy="write letters, digits, `_`, `-` and `.`",
        )
    beside = {*arguments.beside, *(() if arguments.alone else _DEFAULT)}
    if arguments.kind == "evaluation" and "sample" in arguments.beside:
        raise UsageError(
            "evaluation prompts are shown with rows of their dataset, not with samples",
            remedy="write `--with dataset`, or choose another `--kind`",
        )
    files = {path.parent / file: text for file, text in new_prompt(name, arguments.kind, beside).items()}
    there = next((file for file in files if file.exists()), None)
    if there is not None and not arguments.force:
        raise UsageError(
            "the file already exists, so nothing was written",
            FilePlace(there),
            "choose another name, or overwrite it with `--force`",
        )
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as stream:
            stream.write(text)
    if arguments.json:
        print_json({"files": [shown_path(file) for file in files]})
        return 0
    for file in files:
        print(f"wrote {printed_path(file)}")
    prompt = printed_path(next(iter(files)))
    shows = f"render {prompt} --viewer" if arguments.kind == "evaluation" else f"render {prompt}"
    print(f"next: promptls {f'run {prompt}' if 'experiment' in beside else shows}")
    return 0
