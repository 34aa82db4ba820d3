/** The compressed data embedded in a report. */

import { download } from "./download";
import { type Embedded, sourceOf } from "./embedded";
import type { Receiver, Source } from "./source";

/** Reads the data of this page; undefined if it is the page of a panel. */
export function embeddedElement(): HTMLElement | undefined {
  return document.getElementById("report-data") ?? undefined;
}

/** Returns the source when the data is decompressed; shows errors in the data. */
export async function embeddedSource(
  element: HTMLElement,
  receiver: Pick<Receiver, "show">,
): Promise<Source> {
  const data = JSON.parse(await unpacked(element.textContent)) as Embedded;
  element.remove();
  const source = sourceOf(data, { save: download, copy });
  receiver.show(data.view);
  return source;
}

async function unpacked(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function copy(text: string): void {
  void navigator.clipboard.writeText(text);
}
