"""`promptls generate`: a test data set out of documents."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.cli.input.options import any_number, dollars, seconds, whole_number
from promptls.cli.output.terminal import paint, print_json, shown_path
from promptls.cli.running.questions import ask_before_spending
from promptls.text.counted import counted
from promptls.text.dollars import in_dollars

if TYPE_CHECKING:
    from promptls.experiments.events import Finished, Planned
    from promptls.generation.prepare import Prepared
    from promptls.generation.request import GenerationRequest

SUMMARY = "make a test data set out of documents"

DESCRIPTION = """\
Makes a data set of questions with reference answers out of documents (Markdown,
reStructuredText, plain text). The documents become a knowledge graph: they are cut at their
headings, rules find names, key phrases and a summary in each piece, and pieces that have
something in common are related. Scenarios are drawn from the graph, evenly over its pieces:
who asks, how, how long, and about what. A model writes the question and its answer for each.

  single_hop_specific   a fact out of one piece        single_hop_abstract   a why or how of one piece
  multi_hop_specific    facts out of two               multi_hop_abstract    what connects two

All but the model's part costs nothing, and is told first: the calls to make, and their cost.
What costs more than `ask_above` in the settings asks first; without a terminal it needs --yes.
Answers are kept: after Ctrl+C or a crash, the same command goes on, and pays for nothing twice.
An answer that is no good (no JSON, empty, in another language, not in the documents) is asked
for again, and then left out and counted. The same seed draws the same scenarios.

The rows have what experiments read: user_input, reference, reference_contexts,
synthesizer_name, persona_name, query_style, query_length, theme, sources.

