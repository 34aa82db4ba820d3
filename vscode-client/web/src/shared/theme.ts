/** The theme, where no editor sets one: as the system has it. */

const KINDS: [string, string][] = [
  [
    "(prefers-contrast: more) and (prefers-color-scheme: light)",
    "vscode-high-contrast vscode-high-contrast-light",
  ],
  ["(prefers-contrast: more)", "vscode-high-contrast"],
  ["(prefers-color-scheme: light)", "vscode-light"],
];

/** Gives the body the classes that an editor gives it; does nothing within an editor. */
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
