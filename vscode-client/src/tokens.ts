/** Messages about token counts. */

import type { TokensResult } from "@promptls/web/wire/commands";

/** Returns the text of the status bar for a token count, with a table of the parts as Markdown. */
export function describeTokens(result: TokensResult): { text: string; tooltip: string; over: boolean } {
  const number = new Intl.NumberFormat("en-US");
  const about = result.approximate ? "≈ " : "";
  const limit = result.limit === null ? "" : ` / ${number.format(result.limit)}`;
  const over = result.limit !== null && result.total > result.limit;
  const rows = result.parts.map((part) => `| ${escapeMarkdown(part.name)} | ${number.format(part.tokens)} |`);
  return {
    text: `$(${over ? "warning" : "symbol-numeric"}) ${about}${number.format(result.total)}${limit} tokens`,
    tooltip: [
      `**${number.format(result.total)} tokens**${limit === "" ? "" : `, limit${limit.slice(2)}`} · ${result.encoding}`,
      ...(over ? ["", "Over the limit: parts with a truncation priority are cut."] : []),
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
