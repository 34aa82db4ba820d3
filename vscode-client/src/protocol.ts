/** Messages of the server that are not part of LSP. */

/** Sent if the rendering of a file may have changed: the file itself, an include, a sample or a setting. */
export const CHANGED = "promptls/changed";

/** Sent during a run started with `follow`, with the rows that finished since the last message. */
export const ROW_VERDICTS = "promptls/rowVerdicts";

/** Sent while a model asked with `follow` answers, with the text received since the last message. */
export const ANSWER_TEXT = "promptls/answerText";
