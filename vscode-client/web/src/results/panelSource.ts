/** The server, behind a panel of the editor or a page in a browser. */

import { errorMessage } from "../shared/errorMessage";
import { connect } from "../shared/host";
import { download } from "./download";
import type { FromPage, ToPage } from "./messages";
import type { Source } from "./source";

const ENDED = "The server of this page has stopped. Run promptls results again, and open its new address.";

export function panelSource(receive: (message: ToPage) => void): Source {
  const host = connect<ToPage, FromPage>(receive, () => {
    receive({ type: "running", runs: [] });
    receive({ type: "fail", message: ENDED });
  });
  host.post({ type: "ready" });
  return {
    forms: ["csv", "jsonl", "junit", "html"],
    rows: (run, filter, start, count) => host.ask("rows", { run, filter, start, count }),
    pairs: (before, after, differing, start, count) =>
      host.ask("pairs", { before, after, differing, start, count }),
    messages: (run, place) => host.ask("messages", { run, place }),
    export: (run, name, filter, form) => {
      if (host.inEditor) {
        // The editor asks for the file's path.
        host.post({ type: "export", run, name, filter, form });
      } else {
        host.ask<{ text: string }>("export", { run, filter, form }).then(
          ({ text }) => download(text, `${name}-export.${form === "junit" ? "xml" : form}`),
          (error: unknown) => receive({ type: "fail", message: errorMessage(error) }),
        );
      }
    },
    copy: (text, what) => host.copy(text, what),
    live: {
      choose: (run, against) => host.post({ type: "choose", run, against }),
      open: host.inEditor ? (path) => host.post({ type: "open", path }) : undefined,
      note: (run, place, thumb, text) => host.ask("note", { run, place, thumb, text }),
      numbers: (run, filter) => host.ask("numbers", { run, filter }),
      runAgain: (prompt, again = {}) => host.post({ type: "runAgain", prompt, ...again }),
      confirm: (id, yes) => host.post({ type: "confirm", id, yes }),
      cancelRun: (id) => host.post({ type: "cancelRun", id }),
    },
  };
}
