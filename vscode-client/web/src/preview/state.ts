/** The state of the preview, as plain data. */

import type { Part, PreviewResult, Rendering, RenderingFailure } from "../wire/preview";

export const VIEWS = ["Chat", "Text", "Messages", "Tokens", "Request", "Diff", "YAML", "Data"] as const;
export type View = (typeof VIEWS)[number];

export interface Shown {
  result: PreviewResult | undefined;
  /** The last successful rendering of this file with this sample. */
  rendering: Rendering | undefined;
  /** True if `rendering` belongs to an earlier text than the failure. */
  outdated: boolean;
  failure: RenderingFailure | undefined;
}

export const NOTHING: Shown = {
  result: undefined,
  rendering: undefined,
  outdated: false,
  failure: undefined,
};

/** Replaces the rendering; after a failure, shows the last one with the same sample as outdated. */
export function withResult(shown: Shown, result: PreviewResult): Shown {
  if (result.rendering !== null) {
    return { result, rendering: result.rendering, outdated: false, failure: result.failure ?? undefined };
  }
  const last = isOfSameSample(shown.result, result) ? shown.rendering : undefined;
  return { result, rendering: last, outdated: last !== undefined, failure: result.failure ?? undefined };
}

function isOfSameSample(before: PreviewResult | undefined, after: PreviewResult): boolean {
  return (
    before?.uri === after.uri &&
    before.sample?.name === after.sample?.name &&
    before.sample?.source === after.sample?.source
  );
}

/** Returns the failure of a rendering for which the server did not answer. */
export function withoutAnswer(shown: Shown, uri: string, message: string): Shown {
  const sameFile = shown.result?.uri === uri;
  const rendering = sameFile ? shown.rendering : undefined;
  return {
    result: sameFile ? shown.result : undefined,
    rendering,
    outdated: rendering !== undefined,
    failure: { kind: "server", message, path: null, line: null, renderedLine: null, excerpt: null },
  };
}

export type RoleColor = "system" | "user" | "assistant" | "tool" | "other";

/** Returns the color of a role, which may have several names. */
export function colorOf(role: string): RoleColor {
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

export function nameOf(part: Part): string {
  return part.name === "" ? `part ${part.index + 1}` : part.name;
}

/** Returns a key for each part: its name, and its index among parts with that name. */
export function keysOf(parts: readonly Part[]): string[] {
  const seen = new Map<string, number>();
  return parts.map(({ name }) => {
    const number = seen.get(name) ?? 0;
    seen.set(name, number + 1);
    return `${name} ${number}`;
  });
}

/** Returns the maximum of the sliders: a round number above all values. */
export function sliderEnd(...values: (number | null | undefined)[]): number {
  const most = Math.max(20, ...values.map((value) => value ?? 0)) * 1.2;
  const unit = 10 ** Math.floor(Math.log10(most));
  return Math.ceil((most / unit) * 2) * (unit / 2);
}

/** Longer contents are shortened at first. */
const SHORT_LINES = 24;
const SHORT_CHARACTERS = 2400;

/** Returns how many characters of a content are shown at first: whole lines, unless they are too long. */
export function shortLength(content: string): number {
  let end = 0;
  let lines = 0;
  for (
    let next = content.indexOf("\n");
    next >= 0 && next <= SHORT_CHARACTERS && lines < SHORT_LINES;
    lines += 1
  ) {
    end = next;
    next = content.indexOf("\n", next + 1);
  }
  const short = lines === SHORT_LINES ? end : SHORT_CHARACTERS;
  // A button that reveals almost nothing is not worth its space.
  return content.length <= short + 200 ? content.length : short;
}
