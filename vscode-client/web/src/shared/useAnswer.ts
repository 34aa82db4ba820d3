/** The answer to a request that a component sends. */

import { useEffect, useState } from "preact/hooks";

import { errorMessage } from "./errorMessage";

interface State<Result> {
  /** The last answer, also while a newer one is awaited. */
  answer: Result | undefined;
  failure: string;
}

/** Sends a request whenever one of its inputs changes; `ask` returns undefined if there is nothing to ask. */
export function useAnswer<Result>(
  ask: () => Promise<Result> | undefined,
  inputs: readonly unknown[],
): State<Result> {
  const [state, setState] = useState<State<Result>>({ answer: undefined, failure: "" });
  useEffect(() => {
    let isLatest = true;
    ask()?.then(
      (answer) => {
        if (isLatest) {
          setState({ answer, failure: "" });
        }
      },
      (error: unknown) => {
        if (isLatest) {
          setState(({ answer }) => ({ answer, failure: errorMessage(error) }));
        }
      },
    );
    return () => {
      isLatest = false;
    };
  }, inputs);
  return state;
}
