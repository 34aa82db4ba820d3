/** The messages that every page exchanges with its host. */

/** A request of the page. */
export interface Ask {
  type: "ask";
  id: number;
  question: string;
  argument: object;
}

/** The answer to a request of the page. */
export interface Answer {
  type: "answer";
  id: number;
  result?: unknown;
  error?: string;
}

/** A text to copy; `what` describes it for the user. */
export interface Copy {
  type: "copy";
  text: string;
  what: string;
}
