"""`promptls generate`: generate a test dataset from documents."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli import permission
from promptls.cli.arguments import any_number, seconds, whole_number
from promptls.cli.safe_stream import live_progress
from promptls.cli.terminal import paint, print_json, printed_path
from promptls.security.trust import FolderCode
from promptls.text.errors import UsageError
from promptls.text.format import in_dollars, plural

if TYPE_CHECKING:
    from promptls.experiments.run_protocol import Finished, Planned
    from promptls.testset.generation import GenerationRequest, PreparedGeneration

DESCRIPTION = """\
Generate a dataset of questions with reference answers from documents (Markdown,
reStructuredText, plain text). Documents are split at headings into a knowledge graph; rules
extract entities, key phrases and a summary from each piece and relate similar pieces. Scenarios
(persona, style, length, theme) are drawn evenly from the graph. A model writes the question and
the answer for each.

  single_hop_specific   a fact of one piece         single_hop_abstract   why or how, in one piece
  multi_hop_specific    facts of two pieces         multi_hop_abstract    what connects two pieces

The folder of the dataset must be trusted, because its settings choose the models. On a terminal,
you are asked once; elsewhere, pass `--trust` or run `promptls trust FOLDER` first.

Only the model costs anything. The number of calls and their cost are shown first. If they exceed
`ask_above` in the settings, you are asked; without a terminal, pass --yes. Answers are cached:
after Ctrl+C or a crash, the same command continues without paying twice. Unusable answers
(not JSON, empty, in another language, not supported by the documents) are requested again, then
left out and counted. The same seed draws the same scenarios.

The columns are user_input, reference, reference_contexts, synthesizer_name, persona_name,
query_style, query_length, theme and sources.

