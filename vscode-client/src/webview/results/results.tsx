/** Where the page of the results begins, in a panel or in a report. */

import { render } from "preact";

import { followTheme } from "../shared/theme";
import { App } from "./app";
import { embeddedElement, embeddedSource } from "./embeddedPage";
import { panelSource } from "./panelSource";
import { fail, show, source } from "./store";

followTheme();
render(<App />, document.getElementById("root") as HTMLElement);
const data = embeddedElement();
if (data === undefined) {
  source.value = panelSource({ show, fail });
} else {
  embeddedSource(data, { show, fail }).then(
    (found) => {
      source.value = found;
    },
    () => {
      fail("The data of this report cannot be read: the file is damaged, or the browser is too old for it.");
    },
  );
}
