/** The panel that holds this page. */

interface Host {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): Host;

/** Connects the page: messages of the panel go to `received`. Returns what posts to the panel and keeps state. */
export function connect<ToPage, FromPage extends { type: string }>(
  received: (message: ToPage) => void,
): { post(message: FromPage): void; state: unknown; keep(state: unknown): void } {
  const host = acquireVsCodeApi();
  window.addEventListener("message", (event: MessageEvent<ToPage>) => {
    received(event.data);
  });
  return {
    post: (message) => {
      host.postMessage(message);
    },
    state: host.getState(),
    keep: (state) => {
      host.setState(state);
    },
  };
}
