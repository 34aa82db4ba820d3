/** The page of the preview panel. */

import type { Choice, FromPage, ToPage } from "../preview/messages";
import type { Part, PreviewResult, Rendering, SampleName } from "../protocol";
import { button, count, element, grouped, replaceKeepingPlace } from "./dom";
import { connect } from "./host";
import { colourOf, EMPTY, partAt, type PreviewState, VIEWS, type View, withoutAnswer, withResult } from "./previewState";

const root = document.getElementById("root") as HTMLElement;
const host = connect<ToPage, FromPage>(receive);
let state: PreviewState = EMPTY;
let markedPart: number | undefined;

host.post({ type: "ready" });

function receive(message: ToPage): void {
  switch (message.type) {
    case "show":
      state = withResult(state, message.result);
      host.keep({ uri: message.result.uri });
      draw();
      return;
    case "fail":
      state = withoutAnswer(state, message.uri, message.message);
      draw();
      return;
    case "cursor":
      state = { ...state, cursor: message.line };
      markCurrentPart();
  }
}

function choose(choice: Choice): void {
  state = { ...state, choice: { ...state.choice, ...choice } };
  host.post({ type: "choose", choice: state.choice });
}

function draw(): void {
  const { result, rendering } = state;
  replaceKeepingPlace(
    root,
    element(
      "header",
      { class: "bar" },
      result === undefined ? undefined : heading(result, rendering),
      result === undefined ? undefined : meter(result, rendering),
      failureBanner(),
      rendering === undefined ? undefined : tabs(),
    ),
    rendering === undefined || result === undefined
      ? undefined
      : element(
          "main",
          {
            id: "view",
            role: "tabpanel",
            "aria-labelledby": tabId(state.view),
            class: state.outdated ? "outdated" : undefined,
            "aria-busy": state.outdated ? "true" : undefined,
          },
          viewOf(state.view, rendering, result),
        ),
  );
  markCurrentPart();
}

function heading(result: PreviewResult, rendering: Rendering | undefined): HTMLElement {
  return element(
    "div",
    { class: "heading" },
    samplePicker(result),
    element("span", { class: "spacer" }),
    rendering === undefined
      ? undefined
      : button("Copy", { id: "copy", title: `Copy what the tab ${state.view} shows` }, () => {
          const { text, what } = copied(rendering, result);
          host.post({ type: "copy", text, what });
        }),
  );
}

function samplePicker(result: PreviewResult): HTMLElement {
  const current = result.sample;
  const samples = current === null || result.samples.some((sample) => isSame(sample, current))
    ? result.samples
    : [current, ...result.samples];
  const picker = element(
    "select",
    { id: "sample", "aria-label": "Sample data" },
    ...samples.map((sample, index) =>
      element(
        "option",
        { value: String(index), selected: current !== null && isSame(sample, current) },
        sample.source === "" || sample.source === sample.name ? sample.name : `${sample.name} · ${sample.source}`,
      ),
    ),
  );
  picker.disabled = samples.length === 0;
  picker.addEventListener("change", () => {
    const chosen = samples[Number(picker.value)];
    if (chosen !== undefined) {
      choose(chosen.row === undefined ? { sample: chosen.name, row: undefined } : { sample: undefined, row: chosen.row });
    }
  });
  return element("label", { class: "field", for: "sample" }, "Sample", picker);
}

function isSame(one: SampleName, other: SampleName): boolean {
  return one.name === other.name && one.source === other.source;
}

function meter(result: PreviewResult, rendering: Rendering | undefined): HTMLElement {
  const limit = result.tokenLimit;
  const tokens = rendering?.tokens ?? 0;
  const kept = rendering?.tokens_kept ?? 0;
  const over = limit !== null && tokens > limit;
  const cut = tokens - kept;
  const bar = element("div", { class: over ? "meter over" : "meter", "aria-hidden": "true" });
  const fill = element("div", { class: "fill" });
  fill.style.width = `${Math.min(100, (100 * kept) / Math.max(1, limit ?? Math.max(tokens, 1)))}%`;
  bar.append(fill);
  return element(
    "div",
    { class: "budget" },
    element(
      "div",
      { class: "totals" },
      element(
        "span",
        { id: "tokens", class: over ? "tokens over" : "tokens" },
        limit === null ? count(kept, "token") : `${grouped(kept)} of ${count(limit, "token")}`,
      ),
      cut > 0 ? element("span", { class: "cut-total" }, `${grouped(cut)} cut`) : undefined,
      element("span", { class: "muted" }, result.encoding),
      rendering === undefined ? undefined : element("span", { class: "muted" }, milliseconds(rendering.seconds)),
      element("span", { class: "spacer" }),
      element(
        "span",
        { class: "controls" },
        numberField("limit", "Limit", limit, (value) => {
          choose({ limit: value });
        }),
        numberField("step", "Step", result.truncationStep, (value) => {
          choose({ step: value });
        }),
      ),
    ),
    limit === null ? undefined : bar,
  );
}

function milliseconds(seconds: number): string {
  const value = seconds * 1000;
  return value < 10 ? `${value.toFixed(1)} ms` : `${value.toFixed(0)} ms`;
}

/** An empty field gives the choice back to the header. */
function numberField(
  id: string,
  label: string,
  value: number | null,
  changed: (value: number | undefined) => void,
): HTMLElement {
  const input = element("input", {
    id,
    type: "number",
    min: "0",
    value: value === null ? "" : String(value),
    placeholder: "none",
    title: id === "limit" ? "Token limit to try" : "Truncation step to try, in tokens",
  });
  input.addEventListener("change", () => {
    changed(input.value === "" || !(Number(input.value) >= 0) ? undefined : Number(input.value));
  });
  return element("label", { class: "field", for: id }, label, input);
}

