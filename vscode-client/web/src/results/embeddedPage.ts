/** The compressed data embedded in a report. */

import type { Report, ResultsView } from "../wire/results";
import { download } from "./download";
import { sourceOf } from "./embedded";
import type { Source } from "./source";

/** Reads the data of this page; undefined if it is the page of a panel. */
export function embeddedElement(): HTMLElement | undefined {
  return document.getElementById("report-data") ?? undefined;
}

/** Returns the data of this page and its source when they are decompressed. */
export async function embeddedSource(element: HTMLElement): Promise<{ view: ResultsView; source: Source }> {
  const data = JSON.parse(await unpacked(element.textContent)) as Report;
  element.remove();
  return { view: data.view, source: sourceOf(data, { save: download, copy }) };
}

async function unpacked(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function copy(text: string): void {
  void navigator.clipboard.writeText(text);
}
