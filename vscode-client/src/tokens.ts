/** Messages about token counts. */

import { grouped } from "@promptls/web/shared/format";
import type { TokensResult } from "@promptls/web/wire/commands";

/** Returns the status bar text of a token count, with a table of the parts as Markdown. */
export function describeTokens(result: TokensResult): { text: string; tooltip: string; over: boolean } {
  const about = result.approximate ? "≈ " : "";
  const limit = result.limit === null ? "" : ` / ${grouped(result.limit)}`;
  // Truncation brings most prompts under their limit, so the count after truncation matters.
  const over = result.limit !== null && result.kept > result.limit;
  const cut = result.total - result.kept;
  const rows = result.parts.map((part) => `| ${escapeMarkdown(part.name)} | ${grouped(part.tokens)} |`);
  return {
    text: `$(${over ? "warning" : "symbol-numeric"}) ${about}${grouped(result.kept)}${limit} tokens`,
    tooltip: [
      `**${grouped(result.kept)} tokens**${limit === "" ? "" : `, limit${limit.slice(2)}`} · ${result.encoding}`,
      "",
      `Rendered with ${escapeMarkdown(result.sample)}.`,
      ...(cut > 0 ? ["", `Truncation cuts ${grouped(cut)} of ${grouped(result.total)} tokens.`] : []),
      ...(over ? ["", "Over the limit, with nothing left to cut."] : []),
      ...(rows.length === 0 ? [] : ["", "| part | tokens |", "| :-- | --: |", ...rows]),
      "",
      "Click for the preview.",
    ].join("\n"),
    over,
  };
}

function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>~]/g, "\\$&").replaceAll("\n", " ");
}
