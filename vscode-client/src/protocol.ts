/** The messages of the server outside LSP. */

/** Sent if the rendering of a file may have changed: with the file itself, an include, a sample or a setting. */
export const CHANGED = "promptls/changed";

/** Sent during a run that was started with `follow`, with the rows that finished since the last message. */
export const ROW_VERDICTS = "promptls/rowVerdicts";

/** Sent while a model answers that was asked with `follow`, with the text that has arrived. */
export const ANSWER_TEXT = "promptls/answerText";
