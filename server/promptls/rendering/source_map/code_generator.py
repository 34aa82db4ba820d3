"""Jinja's code generator, modified so that everything printed is a piece that records its origin.

Each function of the compiled code has a local `iteration`: the current one of its open loops. It is reset
after each iteration, so it is correct wherever an error stops the code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jinja2 import Environment, nodes
from jinja2.compiler import CodeGenerator, Frame

from promptls.rendering.mark import MARK
from promptls.rendering.source_map.lexer import Sites, span_of
from promptls.rendering.source_map.value_paths import (
    bindings_of,
    expression_of,
    is_read,
    loop_text,
    reads_of,
    takes_long,
    targets_of,
)

_NAMES: Final = (
    "shown", "passed_on", "joined_values", "made_by", "percent_formatted", "read", "read_items", "read_text",
    "read_texts", "unsure_text",
)  # fmt: skip
"""The functions that compiled code calls, as attributes of the environment."""


class MappingCodeGenerator(CodeGenerator):
    """Compiles templates to code that yields pieces; see `pieces`."""

    def __init__(self, environment: Environment, *arguments: Any, **options: Any) -> None:
        """Initialize Jinja's generator."""
        super().__init__(environment, *arguments, **options)
        self._sites: Final = Sites()
        self._prose: dict[int, int] = {}
        """The index in the tables of each text between tags, by its start; see `Skeleton`."""
        self._loops: list[str] = []
        """The variables with the outer iterations of the loops that are open in this function."""
        self._bodies: dict[int, tuple[nodes.For, str, int]] = {}
        """The loops whose bodies follow, by the body: the variable of the outer iteration, and the site."""
        self._branches: dict[int, str] = {}
        self._begins_function = False
        self._counters = ""
        self._passing: str | None = None
        """The function call that wraps pieces which Jinja passes on."""
        self._text = ""
        self._wrapped: dict[int, tuple[nodes.Node, str, int]] = {}
        """The expressions to convert to pieces: the functions that convert them, and their sites."""
        self._continues = False
        """Whether the line being written continues the previous statement."""

    # -- the module and its functions

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:
        bindings = bindings_of(node)
        self._text = getattr(node, "text", "")
        super().visit_Template(node, frame)
        self.writeline(f"sites = {tuple(self._sites.rows)!r}")
        self.writeline(f"prose = {tuple(self._prose)!r}")
        self.writeline(f"bindings = {bindings!r}")

    def write_commons(self) -> None:
        super().write_commons()
        for name in _NAMES:
            self.writeline(f"{name} = environment.{name}")
        self.writeline("iteration = None")

    def buffer(self, frame: Frame) -> None:
        super().buffer(frame)
        if self._begins_function:
            self._begins_function = False
            self.writeline("iteration = None")
            if self._counters:
                self.writeline(self._counters)

    def macro_body(self, node: Any, frame: Frame) -> Any:
        # The caller of a macro prints its output in the caller's iteration.
        loops, self._loops = self._loops, []
        self._begins_function, self._counters = True, ""
        try:
            return super().macro_body(node, frame)
        finally:
            self._loops = loops

    # -- what is printed

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:
        if frame.require_output_check:
            if self.has_known_extends:
                return
            self.writeline("if parent_template is None:")
            self.indent()
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                super().start_write(frame)
                number = self._prose.setdefault(span_of(child)[0], len(self._prose))
                self.write(f"BEGUN[{number}] + (iteration,)" if self._loops else f"PIECES[{number}]")
                super().end_write(frame)
            else:
                super().start_write(frame, child)
                self.write("shown(")
                constant = self._constant(child, frame)
                if constant is None:
                    self._note_reads(child, frame)
                    self._write_value(child, frame)
                else:
                    self.write(repr(constant))
                self.write(f", FILE, {self._sites.add('output', child, expression=expression_of(child))}, ")
                self.write(f"{self._iteration()})")
                super().end_write(frame)
        if frame.require_output_check:
            self.outdent()

    def _constant(self, node: nodes.Expr, frame: Frame) -> str | None:
        """Return the text of a constant expression, evaluated once, as Jinja does.

        Return None for other expressions.
        """
        try:
            return str(super()._output_child_to_const(node, frame, self._make_finalize()))
        except Exception:  # noqa: BLE001 - it fails again, at its location, when the template runs
            return None

    def _write_value(self, node: nodes.Expr, frame: Frame) -> None:
        if frame.eval_ctx.volatile:
            self.write("(escape if context.eval_ctx.autoescape else identity)(")
        elif frame.eval_ctx.autoescape:
            self.write("escape(")
        else:
            self.write("(")
        self.visit(node, frame)
        self.write(")")

    # -- what is read

    def _note_reads(self, node: nodes.Node, frame: Frame) -> bool:
        """Mark what an expression reads for conversion to pieces; return whether it reads anything."""
        # With autoescaping, texts must keep their types.
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape or is_read(node):
            return False
        found = list(reads_of(node))
        for read, how in found:
            site = self._sites.add("output", read, expression=expression_of(read))
            self._wrapped[id(read)] = read, how, site
        return bool(found)

    def _note_set(self, node: nodes.Node, tag: nodes.Stmt, frame: Frame) -> None:
        """Mark what a tag sets for conversion to pieces."""
        if self._note_reads(node, frame):
            self._wrapped[id(node)] = node, "made_by", self._sites.add("set", tag)

    def visit(self, node: nodes.Node, *arguments: Any, **options: Any) -> Any:
        """Write a node; wrap an expression to convert to pieces in a call of the converting function."""
        _, how, site = self._wrapped.pop(id(node), (None, None, 0))
        if how is None:
            return super().visit(node, *arguments, **options)
        self.write(f"{how}(")
        super().visit(node, *arguments, **options)
        self.write(f", FILE, {site}, {self._iteration()})")
        return None

    def visit_Mod(self, node: nodes.BinExpr, frame: Frame) -> None:
        self.write("percent_formatted(")
        self.visit(node.left, frame)
        self.write(", ")
        self.visit(node.right, frame)
        self.write(")")

    def visit_Assign(self, node: nodes.Assign, frame: Frame) -> None:
        if not isinstance(node.target, nodes.Tuple):
            self._note_set(node.node, node, frame)
        super().visit_Assign(node, frame)

    def visit_With(self, node: nodes.With, frame: Frame) -> None:
        for value in node.values:
            self._note_set(value, node, frame)
        super().visit_With(node, frame)

    def start_write(self, frame: Frame, node: nodes.Node | None = None) -> None:
        super().start_write(frame, node)
        self.write("shown(")

    def end_write(self, frame: Frame) -> None:
        self.write(f", FILE, {self._sites.printing}, {self._iteration()})")
        super().end_write(frame)

    def simple_write(self, s: str, frame: Frame, node: nodes.Node | None = None) -> None:
        super().start_write(frame, node)
        self.write(f"({s}[0], FILE, {self._sites.printing}, {self._iteration()}, {s})")
        super().end_write(frame)

    def visit_CallBlock(self, node: nodes.CallBlock, frame: Frame) -> None:
        site = self._sites.add("call", node)
        with self._sites.printing_at(site):
            super().visit_CallBlock(node, frame)

    def visit_FilterBlock(self, node: nodes.FilterBlock, frame: Frame) -> None:
        site = self._sites.add("filter", node)
        with self._sites.printing_at(site):
            super().visit_FilterBlock(node, frame)

    def visit_Include(self, node: nodes.Include, frame: Frame) -> None:
        site = self._sites.add("include", node)
        with self._sites.printing_at(site):
            # Without context, Jinja passes on the pieces of the file without inspecting them.
            self._passing = None if node.with_context else f"FILE, {site}, {self._iteration()}"
            super().visit_Include(node, frame)
            self._passing = None

    def visit_Block(self, node: nodes.Block, frame: Frame) -> None:
        site = self._sites.add("block", node)
        with self._sites.printing_at(site):
            self._passing = f"FILE, {site}, {self._iteration()}" if self._loops else None
            super().visit_Block(node, frame)
            self._passing = None

    def newline(self, node: nodes.Node | None = None, extra: int = 0) -> None:
        if node is not None and not self._continues and takes_long(node):
            line = node.lineno - 1
            super().newline()
            self.write(f"MARK[0] = BASE + {line}")
            # Constant expressions are evaluated at compile time.
            MARK.cells[0] = self.environment.mark_base + line  # type: ignore[attr-defined] # the mapping one
        super().newline(node, extra)

    def writeline(self, x: str, node: nodes.Node | None = None, extra: int = 0) -> None:
        self._continues = x.startswith("elif ")
        if self._passing is not None and x.startswith("yield from "):
            pieces = x.removeprefix("yield from ")
            x = f"yield from passed_on({pieces}, {self._passing})"
            self._passing = None
        elif x.startswith("from jinja2.runtime import "):
            # The namespace that the code runs in provides these names, which avoids importing them for each
            # group.
            x = "pass"
        super().writeline(x, node, extra)
        self._continues = False

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super().visit_Concat(node, frame)
            return
        self.write("joined_values((")
        for part in node.nodes:
            is_known = isinstance(part, nodes.Const) or id(part) in self._wrapped
            self.write("" if is_known else "unsure_text(")
            self.visit(part, frame)
            self.write(", " if is_known else "), ")
        self.write("))")

    # -- loops

    def visit_For(self, node: nodes.For, frame: Frame) -> None:
        outer = self.temporary_identifier()
        site = self._sites.add(
            "loop",
            node,
            loop_text(self._text, *span_of(node)),
            expression_of(node.iter),
            targets_of(node.target),
        )
        begin = f"{outer}_iteration, {outer}_number = iteration, 0"
        self._bodies[id(node.body)] = (node, outer, site)
        if node.else_:
            self._branches[id(node.else_)] = f"iteration = {outer}_iteration"
        with self._sites.printing_at(site):
            if node.recursive:
                self._begins_function, self._counters = True, begin
            else:
                self.writeline(begin)
            super().visit_For(node, frame)

    def blockvisit(self, nodes: Iterable[nodes.Node], frame: Frame) -> None:
        if (restore := self._branches.pop(id(nodes), None)) is not None:
            self.writeline(restore)
        loop = self._bodies.pop(id(nodes), None)
        if loop is None:
            super().blockvisit(nodes, frame)
            return
        node, outer, site = loop
        self.writeline(f"{outer}_number += 1")
        self.writeline(f"iteration = ({outer}_iteration, FILE, {site}, {outer}_number, ")
        self._write_item(node.target, frame)
        self.write(")")
        self._loops.append(outer)
        super().blockvisit(nodes, frame)
        self._loops.pop()
        self.writeline(f"iteration = {outer}_iteration")

    def _write_item(self, target: nodes.Node, frame: Frame) -> None:
        """Write the value of a loop target, or a tuple of the values."""
        if isinstance(target, nodes.Name):
            self.write(frame.symbols.ref(target.name))
        elif isinstance(target, nodes.Tuple):
            self.write("(")
            for item in target.items:
                self._write_item(item, frame)
                self.write(", ")
            self.write(")")
        else:
            self.write("None")

    def _iteration(self) -> str:
        return "iteration" if self._loops else "None"
