import { expect, it } from "vitest";

import { argumentOf } from "../src/arguments";

it("takes the object of a lens as it is", () => {
  const argument = { uri: "file:///a.yml.j2", experiment: "triage" };
  expect(argumentOf(argument)).toEqual(argument);
});

it("takes the file that a menu of the editor names", () => {
  const file = { scheme: "file", fsPath: "/a.yml.j2", toString: () => "file:///a.yml.j2" };
  expect(argumentOf(file)).toEqual({ uri: "file:///a.yml.j2" });
});

it("is nothing for a command of the palette, which names no file", () => {
  expect(argumentOf(undefined)).toBeUndefined();
});