examples:
  promptls generate docs/*.md --size 20 --output tests.csv
  promptls generate docs --plan                            what it would do and cost
  promptls generate docs --model openai:gpt-4.1-mini --max-cost 0.5 --output tests.jsonl
  promptls generate docs --distribution single_hop_specific=0.7,multi_hop_specific=0.3
  promptls generate docs --persona "nurse: looks up doses at the bedside" --style chat
  promptls generate docs --graph graph.json                keep the graph, or begin with a kept one

exit codes: 0 every query is there, 1 some were left out, 2 wrong use"""

# Reasons for leaving out queries that are told.
SHOWN_REASONS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the documents, and what is made of them."""
    parser.add_argument("documents", metavar="DOCS", nargs="*", help="text files, or folders that have some")
    parser.add_argument(
        "--output", "-o", metavar="FILE", type=Path, default=Path("tests.csv"), help="by default `tests.csv`"
    )
    parser.add_argument("--size", metavar="N", type=whole_number, default=20, help="queries; by default 20")
    parser.add_argument("--model", metavar="MODEL", help="who writes them; by default that of the project")
    parser.add_argument(
        "--distribution", metavar="NAME=SHARE,…", help="how many of each kind, in shares of the whole"
    )
    parser.add_argument(
        "--persona",
        metavar="NAME: WHO",
        action="append",
        default=[],
        help="somebody who asks; may be repeated",
    )
    parser.add_argument(
        "--style", metavar="STYLE", action="append", default=[], help="only this; may be repeated"
    )
    parser.add_argument("--length", metavar="LENGTH", action="append", default=[], help="likewise")
    parser.add_argument(
        "--seed", metavar="N", type=any_number, default=0, help="another seed, other scenarios"
    )
    parser.add_argument(
        "--graph", metavar="FILE", type=Path, help="read the graph from here, or keep it here"
    )
    parser.add_argument(
        "--extraction",
        choices=("rules", "model"),
        default="rules",
        help="who reads the documents: rules, for nothing, or the model, with three calls a piece",
    )
    parser.add_argument(
        "--no-embeddings", action="store_true", help="relate pieces by their words alone, which is faster"
    )
    parser.add_argument(
        "--tries", metavar="N", type=whole_number, default=3, help="for one query; by default 3"
    )
    parser.add_argument("--concurrency", metavar="N", type=whole_number, help="ask for N at once")
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, help="how long one answer may take")
    parser.add_argument("--force", action="store_true", help="overwrite a data set that is there")
    parser.add_argument("--json", action="store_true", help="print what was made, or planned, as JSON")
    spending = parser.add_argument_group("spending")
    spending.add_argument(
        "--plan", "--dry-run", action="store_true", help="say what it would do, and stop there"
    )
    spending.add_argument("--yes", "-y", action="store_true", help="do not ask, whatever it costs")
    spending.add_argument("--fresh", action="store_true", help="ask again what was answered before")
    spending.add_argument("--max-calls", metavar="N", type=whole_number, help="stop after N calls")
    spending.add_argument("--max-tokens", metavar="N", type=whole_number, help="stop after N tokens")
    spending.add_argument("--max-cost", metavar="DOLLARS", type=dollars, help="stop after so many US dollars")


def execute(arguments: argparse.Namespace) -> int:
    """Makes the data set and says what it holds; 1 where queries are missing."""
    finished = asyncio.run(_generate(arguments))
    if finished is None:
        return 0
    manifest = finished.manifest
    if arguments.json:
        print_json({**manifest, "results": finished.results})
    else:
        _print(finished, arguments)
    return int(manifest["rows"] < manifest["wanted"])


def request_of(arguments: argparse.Namespace) -> GenerationRequest:
    """What the options ask for."""
    from promptls.generation.request import GenerationRequest

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
        # A plan writes nothing, so it may be made beside a data set that is there.
        force=arguments.force or arguments.plan,
        yes=arguments.yes,
        only_plan=arguments.plan,
        base=str(Path.cwd()),
    )


async def _generate(arguments: argparse.Namespace) -> Finished | None:
    from promptls.cli.running.progress import shown_progress
    from promptls.generation.prepare import prepared
    from promptls.generation.run import generate

    async with AsyncExitStack() as stack:
        with _reading(arguments):
            ready = await stack.enter_async_context(prepared(request_of(arguments)))
        if not arguments.json:
            print("\n".join(_heading(ready)), flush=True)
        if arguments.plan:
            if arguments.json:
                print_json(_plan(ready))
            return None
        if not arguments.yes:
            ask_before_spending([ready.planned], less="`--size 10`")
        with shown_progress(quiet=arguments.json, noun="queries") as tell:
            return await generate(ready.plan, tell)


def _reading(arguments: argparse.Namespace) -> AbstractContextManager[Any]:
    """Says, on a terminal, what takes its time before there is a plan."""
    if arguments.json or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("reading the documents, and relating what they say")


def _plan(ready: Prepared) -> dict[str, Any]:
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


_PLANNED = ("rows", "calls", "cached", "tokens", "prompt_cost", "longest_cost", "question")


def _heading(ready: Prepared) -> list[str]:
    plan, planned = ready
    graph = plan.graph
    kept = f", from {shown_path(str(plan.request.graph))}" if plan.graph_is_loaded else ""
    lines = [
        ", ".join(
            [
                counted(plan.documents, "document"),
                counted(len(graph.leaves), "piece"),
                f"{counted(len(graph.relationships), 'relationship')}{kept}",
            ]
        ),
        paint(shown_path(plan.output), "bold")
        + f": {plan.scenarios} queries by {plan.reference.name}: {_calls(planned)}",
    ]
    if plan.drawn is not None:
        named = [each.name for each, _ in plan.drawn.scenarios]
        kinds = ", ".join(f"{named.count(name)} {name}" for name in dict.fromkeys(named))
        lines.append(paint(kinds, "dim"))
    else:
        lines.append(paint("the model reads the documents first; what it finds decides what is asked", "dim"))
    lines += [paint(note, "yellow") for note in plan.notes]
    return lines


def _calls(planned: Planned) -> str:
    words = f"{counted(planned.calls, 'call')}, about {counted(planned.tokens, 'input token')}"
    if planned.cached:
        words += f", {planned.cached:,} answered before"
    if planned.longest_cost is not None:
        words += f", at most {in_dollars(planned.longest_cost)} without second tries"
    elif planned.prompt_cost is not None:
        words += f", {in_dollars(planned.prompt_cost)} and the answers'"
    return words


def _print(finished: Finished, arguments: argparse.Namespace) -> None:
    made = finished.manifest
    kinds = ", ".join(f"{count} {name}" for name, count in made["synthesizers"].items())
    print(f"{paint(shown_path(finished.results), 'bold')}: {counted(made['rows'], 'row')} ({kinds})")
    taken = f"{counted(made['calls'], 'call')} in {made['seconds']:.3g} s, {made['cached']:,} from the cache"
    tokens = f"{made['input_tokens']:,} input and {made['output_tokens']:,} output tokens"
    cost = f", {in_dollars(made['cost'])}" if made["cost"] is not None else ""
    print(paint(f"{taken}; {tokens}{cost}", "dim"))
    if made["duplicates"]:
        print(paint(f"{counted(made['duplicates'], 'duplicate')} dropped", "yellow"))
    for reason, count in list(made["left_out"].items())[:SHOWN_REASONS]:
        print(paint(f"{count} left out: ", "yellow") + reason)
    if made["stopped"]:
        print(paint(f"{made['stopped']}: {made['not_asked']} queries were not asked for", "yellow"))
        print(paint("what was answered is kept: run it again with a larger budget and `--force`", "dim"))
    if arguments.graph:
        print(f"graph: {shown_path(arguments.graph)}")
