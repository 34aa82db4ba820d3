import { expect, it } from "vitest";

import { explicitSettings } from "../src/settings";

const NAMES = [
  "server.path",
  "preview.openAutomatically",
  "tokenLimit",
  "roles",
  "inlayHints.tokens",
  "askAbove.cost",
  "askAbove.calls",
];

it("has what the user has set, by the names of the server, and no defaults", () => {
  const values: Record<string, object> = {
    "server.path": { globalValue: "/usr/bin/promptls" },
    "preview.openAutomatically": { workspaceValue: true },
    tokenLimit: { globalValue: 100, workspaceValue: 200 },
    roles: { workspaceFolderValue: [] },
    "askAbove.cost": { globalValue: 2 },
    "askAbove.calls": { globalValue: 3 },
    "inlayHints.tokens": {},
  };
  expect(explicitSettings(NAMES, (name) => values[name])).toEqual({
    token_limit: 200,
    roles: [],
    ask_above: { cost: 2, calls: 3 },
  });
});
