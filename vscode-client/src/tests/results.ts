/** Verdicts on rows and examples, as test results. */

import type { ExperimentRows, RowVerdict } from "@promptls/web/wire/commands";
import * as vscode from "vscode";

import { millisecondsOf } from "./items";

/** Shows a verdict as the result of a test, with the expected and the actual answer. */
export function show(run: vscode.TestRun, item: vscode.TestItem, verdict: RowVerdict): void {
  const duration = millisecondsOf(verdict);
  if (verdict.state === "passed") {
    run.passed(item, duration);
    return;
  }
  const message =
    verdict.expected === null
      ? new vscode.TestMessage(withAnswer(verdict))
      : vscode.TestMessage.diff(verdict.message, verdict.expected, verdict.actual);
  if (item.uri !== undefined && item.range !== undefined) {
    message.location = new vscode.Location(item.uri, item.range);
  }
  if (verdict.state === "failed") {
    run.failed(item, message, duration);
  } else {
    run.errored(item, message, duration);
  }
}

function withAnswer({ message, actual }: RowVerdict): string {
  return actual === "" ? message : `${message}\n\nThe answer:\n${actual}`;
}

/** The verdicts shown for each experiment; a verdict is shown again if it has changed. */
export class KnownResults {
  readonly #shown = new WeakMap<vscode.TestItem, Map<string, string>>();

  /** Shows the results of runs from elsewhere, or from before this window was opened. */
  showNew(controller: vscode.TestController, item: vscode.TestItem, found: ExperimentRows): void {
    const before = this.#shown.get(item);
    const fresh = verdictsById(found).filter(([id, verdict]) => before?.get(id) !== JSON.stringify(verdict));
    this.remember(item, found);
    if (fresh.length === 0) {
      return;
    }
    const run = controller.createTestRun(new vscode.TestRunRequest([item]), "the last results", false);
    const stale: vscode.TestItem[] = [];
    for (const [id, verdict] of fresh) {
      const child = item.children.get(id);
      if (child !== undefined) {
        show(run, child, verdict);
        if (verdict.stale) {
          stale.push(child);
        }
      }
    }
    run.end();
    if (stale.length > 0) {
      controller.invalidateTestResults(stale);
    }
  }

  remember(item: vscode.TestItem, found: ExperimentRows): void {
    this.#shown.set(item, new Map(verdictsById(found).map(([id, verdict]) => [id, JSON.stringify(verdict)])));
  }
}

/** Returns the verdicts of the last runs, by test id. */
function verdictsById(found: ExperimentRows): [string, RowVerdict][] {
  return [
    ...found.exampleVerdicts.map((verdict): [string, RowVerdict] => [`example ${verdict.number}`, verdict]),
    ...found.verdicts.map((verdict): [string, RowVerdict] => [`row ${verdict.number}`, verdict]),
  ];
}
