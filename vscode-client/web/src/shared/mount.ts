import { type ComponentChild, render } from "preact";

/** Renders a page into its `#root` element. */
export function mount(page: ComponentChild): void {
  const root = document.getElementById("root");
  if (root === null) {
    throw new Error("The page has no element #root.");
  }
  render(page, root);
}
