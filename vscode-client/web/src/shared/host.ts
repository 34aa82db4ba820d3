/** The host of this page: a panel of VS Code, or a browser connected to `promptls preview`. */

import type { Answer, Ask, Copy } from "./messages";

interface Panel {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare const acquireVsCodeApi: (() => Panel) | undefined;

export interface Connection<FromPage, ToPage = never> {
  /** The first message, embedded in the page. */
  first: ToPage | undefined;
  /** True if an editor shows the templates beside the page. */
  inEditor: boolean;
  post(message: FromPage): void;
  /** Copies a text to the clipboard; `what` describes it for the user. */
  copy(text: string, what: string): void;
  /** Returns the answer to a request; rejects with an Error whose message is for the reader. */
  ask<Result>(question: string, argument: object): Promise<Result>;
  /** What `save` last stored. */
  state: unknown;
  save(state: unknown): void;
}

/** Connects the page: `received` gets the messages, and `ended` is called when the connection is closed. */
export function connect<ToPage extends { type: string }, FromPage extends { type: string }>(
  received: (message: ToPage) => void,
  ended: () => void = () => undefined,
): Connection<FromPage, ToPage> {
  const waiting = new Map<number, { resolve(result: never): void; reject(error: Error): void }>();
  let lastId = 0;
  const receive = (message: ToPage | Answer): void => {
    if (!isAnswer(message)) {
      received(message);
      return;
    }
    const { id, result, error } = message;
    if (error === undefined) {
      waiting.get(id)?.resolve(result as never);
    } else {
      waiting.get(id)?.reject(new Error(error));
    }
    waiting.delete(id);
  };
  const link =
    typeof acquireVsCodeApi === "function"
      ? panelLink(acquireVsCodeApi(), receive)
      : socketLink(receive, ended);
  const first = document.getElementById("first")?.textContent;
  return {
    ...link,
    first: first === undefined ? undefined : (JSON.parse(first) as ToPage),
    ask: (question, argument) =>
      new Promise((resolve, reject) => {
        lastId += 1;
        waiting.set(lastId, { resolve, reject });
        link.post({ type: "ask", id: lastId, question, argument } satisfies Ask);
      }),
  };
}

function isAnswer(message: { type: string }): message is Answer {
  return message.type === "answer";
}

type Link = Omit<Connection<unknown>, "ask" | "first">;

function panelLink(panel: Panel, receive: (message: never) => void): Link {
  window.addEventListener("message", (event: MessageEvent) => receive(event.data as never));
  return {
    inEditor: true,
    post: (message) => panel.postMessage(message),
    copy: (text, what) => panel.postMessage({ type: "copy", text, what } satisfies Copy),
    state: panel.getState(),
    save: (state) => panel.setState(state),
  };
}

const STATE_KEY = "promptls";

function socketLink(receive: (message: never) => void, ended: () => void): Link {
  const name = document.getElementById("root")?.dataset.socket ?? "";
  const socket = new WebSocket(new URL(name, document.baseURI));
  const unsent: string[] = [];
  socket.addEventListener("open", () => {
    for (const text of unsent.splice(0)) {
      socket.send(text);
    }
  });
  socket.addEventListener("message", (event: MessageEvent<string>) => {
    receive(JSON.parse(event.data) as never);
  });
  socket.addEventListener("close", ended);
  return {
    inEditor: false,
    post: (message) => {
      const text = JSON.stringify(message);
      if (socket.readyState === WebSocket.OPEN) {
        socket.send(text);
      } else {
        unsent.push(text);
      }
    },
    copy: (text) => void navigator.clipboard.writeText(text),
    state: JSON.parse(sessionStorage.getItem(STATE_KEY) ?? "null") as unknown,
    save: (state) => sessionStorage.setItem(STATE_KEY, JSON.stringify(state)),
  };
}
