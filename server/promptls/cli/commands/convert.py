"""`promptls convert`: convert prompts between formats."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from promptls.cli.safe_stream import write_document
from promptls.cli.terminal import print_json, printed_path, shown_path
from promptls.security.files import absolute_path
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.filenames import pack_file, unpack_file
from promptls.workspace.configuration_files import ConfigurationFiles

DESCRIPTION = """\
Convert a prompt into a parts template that renders to the same messages, or a parts template
into a prompt object. Everything that could not be converted is listed. Files are overwritten
only with --force.

input formats (--from; detected by default):
  chat         chat messages in JSON, in the format of the OpenAI API
  opencompass  an evaluation prompt with `infer_cfg`, in YAML, JSON or Python
  f-string     text with {name} fields
  jinja        text with Jinja
  prompty      a .prompty file
  ragas        a JSON file with a prompt or a metric, saved by Ragas 0.2 or later
  object       a prompt object with `instruction`
  parts        a parts template
output formats (--to):
  parts            from any other format
  evaluation       from an OpenCompass configuration in Python, which is read, not run
  object           from `ragas`, and from a parts template with only text and inputs
  pydantic-prompt  from `object`: a file for `PydanticPrompt.load` of Ragas
  simple-prompt    from `object` and `parts`: a file for the simple `Prompt.load` of Ragas
  metric           the same, with `output_schema` for the values: for `DiscreteMetric.load` and similar

examples:
  promptls convert messages.json                   writes messages.yml.j2
  promptls convert summarize.jinja2                writes summarize.yml.j2
  promptls convert ask.prompty --to parts -o prompts/ask.yml.j2
  promptls convert prompt.txt --from f-string -o - | less
  promptls convert triage.yml.j2 --to object       writes triage_object.yml.j2
  promptls convert correctness.json --to object    a Ragas metric as a prompt object
  promptls convert judge.yml.j2 --to simple-prompt writes judge.json
  promptls convert mmlu_ppl.py --dataset lukaemon_mmlu_anatomy

exit codes: 0 converted, 1 cannot be converted, 2 usage error"""

_ENDING = ".yml.j2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file, the two formats and the output file."""
    from promptls.convert.formats import SOURCES, TARGETS

    parser.add_argument("file", metavar="FILE", help="the prompt; - for standard input")
    parser.add_argument("--from", dest="source", choices=SOURCES, help="input format (default: detected)")
    parser.add_argument("--to", dest="target", choices=TARGETS, help="output format (default: parts)")
    parser.add_argument("--dataset", metavar="NAME", help="dataset of an OpenCompass configuration")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write; - for standard output")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Convert and write; raise UserError for what cannot be converted."""
    from promptls.convert.formats import convert, guess

    text = _text(arguments.file)
    source = arguments.source or guess(text, arguments.file)
    if source is None:
        raise UsageError(
            "the format of the file is unknown", FilePlace(arguments.file), "name it with `--from`"
        )
    if arguments.target is None:
        is_configuration = source == "opencompass" and arguments.file.endswith(".py")
        arguments.target = "evaluation" if is_configuration else "parts"
    made = convert(
        text,
        arguments.file,
        source,
        arguments.target,
        dataset=arguments.dataset,
        files=ConfigurationFiles(arguments.file),
    )
    written = _write(made.text, arguments)
    if arguments.json:
        print_json(
            {
                "from": source,
                "to": arguments.target,
                "written": shown_path(written) if written else None,
                "text": None if written else made.text,
                "lost": made.lost,
            }
        )
        return 0
    if written is None:
        write_document(made.text)
    else:
        print(f"wrote {printed_path(written)}, read as `{source}`")
    if made.lost:
        print("not carried over:", file=sys.stderr)
        for each in made.lost:
            print(f"  - {each}", file=sys.stderr)
    return 0


def _text(word: str) -> str:
    """Return the text of the file, or of the standard input; raises UserError if it is not UTF-8."""
    from promptls.cli.chosen_files import existing

    if word == "-":
        data = sys.stdin.buffer.read()
    else:
        path = existing(word)
        if path.is_dir():
            raise UsageError("this is a folder: a file is needed", FilePlace(path), "name a file in it")
        data = _bytes_of(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise UserError("the file is not UTF-8", FilePlace(word), "save it as UTF-8") from failure


def _bytes_of(path: Path) -> bytes:
    try:
        return unpack_file(path.name, path.read_bytes())
    except OSError as error:
        raise UserError(f"the file cannot be read: {error}", FilePlace(path)) from error


def _write(text: str, arguments: argparse.Namespace) -> Path | None:
    """Return the file that was written; None if the text is to be printed."""
    from promptls.security.written_files import replace_file

    if arguments.output == "-" or (arguments.output is None and arguments.file == "-"):
        return None
    path = absolute_path(arguments.output) if arguments.output else _beside(arguments)
    if path.exists() and not arguments.force:
        raise UsageError(
            "the file already exists and was not overwritten",
            FilePlace(path),
            "name another with `-o`, or overwrite it with `--force`",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as stream:
        # Ragas also reads compressed files.
        stream.buffer.write(pack_file(path.name, text.encode()))
    return path


def _beside(arguments: argparse.Namespace) -> Path:
    """Return a file name beside the source: its name with the new extension, plus the format on a clash."""
    from promptls.convert.formats import JSON_TARGETS

    source = absolute_path(arguments.file)
    stem = source.name.split(".")[0] or "prompt"
    ending = ".json" if arguments.target in JSON_TARGETS else _ENDING
    path = source.with_name(stem + ending)
    return source.with_name(f"{stem}_{arguments.target}{ending}") if path == source else path
