/** Where the page of the preview begins. */

import { render } from "preact";

import { followTheme } from "../shared/theme";
import { App } from "./app";
import { listenForKeys } from "./keys";
import { begin } from "./store";

followTheme();
render(<App />, document.getElementById("root") as HTMLElement);
listenForKeys();
begin();
