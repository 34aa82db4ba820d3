/** The server, behind a panel of the editor. */

import type { FromPage, ToPage } from "../../results/messages";
import { connect } from "../shared/host";
import type { Receiver, Source } from "./source";

export function panelSource(receiver: Receiver): Source {
  const host = connect<ToPage, FromPage>((message) => {
    if (message.type === "show") {
      receiver.show(message.view, message.page);
    } else if (message.type === "fail") {
      receiver.fail(message.message);
    }
  });
  host.post({ type: "ready" });
  return {
    forms: ["csv", "jsonl", "junit"],
    rows: (run, wanted, start, count) => host.ask("rows", { run, wanted, start, count }),
    pairs: (before, after, differing, start, count) => host.ask("pairs", { before, after, differing, start, count }),
    messages: (run, place) => host.ask("messages", { run, place }),
    export: (run, name, wanted, form) => {
      host.post({ type: "export", run, name, wanted, form });
    },
    copy: (text, what) => {
      host.post({ type: "copy", text, what });
    },
    live: {
      choose: (run, against) => {
        host.post({ type: "choose", run, against });
      },
      open: (path) => {
        host.post({ type: "open", path });
      },
      note: (run, place, thumb, text) => host.ask("note", { run, place, thumb, text }),
      numbers: (run, wanted) => host.ask("numbers", { run, wanted }),
      runAgain: (prompt, experiment, rows) => {
        host.post({ type: "runAgain", prompt, experiment, ...(rows === undefined ? {} : { rows }) });
      },
    },
  };
}
