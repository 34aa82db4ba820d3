/** Where the page of the preview begins. */

import { render } from "preact";

import { followTheme } from "../shared/theme";
import { App } from "./app";
import { listenForKeys } from "./keys";
import { begin } from "./store";

followTheme();
// What the page is told from the start is in its first picture.
begin();
render(<App />, document.getElementById("root") as HTMLElement);
listenForKeys();
