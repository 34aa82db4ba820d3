/** Where the page of the preview begins. */

import { mount } from "../shared/mount";
import { followTheme } from "../shared/theme";
import { App } from "./app";
import { listenForKeys } from "./keys";
import { begin } from "./store";

followTheme();
// What the page is told from the start is in its first picture.
begin();
mount(<App />);
listenForKeys();
