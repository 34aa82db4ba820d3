/** A page in happy-dom: mounted components, and the panel around them. */

import { type ComponentChild, render } from "preact";
import { act } from "preact/test-utils";

/** Mounts a component in an empty document. */
export async function mount(component: ComponentChild): Promise<HTMLElement> {
  unmount();
  await act(() => {
    render(component, document.body);
  });
  return document.body;
}

export function unmount(): void {
  render(null, document.body);
}

/** Sends the page a message, as its panel does. */
export async function receive(message: object): Promise<void> {
  await act(() => {
    window.dispatchEvent(new MessageEvent("message", { data: message }));
  });
}

export async function click(element: Element | null | undefined): Promise<void> {
  await act(() => {
    if (!(element instanceof HTMLElement)) {
      throw new Error("There is nothing to click on.");
    }
    element.click();
  });
}

/** Returns the first element that matches a selector and contains some words. */
export function find(selector: string, words = ""): HTMLElement | undefined {
  return [...document.querySelectorAll<HTMLElement>(selector)].find((each) =>
    each.textContent.includes(words),
  );
}

export function textOf(selector: string): string {
  return find(selector)?.textContent ?? "";
}
