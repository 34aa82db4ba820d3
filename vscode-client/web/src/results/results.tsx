/** The entry point of the results page, in a panel or in a report. */

import { mount } from "../shared/mount";
import { followTheme } from "../shared/theme";
import { App } from "./app";
import { embeddedElement, embeddedSource } from "./embeddedPage";
import { panelSource } from "./panelSource";
import { notRun, openQuestion, preparing, running } from "./runs";
import { fail, show, showNothing, source } from "./store";

followTheme();
mount(<App />);
const data = embeddedElement();
if (data === undefined) {
  source.value = panelSource({
    show: (next, on) => {
      preparing.value = "";
      show(next, on);
    },
    fail: (message) => {
      preparing.value = "";
      fail(message);
    },
    nothing: (prompt, name) => {
      notRun.value = { prompt, name };
      showNothing();
    },
    running: (runs) => {
      if (runs.length > 0) {
        preparing.value = "";
      }
      running.value = runs;
    },
    planning: () => {
      preparing.value = "Rendering the rows to estimate the run …";
    },
    question: (question) => {
      preparing.value = "";
      openQuestion.value = question;
    },
  });
} else {
  embeddedSource(data, { show }).then(
    (found) => {
      source.value = found;
    },
    () => {
      fail("The data of this report cannot be read: the file is damaged, or the browser is too old for it.");
    },
  );
}
