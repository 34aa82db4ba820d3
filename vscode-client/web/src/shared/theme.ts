/** The theme outside of an editor: that of the system. */

const KINDS: [string, string][] = [
  [
    "(prefers-contrast: more) and (prefers-color-scheme: light)",
    "vscode-high-contrast vscode-high-contrast-light",
  ],
  ["(prefers-contrast: more)", "vscode-high-contrast"],
  ["(prefers-color-scheme: light)", "vscode-light"],
];

/** Adds the body classes that an editor would add; does nothing in an editor. */
export function followTheme(): void {
  if (document.body.className !== "") {
    return;
  }
  const choose = (): void => {
    const found = KINDS.find(([query]) => matchMedia(query).matches);
    document.body.className = found?.[1] ?? "vscode-dark";
  };
  for (const [query] of KINDS) {
    matchMedia(query).addEventListener("change", choose);
  }
  choose();
}