function failureBanner(): HTMLElement | undefined {
  const { failure } = state;
  if (failure === undefined) {
    return undefined;
  }
  const { line, path } = failure;
  const elsewhere = path !== null && path !== state.result?.path;
  const place = line === null ? "" : `: ${elsewhere ? `${path.split(/[\\/]/).at(-1) ?? path}, ` : ""}line ${line + 1}`;
  return element(
    "div",
    { class: "failure", role: "alert" },
    element(
      "div",
      {},
      element("strong", {}, `Cannot render${place}`),
      element("p", {}, failure.message),
      failure.excerpt === null || failure.excerpt === "" ? undefined : element("pre", {}, failure.excerpt),
      state.outdated ? element("p", { class: "muted" }, "Below is the last rendering that worked.") : undefined,
    ),
    line === null
      ? undefined
      : button("Go to line", { id: "go-to-failure" }, () => {
          host.post(elsewhere ? { type: "reveal", line, path } : { type: "reveal", line });
        }),
  );
}

function tabId(view: View): string {
  return `tab-${VIEWS.indexOf(view)}`;
}

function tabs(): HTMLElement {
  const list = element(
    "div",
    { role: "tablist", class: "tabs", "aria-label": "Views of the rendering" },
    ...VIEWS.map((view) =>
      button(
        view,
        {
          id: tabId(view),
          role: "tab",
          "aria-selected": String(view === state.view),
          "aria-controls": "view",
          tabindex: view === state.view ? "0" : "-1",
        },
        () => {
          select(view);
        },
      ),
    ),
  );
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step !== undefined) {
      const next = VIEWS[(VIEWS.indexOf(state.view) + step + VIEWS.length) % VIEWS.length];
      if (next !== undefined) {
        event.preventDefault();
        select(next);
        document.getElementById(tabId(next))?.focus();
      }
    }
  });
  return list;
}

function select(view: View): void {
  state = { ...state, view };
  draw();
  document.scrollingElement?.scrollTo({ top: 0 });
}

function viewOf(view: View, rendering: Rendering, result: PreviewResult): HTMLElement {
  return view === "Chat" ? chat(rendering.parts) : element("pre", { class: "plain", tabindex: "0" }, textOf(view, rendering, result));
}

function textOf(view: Exclude<View, "Chat">, rendering: Rendering, result: PreviewResult): string {
  switch (view) {
    case "Text":
      return rendering.string;
    case "Messages":
      return JSON.stringify(rendering.messages, null, 2);
    case "Rendered YAML":
      return rendering.text;
    case "Data":
      return JSON.stringify(result.data, null, 2);
  }
}

function copied(rendering: Rendering, result: PreviewResult): { text: string; what: string } {
  return state.view === "Chat"
    ? { text: rendering.string, what: "the prompt" }
    : { text: textOf(state.view, rendering, result), what: state.view.toLowerCase() };
}

function chat(parts: readonly Part[]): HTMLElement {
  return parts.length === 0
    ? element("p", { class: "muted empty" }, "The template renders to no parts.")
    : element("ol", { class: "chat", "aria-label": "Parts of the prompt" }, ...parts.map(partCard));
}

function partCard(part: Part): HTMLElement {
  const { line } = part;
  const reveal = (): void => {
    if (line !== null) {
      host.post({ type: "reveal", line });
    }
  };
  const name = part.name === "" ? `part ${part.index + 1}` : part.name;
  const card = element(
    "li",
    {
      class: `part ${colourOf(part.role)}${part.kept ? "" : " cut"}`,
      "data-index": String(part.index),
      "aria-label": `${part.role} part ${name}, ${count(part.tokens, "token")}${part.kept ? "" : ", cut by the limit"}`,
    },
    element(
      "div",
      { class: "part-heading" },
      element("span", { class: "role" }, part.role),
      line === null
        ? element("span", { class: "name" }, name)
        : button(name, { id: `part-${part.index}`, class: "name link", title: `Go to line ${line + 1}` }, (event) => {
            event.stopPropagation();
            reveal();
          }),
      element("span", { class: "spacer" }),
      part.kept ? undefined : element("span", { class: "badge cut-badge" }, "cut"),
      part.truncation_priority > 0
        ? element("span", { class: "muted", title: "Truncation priority" }, `priority ${part.truncation_priority}`)
        : undefined,
      element("span", { class: "badge" }, count(part.tokens, "token")),
      button("Copy", { id: `copy-${part.index}`, class: "quiet", "aria-label": `Copy part ${name}` }, (event) => {
        event.stopPropagation();
        host.post({ type: "copy", text: part.content, what: `part ${name}` });
      }),
    ),
    part.content === ""
      ? element("p", { class: "muted empty" }, "No content.")
      : element("div", { class: "content" }, part.content),
  );
  if (line !== null) {
    card.classList.add("revealable");
    // A click that ends a selection of text is no wish to leave.
    card.addEventListener("click", () => {
      if (document.getSelection()?.isCollapsed !== false) {
        reveal();
      }
    });
  }
  return card;
}

/** Marks the part at the editor's cursor; when the cursor came to another part, scrolls to that. */
function markCurrentPart(): void {
  const current = partAt(state.rendering?.parts ?? [], state.cursor)?.index;
  for (const card of root.querySelectorAll<HTMLElement>(".part")) {
    const isCurrent = current !== undefined && card.dataset["index"] === String(current);
    card.classList.toggle("current", isCurrent);
    if (isCurrent && current !== markedPart) {
      card.scrollIntoView({ block: "nearest" });
    }
  }
  markedPart = current;
}
