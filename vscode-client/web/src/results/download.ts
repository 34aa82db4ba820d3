/** Saves a text as a file of the browser's user. */

/** Milliseconds after which the browser has started to save. */
const LATER = 60_000;

export function download(text: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), LATER);
}
