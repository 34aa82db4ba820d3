// @vitest-environment happy-dom

import { act } from "preact/test-utils";
import { expect, it, vi } from "vitest";

import { click, find, mount, receive, textOf } from "../page";
import { answer, RENDERING } from "./pieces";

interface State {
  uri?: string;
  answer?: boolean;
  unfinished?: string;
}

const SHOWN = answer({
  rendering: RENDERING,
  data: { text: "Hi" },
  sample: { name: "greeting", source: "samples.yml" },
});

const panel = vi.hoisted(() => {
  const states: State[] = [];
  const posted: { type: string; id: number; question: string }[] = [];
  Object.assign(globalThis, {
    acquireVsCodeApi: () => ({
      postMessage: (message: (typeof posted)[number]) => posted.push(message),
      getState: () => states.at(-1),
      setState: (state: State) => states.push(state),
    }),
  });
  return { states, posted };
});

/** Loads the page again, like a reload of the window. */
async function load(uri = SHOWN.uri): Promise<void> {
  vi.resetModules();
  const { App } = await import("../../src/preview/app");
  await mount(<App />);
  await receive({ type: "show", result: { ...SHOWN, uri } });
}

async function reply(question: string, result: object): Promise<void> {
  await receive({
    type: "answer",
    id: panel.posted.findLast((each) => each.question === question)?.id,
    result,
  });
  await act(() => new Promise((resolve) => setTimeout(resolve)));
}

const STORED = { model: "echo", models: [], answers: [], digest: "" };

it("shows after a reload what had arrived of an answer, and asks again", async () => {
  await load();
  await click(find("#ask"));
  await reply("answers", STORED);
  await vi.waitFor(async () => {
    await receive({ type: "answerText", text: "Good " });
    expect(panel.states.at(-1)?.unfinished).toMatch(/^(Good )+$/);
  });

  await load();
  expect(textOf(".answer [role=alert]")).toContain("The answer was interrupted");
  expect(textOf(".answer pre")).toMatch(/^(Good )+$/);
  expect(find("#stop")).toBeUndefined();

  await click(find(".answer button", "Ask again"));
  expect(find(".answer [role=alert]")).toBeUndefined();
  await reply("model", { answer: null, message: "Stopped." });
  expect(panel.states.at(-1)).not.toHaveProperty("unfinished");
});

it("does not show the answer to another prompt", async () => {
  panel.states.push({ uri: "file:///other.yml.j2", answer: true, unfinished: "Good " });
  await load();
  expect(textOf(".answer")).not.toContain("interrupted");
});
