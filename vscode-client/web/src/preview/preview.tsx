/** The entry point of the preview page. */

import { mount } from "../shared/mount";
import { followTheme } from "../shared/theme";
import { App } from "./app";
import { listenForKeys } from "./keys";
import { begin } from "./store";

followTheme();
// The first message is rendered immediately.
begin();
mount(<App />);
listenForKeys();