examples:
  promptls generate docs/*.md --size 20 --output tests.csv
  promptls generate docs --plan                            show the plan and its cost
  promptls generate docs --model openai:gpt-4.1-mini --max-cost 0.5 --output tests.jsonl
  promptls generate docs --distribution single_hop_specific=0.7,multi_hop_specific=0.3
  promptls generate docs --persona "nurse: looks up doses at the bedside" --style chat
  promptls generate docs --graph graph.json                save the graph, or reuse a saved one

exit codes: 0 all queries were written, 1 some were left out, 2 usage error"""

SHOWN_REASONS = 5
"""The maximum number of reasons shown for omitted queries."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the documents, and the options for generation."""
    parser.add_argument("documents", metavar="DOCS", nargs="*", help="text files and folders")
    parser.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        type=Path,
        default=Path("tests.csv"),
        help="the dataset (default: tests.csv)",
    )
    parser.add_argument(
        "--size", metavar="N", type=whole_number, default=20, help="number of queries (default: 20)"
    )
    parser.add_argument(
        "--model", metavar="MODEL", help="the model that writes them (default: the project's)"
    )
    _add_scenarios(parser)
    parser.add_argument(
        "--graph", metavar="FILE", type=Path, help="save the graph here, or load it if the file exists"
    )
    parser.add_argument(
        "--extraction",
        choices=("rules", "model"),
        default="rules",
        help="analyze documents with rules (free) or with the model (three calls per piece)",
    )
    parser.add_argument(
        "--no-embeddings", action="store_true", help="relate pieces by shared words only (faster)"
    )
    parser.add_argument(
        "--tries", metavar="N", type=whole_number, default=3, help="maximum tries per query (default: 3)"
    )
    parser.add_argument("--concurrency", metavar="N", type=whole_number, help="number of parallel requests")
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, help="maximum time per answer")
    parser.add_argument("--force", action="store_true", help="overwrite an existing dataset")
    parser.add_argument("--json", action="store_true", help="print the result or plan as JSON")
    permission.add_trust_argument(parser)
    permission.add_spending_arguments(parser, "--plan", "--dry-run")


def _add_scenarios(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--distribution", metavar="NAME=SHARE,…", help="share of each kind of query")
    parser.add_argument(
        "--persona",
        metavar="NAME: WHO",
        action="append",
        default=[],
        help="a persona who asks; may be repeated",
    )
    parser.add_argument(
        "--style", metavar="STYLE", action="append", default=[], help="use only this style; may be repeated"
    )
    parser.add_argument(
        "--length",
        metavar="LENGTH",
        action="append",
        default=[],
        help="use only this length; may be repeated",
    )
    parser.add_argument("--seed", metavar="N", type=any_number, default=0, help="random seed for scenarios")


def execute(arguments: argparse.Namespace) -> int:
    """Generate the dataset and print a summary; return 1 if queries are missing."""
    from promptls.cli.chosen_files import existing
    from promptls.cli.run_progress import run_cancellable
    from promptls.testset.generation import folder_of, model_of, requested_access

    if not arguments.documents and arguments.graph is None:
        remedy = "name files or folders: `promptls generate docs/*.md`"
        raise UsageError("`promptls generate` needs documents", remedy=remedy)
    for each in arguments.documents:
        existing(str(each))
    request = request_of(arguments)
    if not arguments.trust:
        permission.require_trust([folder_of(request)], lambda: FolderCode(models=(model_of(request).name,)))
    with permission.keys_allowed([requested_access(request)], arguments.allow_key, asks=not arguments.plan):
        finished = run_cancellable(_generate(arguments))
    if finished is None:
        return 0
    manifest = finished.manifest
    if arguments.json:
        print_json({**manifest, "results": finished.results})
    else:
        _print(finished, arguments)
    return int(manifest["rows"] < manifest["requested"])


def request_of(arguments: argparse.Namespace) -> GenerationRequest:
    """Return the request that the options describe."""
    from promptls.testset.generation import GenerationRequest

    return GenerationRequest(
        documents=[str(Path(each).absolute()) for each in arguments.documents],
        output=str(arguments.output.absolute()),
        size=arguments.size,
        model=arguments.model,
        distribution=arguments.distribution,
        personas=arguments.persona,
        styles=arguments.style,
        lengths=arguments.length,
        seed=arguments.seed,
        graph=str(arguments.graph.absolute()) if arguments.graph else None,
        extraction=arguments.extraction,
        embeddings=not arguments.no_embeddings,
        tries=arguments.tries,
        concurrency=arguments.concurrency,
        timeout=arguments.timeout,
        max_calls=arguments.max_calls,
        max_tokens=arguments.max_tokens,
        max_cost=arguments.max_cost,
        fresh=arguments.fresh,
        # A plan writes nothing, so the dataset may already exist.
        force=arguments.force or arguments.plan,
        yes=arguments.yes,
        only_plan=arguments.plan,
        base=str(Path.cwd()),
    )


async def _generate(arguments: argparse.Namespace) -> Finished | None:
    from promptls.cli.run_progress import shown_progress
    from promptls.testset.generation import prepare_generation
    from promptls.testset.process import generate

    async with AsyncExitStack() as stack:
        with _reading_spinner(arguments):
            ready = await stack.enter_async_context(prepare_generation(request_of(arguments)))
        if not arguments.json:
            print("\n".join(_heading(ready)), flush=True)
        if arguments.plan:
            if arguments.json:
                print_json(_plan(ready))
            return None
        if not arguments.yes:
            permission.ask_before_spending([ready.planned], less="`--size 10`")
        with shown_progress(quiet=arguments.json, noun="queries") as notify:
            return await generate(ready.plan, notify)


@contextmanager
def _reading_spinner(arguments: argparse.Namespace) -> Iterator[None]:
    """Show the progress of reading on a terminal, until there is a plan."""
    if arguments.json or not sys.stderr.isatty():
        yield
        return
    from rich.progress import SpinnerColumn, TextColumn

    with live_progress(SpinnerColumn(), TextColumn("{task.description}")) as display:
        display.add_task("reading the documents, and relating what they say", total=None)
        yield


def _plan(ready: PreparedGeneration) -> dict[str, Any]:
    plan, planned = ready
    drawn = plan.drawn.scenarios if plan.drawn else []
    named = [each.name for each, _ in drawn]
    return {
        **{key: value for key, value in asdict(planned).items() if key in _PLANNED},
        "model": plan.reference.name,
        "documents": plan.documents,
        "nodes": len(plan.graph.nodes),
        "relationships": len(plan.graph.relationships),
        "synthesizers": {name: named.count(name) for name in dict.fromkeys(named)},
        "notes": list(plan.notes),
    }


_PLANNED = ("rows", "calls", "cached", "tokens", "prompt_cost", "longest_cost", "question", "sends")


def _heading(ready: PreparedGeneration) -> list[str]:
    plan, planned = ready
    graph = plan.graph
    source = f", from {printed_path(str(plan.request.graph))}" if plan.graph_is_loaded else ""
    lines = [
        ", ".join(
            [
                plural(plan.documents, "document"),
                plural(len(graph.leaves), "piece"),
                f"{plural(len(graph.relationships), 'relationship')}{source}",
            ]
        ),
        paint(printed_path(plan.output), "bold")
        + f": {plan.scenarios} queries by {plan.reference.name}: {_calls(planned)}",
    ]
    lines += permission.sent_lines(planned.sends, planned.environment)
    if plan.drawn is not None:
        named = [each.name for each, _ in plan.drawn.scenarios]
        kinds = ", ".join(f"{named.count(name)} {name}" for name in dict.fromkeys(named))
        lines.append(paint(kinds, "dim"))
    else:
        lines.append(paint("the model first reads the documents; the questions depend on them", "dim"))
    lines += [paint(note, "yellow") for note in plan.notes]
    return lines


def _calls(planned: Planned) -> str:
    estimate = f"{plural(planned.calls, 'call')}, about {plural(planned.tokens, 'input token')}"
    if planned.cached:
        estimate += f", {planned.cached:,} already answered"
    if planned.longest_cost is not None:
        estimate += f", at most {in_dollars(planned.longest_cost)} without second tries"
    elif planned.prompt_cost is not None:
        estimate += f", {in_dollars(planned.prompt_cost)} and the answers'"
    return estimate


def _print(finished: Finished, arguments: argparse.Namespace) -> None:
    made = finished.manifest
    kinds = ", ".join(f"{count} {name}" for name, count in made["synthesizers"].items())
    print(f"{paint(printed_path(finished.results), 'bold')}: {plural(made['rows'], 'row')} ({kinds})")
    taken = f"{plural(made['calls'], 'call')} in {made['seconds']:.3g} s, {made['cached']:,} from the cache"
    tokens = f"{made['input_tokens']:,} input and {made['output_tokens']:,} output tokens"
    cost = f", {in_dollars(made['cost'])}" if made["cost"] is not None else ""
    print(paint(f"{taken}; {tokens}{cost}", "dim"))
    if made["duplicates"]:
        print(paint(f"{plural(made['duplicates'], 'duplicate')} dropped", "yellow"))
    for reason, count in list(made["left_out"].items())[:SHOWN_REASONS]:
        print(paint(f"{count} left out: ", "yellow") + reason)
    if made["stopped"]:
        print(paint(f"{made['stopped']}: {made['not_requested']} queries were not asked for", "yellow"))
        print(paint("what was answered is kept: run it again with a larger budget and `--force`", "dim"))
    if arguments.graph:
        print(f"graph: {printed_path(arguments.graph)}")
