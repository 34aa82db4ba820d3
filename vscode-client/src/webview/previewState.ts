/** What the preview shows, as data. */

import type { Choice } from "../preview/messages";
import type { Part, PreviewResult, Rendering, RenderingFailure } from "../protocol";

export const VIEWS = ["Chat", "Text", "Messages", "Rendered YAML", "Data"] as const;
export type View = (typeof VIEWS)[number];

export interface PreviewState {
  result: PreviewResult | undefined;
  /** The last rendering of this file that succeeded. */
  rendering: Rendering | undefined;
  /** True when `rendering` is of an earlier text than the failure. */
  outdated: boolean;
  failure: RenderingFailure | { kind: string; message: string; path: null; line: null; excerpt: null } | undefined;
  view: View;
  choice: Choice;
  /** The template line of the cursor, from 0. */
  cursor: number | undefined;
}

export const EMPTY: PreviewState = {
  result: undefined,
  rendering: undefined,
  outdated: false,
  failure: undefined,
  view: "Chat",
  choice: {},
  cursor: undefined,
};

/** A rendering replaces the last; a failure leaves the last one of the same file standing, outdated. */
export function withResult(state: PreviewState, result: PreviewResult): PreviewState {
  const sameFile = state.result?.uri === result.uri;
  const choice = sameFile ? state.choice : {};
  const cursor = sameFile ? state.cursor : undefined;
  if (result.rendering !== null) {
    return {
      ...state,
      result,
      rendering: result.rendering,
      outdated: false,
      failure: result.failure ?? undefined,
      choice,
      cursor,
    };
  }
  const rendering = sameFile ? state.rendering : undefined;
  return {
    ...state,
    result,
    rendering,
    outdated: rendering !== undefined,
    failure: result.failure ?? undefined,
    choice,
    cursor,
  };
}

/** The server gave no answer: as a failure of the rendering. */
export function withoutAnswer(state: PreviewState, uri: string, message: string): PreviewState {
  const sameFile = state.result?.uri === uri;
  const rendering = sameFile ? state.rendering : undefined;
  return {
    ...state,
    result: sameFile ? state.result : undefined,
    rendering,
    outdated: rendering !== undefined,
    failure: { kind: "server", message, path: null, line: null, excerpt: null },
  };
}

/** The part whose template text holds the line: the last one that begins at or before it. */
export function partAt(parts: readonly Part[], line: number | undefined): Part | undefined {
  if (line === undefined) {
    return undefined;
  }
  let best: Part | undefined;
  for (const part of parts) {
    if (part.line !== null && part.line <= line && (best?.line ?? -1) <= part.line) {
      best = part;
    }
  }
  return best;
}

export type RoleColour = "system" | "user" | "assistant" | "tool" | "other";

/** The few colours of the many names that roles have. */
export function colourOf(role: string): RoleColour {
  const name = role.toLowerCase();
  if (["system", "developer"].includes(name)) {
    return "system";
  }
  if (["user", "human"].includes(name)) {
    return "user";
  }
  if (["assistant", "model", "ai", "bot"].includes(name)) {
    return "assistant";
  }
  return ["tool", "function"].includes(name) ? "tool" : "other";
}
