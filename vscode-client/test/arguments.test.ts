import { expect, it } from "vitest";

import { argumentOf } from "../src/arguments";

const ACTIVE = "file:///active.yml.j2";

it("takes the object of a lens as it is", () => {
  expect(argumentOf({ uri: "file:///a.yml.j2", experiment: "triage" }, ACTIVE)).toEqual({
    uri: "file:///a.yml.j2",
    experiment: "triage",
  });
});

it("takes the file that a menu of the editor names", () => {
  const file = { scheme: "file", fsPath: "/a.yml.j2", toString: () => "file:///a.yml.j2" };
  expect(argumentOf(file, ACTIVE)).toEqual({ uri: "file:///a.yml.j2" });
});

it("takes the active prompt for a command of the palette", () => {
  expect(argumentOf(undefined, ACTIVE)).toEqual({ uri: ACTIVE });
});

it("is nothing where no prompt is open", () => {
  expect(argumentOf(undefined, undefined)).toBeUndefined();
});
