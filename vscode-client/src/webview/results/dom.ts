/** Elements with text: nothing that a prompt or a model wrote is ever read as HTML. */

type Child = Node | string | undefined;
type Attributes = Record<string, string | boolean | undefined>;

/** Returns a new element; an attribute that is `true` is present, one that is `false` or undefined is not. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes,
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) {
      made.setAttribute(key, "");
    } else if (typeof value === "string") {
      made.setAttribute(key, value);
    }
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

export function button(
  label: string,
  attributes: Attributes,
  clicked: (event: MouseEvent) => void,
): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", clicked);
  return made;
}

/** Replaces the children of `parent`; what had the focus and the scroll positions, by id, are kept. */
export function replaceKeepingPlace(parent: HTMLElement, ...children: Child[]): void {
  const focused = document.activeElement?.id;
  const scrolled = [...parent.querySelectorAll<HTMLElement>("[id]")]
    .filter((node) => node.scrollTop > 0 || node.scrollLeft > 0)
    .map((node) => ({ id: node.id, top: node.scrollTop, left: node.scrollLeft }));
  const top = document.scrollingElement?.scrollTop ?? 0;
  parent.replaceChildren(...children.filter((child) => child !== undefined));
  for (const { id, top: innerTop, left } of scrolled) {
    document.getElementById(id)?.scrollTo({ top: innerTop, left });
  }
  if (focused !== undefined && focused !== "") {
    document.getElementById(focused)?.focus({ preventScroll: true });
  }
  document.scrollingElement?.scrollTo({ top });
}

const number = new Intl.NumberFormat("en-US");

export function count(value: number, unit: string): string {
  return `${number.format(value)} ${unit}${value === 1 ? "" : "s"}`;
}

export function grouped(value: number): string {
  return number.format(value);
}
