/** Where the page of the results begins, in a panel or in a report. */

import { render } from "preact";

import { followTheme } from "../shared/theme";
import { App } from "./app";
import { embeddedElement, embeddedSource } from "./embeddedPage";
import { panelSource } from "./panelSource";
import { asked, planning, running } from "./runs";
import { fail, show, source } from "./store";

followTheme();
render(<App />, document.getElementById("root") as HTMLElement);
const data = embeddedElement();
if (data === undefined) {
  source.value = panelSource({
    show,
    fail: (message) => {
      planning.value = false;
      fail(message);
    },
    running: (runs) => {
      planning.value = false;
      running.value = runs;
    },
    planning: () => {
      planning.value = true;
    },
    question: (question) => {
      planning.value = false;
      asked.value = question;
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
