// @vitest-environment happy-dom

import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { AnswersResult, SingleAnswer } from "../../src/wire/preview";
import { click, find, mount, receive, textOf, unmount } from "../page";
import { answer, RENDERING } from "./pieces";

interface Posted {
  type: string;
  id: number;
  question: string;
  argument: Record<string, unknown>;
  choice: Record<string, unknown>;
}

const posted = vi.hoisted(() => {
  const messages: Posted[] = [];
  const panel = {
    postMessage: (message: Posted) => messages.push(message),
    getState: () => undefined,
    setState: () => undefined,
  };
  Object.assign(globalThis, { acquireVsCodeApi: () => panel });
  return messages;
});

const { App } = await import("../../src/preview/app");
const { choice, closeAnswer, show } = await import("../../src/preview/store");

const SHOWN = answer({
  rendering: RENDERING,
  data: { text: "Hi" },
  sample: { name: "greeting", source: "samples.yml" },
});
const FIRST: SingleAnswer = {
  sample: "greeting",
  model: "local:smollm2",
  response: "Good morning to you.",
  inputTokens: 9,
  outputTokens: 4,
  cost: 0.0012,
  seconds: 1.25,
  shortcomings: [],
  digest: "d1",
  date: "2026-11-26T10:00:00+00:00",
};
const STORED: AnswersResult = {
  model: "local:smollm2",
  models: [
    { name: "local:smollm2", detail: "the default" },
    { name: "echo", detail: "for tests" },
  ],
  answers: [],
  digest: "d1",
};

/** Answers the page's last request of a kind. */
async function reply(question: string, result: object): Promise<void> {
  const asked = posted.findLast((each) => each.question === question);
  expect(asked).toBeDefined();
  await receive({ type: "answer", id: asked?.id, result });
  // Code that waits for the answer continues in later microtasks.
  await act(() => new Promise((resolve) => setTimeout(resolve)));
}

async function type(selector: string, text: string): Promise<void> {
  await act(() => {
    const field = find(selector) as HTMLInputElement;
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

beforeEach(async () => {
  await mount(<App />);
  await receive({ type: "show", result: SHOWN });
  posted.length = 0;
});

afterEach(async () => {
  closeAnswer();
  await receive({ type: "show", result: answer({ uri: "file:///other.yml.j2" }) });
  show("Chat");
  choice.value = {};
  unmount();
});

describe("asking the model", () => {
  it("sends what is shown, and shows the text as it arrives", async () => {
    expect(textOf("#ask")).toBe("Ask smollm2");
    await click(find("#ask"));
    await reply("answers", STORED);
    const asked = posted.find(({ question }) => question === "model");
    expect(asked?.argument).toMatchObject({ uri: SHOWN.uri, sample: "greeting" });

    await receive({ type: "answerText", text: "Good " });
    await receive({ type: "answerText", text: "morning" });
    expect(textOf(".answer pre")).toBe("Good morning");

    await reply("model", { answer: FIRST, message: "" });
    expect(textOf(".answer pre")).toBe("Good morning to you.");
    expect(textOf("#facts")).toContain("9 tokens in, 4 out · $0.0012 · 1.3 s");
    expect(find("#stop")).toBeUndefined();
  });

  it("is as high as its text until the reader resizes it", async () => {
    const press = (key: string) =>
      act(() => {
        find(".splitter")?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      });
    const height = () => find(".answer")?.style.height;
    await click(find("#ask"));
    await reply("answers", { ...STORED, answers: [FIRST] });
    expect(height()).toBe("");
    await press("ArrowUp");
    expect(height()).toBe("24px");
    expect(find(".splitter")?.getAttribute("aria-valuetext")).toMatch(/^\d+ %$/);
    await press("Home");
    expect(height()).toBe("");
    await reply("model", { answer: null, message: "" });
  });

  it("can be stopped", async () => {
    await click(find("#ask"));
    await reply("answers", STORED);
    await receive({ type: "answerText", text: "Good " });
    await click(find("#stop"));
    expect(posted).toContainEqual({ type: "stop" });

    await reply("model", { answer: null, message: "Stopped." });
    expect(textOf(".answer")).toContain("Stopped.");
    expect(textOf(".answer pre")).toBe("Good ");
  });

  it("shows what the user has to agree to", async () => {
    await click(find("#ask"));
    await receive({ type: "confirm", question: "The call costs about $3. Run it?", action: "Ask" });
    await click(find(".answer [role=alert] button", "Ask"));
    expect(posted).toContainEqual({ type: "confirmed", yes: true });
    expect(find(".answer [role=alert]")).toBeUndefined();
  });

  it("asks again once what was missing is there", async () => {
    await click(find("#ask"));
    const asked = posted.findLast(({ question }) => question === "model");
    await receive({ type: "answer", id: asked?.id, error: "the key is not set" });
    await act(() => new Promise((resolve) => setTimeout(resolve)));
    expect(textOf(".answer [role=alert] p")).toBe("The key is not set");

    await receive({ type: "askAgain" });
    expect(find(".answer [role=alert]")).toBeUndefined();
    await reply("model", { answer: null, message: "" });
    expect(posted.filter(({ question }) => question === "model")).toHaveLength(2);
  });

  it("compares an answer with the last one", async () => {
    const second = { ...FIRST, response: "Good evening to you." };
    await click(find("#ask"));
    await reply("answers", { ...STORED, answers: [FIRST] });
    await reply("model", { answer: second, message: "" });
    await click(find("#compare-answers"));
    expect(textOf(".answer del")).toBe("morning");
    expect(textOf(".answer ins")).toBe("evening");
    await click(find("#compare-answers"));
  });

  it("says when the prompt has changed since the answer", async () => {
    await click(find("#ask"));
    await reply("model", { answer: null, message: "" });
    await reply("answers", { ...STORED, answers: [FIRST], digest: "d2" });
    expect(textOf(".answer")).toContain("The prompt has changed since this answer.");
  });

  it("adds the data and the answer to the examples", async () => {
    await click(find("#ask"));
    await reply("answers", { ...STORED, answers: [FIRST] });
    await reply("model", { answer: null, message: "" });
    await click(find(".answer button", "Add as example"));
    const asked = posted.find(({ question }) => question === "save");
    expect(asked?.argument).toMatchObject({ to: "example", data: { text: "Hi" }, response: FIRST.response });
    await reply("save", { message: "Added as an example.", sample: null });
    expect(textOf(".answer-foot")).toContain("Added as an example.");
  });
});

describe("the data", () => {
  it("is edited in place", async () => {
    vi.useFakeTimers();
    await click(find('[role="tab"]', "Data"));
    await click(find("#edit-data"));
    await type("#data", '{"text": "Bye"}');
    await act(() => {
      vi.advanceTimersByTime(300);
    });
    vi.useRealTimers();
    expect(posted.at(-1)?.choice).toEqual({ data: { text: "Bye" } });
  });

  it("is saved as a sample, which is chosen then", async () => {
    await click(find('[role="tab"]', "Data"));
    await type("#sample-name", "farewell");
    await click(find(".save-sample button"));
    const asked = posted.find(({ question }) => question === "save");
    expect(asked?.argument).toMatchObject({ to: "sample", sample: "farewell", data: { text: "Hi" } });
    await reply("save", { message: "Saved.", sample: "farewell" });
    expect(posted.at(-1)?.choice).toMatchObject({ sample: "farewell" });
  });
});
