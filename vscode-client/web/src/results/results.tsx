/** The entry point of the results page, in a panel or in a report. */

import { mount } from "../shared/mount";
import { followTheme } from "../shared/theme";
import { App } from "./app";
import { embeddedElement, embeddedSource } from "./embeddedPage";
import type { ToPage } from "./messages";
import { panelSource } from "./panelSource";
import { notRun, openQuestion, preparing, running } from "./runs";
import { fail, show, showNothing, source } from "./store";

followTheme();
mount(<App />);
const data = embeddedElement();
if (data === undefined) {
  source.value = panelSource(receive);
} else {
  embeddedSource(data).then(
    (found) => {
      show(found.view);
      source.value = found.source;
    },
    () => {
      fail("The data of this report cannot be read: the file is damaged, or the browser is too old for it.");
    },
  );
}

function receive(message: ToPage): void {
  switch (message.type) {
    case "show":
      preparing.value = "";
      show(message.view, message.page);
      return;
    case "fail":
      preparing.value = "";
      fail(message.message);
      return;
    case "nothing":
      notRun.value = message;
      showNothing();
      return;
    case "running":
      if (message.runs.length > 0) {
        preparing.value = "";
      }
      running.value = message.runs;
      return;
    case "planning":
      preparing.value = "Rendering the rows to estimate the run …";
      return;
    case "question":
      preparing.value = "";
      openQuestion.value = message;
  }
}
