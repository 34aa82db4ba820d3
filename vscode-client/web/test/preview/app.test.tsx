// @vitest-environment happy-dom

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { RenderingFailure } from "../../src/wire/preview";
import { click, find, mount, receive, textOf, unmount } from "../page";
import { answer, part, RENDERING } from "./pieces";

const posted = vi.hoisted(() => {
  const messages: { type: string }[] = [];
  const panel = {
    postMessage: (message: { type: string }) => messages.push(message),
    getState: () => undefined,
    setState: () => undefined,
  };
  Object.assign(globalThis, { acquireVsCodeApi: () => panel });
  return messages;
});

const { App } = await import("../../src/preview/app");
const { choice, show } = await import("../../src/preview/store");

const FAILURE: RenderingFailure = {
  kind: "render",
  message: "`customer` is undefined",
  path: "/a.yml.j2",
  line: 3,
  renderedLine: null,
  excerpt: null,
};
const PARTS = [
  part(0, { name: "task", role: "system", content: "Be brief.", tokens: 3 }),
  part(1, { name: "question", content: "Why?", tokens: 2, line: 7, kept: false }),
];
const SHOWN = answer({
  rendering: {
    ...RENDERING,
    parts: PARTS,
    tokens: 5,
    tokensKept: 3,
    messages: [{ role: "system", content: "Be brief." }],
  },
  tokenLimit: 4,
  sample: { name: "triage", source: "samples/triage.yml" },
});

beforeEach(async () => {
  await mount(<App />);
  await receive({ type: "show", result: SHOWN });
  posted.length = 0;
});

afterEach(async () => {
  await receive({ type: "show", result: answer({ uri: "file:///other.yml.j2" }) });
  show("Chat");
  choice.value = {};
  unmount();
});

describe("the chat", () => {
  it("shows the parts in order, with their roles and texts", () => {
    const items = [...document.querySelectorAll(".chat > li")].map((each) => each.textContent);
    expect(items).toHaveLength(2);
    expect(items[0]).toContain("system");
    expect(items[0]).toContain("Be brief.");
    expect(items[1]).toContain("Why?");
  });

  it("says that a template renders to no parts", async () => {
    await receive({ type: "show", result: { ...SHOWN, rendering: RENDERING } });
    expect(textOf(".empty")).toBe("The template renders to no parts.");
  });
});

describe("a failure", () => {
  it("is shown over the last rendering that worked", async () => {
    await receive({ type: "show", result: { ...SHOWN, rendering: null, failure: FAILURE } });
    expect(textOf(".failure")).toContain("Cannot render: line 4");
    expect(textOf(".failure")).toContain("customer is undefined");
    expect(textOf(".failure")).toContain("This is the last rendering that worked.");
    expect(document.querySelectorAll(".chat > li")).toHaveLength(2);
  });

  it("leads to its line", async () => {
    await receive({ type: "show", result: { ...SHOWN, rendering: null, failure: FAILURE } });
    await click(find("#go-to-failure"));
    expect(posted).toContainEqual({ type: "reveal", line: 3 });
  });

  it("goes when the prompt renders again", async () => {
    await receive({ type: "show", result: { ...SHOWN, rendering: null, failure: FAILURE } });
    await receive({ type: "show", result: SHOWN });
    expect(find(".failure")).toBeUndefined();
  });
});

it("lists problems of a rendering that can be shown all the same", async () => {
  const problems = [{ ...FAILURE, message: "no part has a positive `truncation_priority`" }];
  await receive({ type: "show", result: { ...SHOWN, rendering: { ...SHOWN.rendering, problems } } });
  expect(textOf(".problems")).toBe("no part has a positive truncation_priority");
});

it("names functions that stand-ins were called for, and what was not run", async () => {
  await receive({ type: "show", result: { ...SHOWN, standIns: ["lookup"] } });
  expect(textOf(".hint")).toBe("Nothing provides lookup(): a stand-in returns its first argument.");
  await receive({
    type: "show",
    result: { ...SHOWN, standIns: ["lookup"], leftOut: "Functions of the folder were not run." },
  });
  expect(find(".hint", "For lookup(), a stand-in returns its first argument.")).toBeDefined();
  expect(find(".hint", "Functions of the folder were not run.")).toBeDefined();
  await click(find("#manage-trust"));
  expect(posted).toContainEqual({ type: "trust" });
});

it("offers to replace placeholders, in the data", async () => {
  const sample = { name: "placeholders", source: "made from how the inputs are used" };
  await receive({ type: "show", result: { ...SHOWN, sample, data: { customer: "<customer>" } } });
  await click(find("#replace-placeholders"));
  expect(posted).toContainEqual({ type: "choose", choice: { data: { customer: "<customer>" } } });
  expect(find("textarea#data")).toBeDefined();
  expect(find("#replace-placeholders")).toBeUndefined();
});

describe("the views", () => {
  it("show the messages as JSON", async () => {
    await click(find('[role="tab"]', "Messages"));
    expect(find('[role="tab"][aria-selected="true"]')?.textContent).toBe("Messages");
    expect(find("pre", '"role": "system"')).toBeDefined();
  });

  it("show the data of the sample", async () => {
    await receive({ type: "show", result: { ...SHOWN, data: { customer: "Ada" } } });
    await click(find('[role="tab"]', "Data"));
    expect(find("pre", '"customer": "Ada"')).toBeDefined();
  });
});

it("says why there is nothing when the server cannot answer", async () => {
  await receive({ type: "fail", uri: SHOWN.uri, message: "The server does not run." });
  expect(textOf(".failure")).toContain("The server does not run.");
});
