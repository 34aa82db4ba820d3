import { describe, expect, it } from "vitest";

import { isSameServer, resolveServer, type ServerInputs } from "../src/server";

function inputs(given: Partial<ServerInputs>): ServerInputs {
  return {
    trusted: true,
    configuredPath: "",
    selectedPython: undefined,
    hasServer: () => Promise.resolve(true),
    ownEnvironment: () => Promise.resolve("/own/python"),
    ...given,
  };
}

describe("the server that is started", () => {
  it("is the one that the setting names, before any other", async () => {
    const server = await resolveServer(inputs({ configuredPath: "/bin/promptls", selectedPython: "/venv/python" }));
    expect(server).toEqual({
      command: "/bin/promptls",
      args: ["server"],
      source: "setting",
      dependsOnPython: false,
    });
  });

  it.each(["/venv/bin/python", "/venv/bin/python3.12", "C:\\venv\\Scripts\\python.exe"])(
    "is run as a module where the setting names the interpreter %s",
    async (python) => {
      const server = await resolveServer(inputs({ configuredPath: python }));
      expect([server.command, ...server.args]).toEqual([python, "-m", "promptls", "server"]);
    },
  );

  it("is that of the selected environment, where promptls is in it", async () => {
    const server = await resolveServer(inputs({ selectedPython: "/venv/python" }));
    expect(server).toMatchObject({ command: "/venv/python", source: "selected environment", dependsOnPython: true });
  });

  it("is the extension's own where the selected environment has none", async () => {
    const server = await resolveServer(
      inputs({ selectedPython: "/venv/python", hasServer: () => Promise.resolve(false) }),
    );
    expect(server).toMatchObject({ command: "/own/python", source: "own environment" });
  });

  it("is never that of an environment which an untrusted workspace may have chosen", async () => {
    let asked = false;
    const server = await resolveServer(
      inputs({
        trusted: false,
        selectedPython: "/workspace/python",
        hasServer: () => {
          asked = true;
          return Promise.resolve(true);
        },
      }),
    );
    expect(server.source).toBe("own environment");
    expect(asked).toBe(false);
  });

  it("fails with the reason why an environment could not be made", async () => {
    const failing = inputs({ ownEnvironment: () => Promise.reject(new Error("no Python")) });
    await expect(resolveServer(failing)).rejects.toThrow("no Python");
  });

  it("is the same only with the same command and arguments", async () => {
    const one = await resolveServer(inputs({ configuredPath: "/bin/promptls" }));
    expect(isSameServer(one, { ...one })).toBe(true);
    expect(isSameServer(one, { ...one, args: ["server", "--tcp"] })).toBe(false);
  });
});
