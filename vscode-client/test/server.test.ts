import { describe, expect, it } from "vitest";

import {
  isSameServer,
  moduleBeside,
  resolveServer,
  type ServerCommand,
  type ServerInputs,
} from "../src/server";

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

async function found(given: Partial<ServerInputs>): Promise<ServerCommand> {
  const server = await resolveServer(inputs(given));
  if (server === undefined) {
    throw new Error("no server was found");
  }
  return server;
}

describe("the server that is started", () => {
  it("is the one that the setting names, before any other", async () => {
    const server = await resolveServer(
      inputs({ configuredPath: "/bin/promptls", selectedPython: "/venv/python" }),
    );
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
      const server = await found({ configuredPath: python });
      expect([server.command, ...server.args]).toEqual([python, "-m", "promptls", "server"]);
    },
  );

  it("is that of the selected environment, where promptls is in it", async () => {
    const server = await resolveServer(inputs({ selectedPython: "/venv/python" }));
    expect(server).toMatchObject({
      command: "/venv/python",
      source: "selected environment",
      dependsOnPython: true,
    });
  });

  it("is the extension's own where the selected environment has none", async () => {
    const server = await resolveServer(
      inputs({ selectedPython: "/venv/python", hasServer: () => Promise.resolve(false) }),
    );
    expect(server).toMatchObject({ command: "/own/python", source: "own environment" });
  });

  it("is never that of an environment which an untrusted workspace may have chosen", async () => {
    let asked = false;
    const server = await found({
      trusted: false,
      selectedPython: "/workspace/python",
      hasServer: () => {
        asked = true;
        return Promise.resolve(true);
      },
    });
    expect(server.source).toBe("own environment");
    expect(asked).toBe(false);
  });

  it("is none where nothing is installed", async () => {
    expect(await resolveServer(inputs({ ownEnvironment: () => Promise.resolve(undefined) }))).toBeUndefined();
  });

  it("fails with the reason why the extension's own environment could not be looked for", async () => {
    const failing = inputs({ ownEnvironment: () => Promise.reject(new Error("no wheel")) });
    await expect(resolveServer(failing)).rejects.toThrow("no wheel");
  });

  it("is the same only with the same command and arguments", async () => {
    const one = await found({ configuredPath: "/bin/promptls" });
    expect(isSameServer(one, { ...one })).toBe(true);
    expect(isSameServer(one, { ...one, args: ["server", "--tcp"] })).toBe(false);
  });
});

it.each([
  ["/venv/bin/python", "pip", ["/venv/bin/python", "-m", "pip"]],
  ["/venv/bin/promptls", "pip", ["/venv/bin/python", "-m", "pip"]],
  ["C:\\venv\\Scripts\\promptls.exe", "pip", ["C:\\venv\\Scripts\\python", "-m", "pip"]],
  ["/venv/bin/promptls", "promptls", ["/venv/bin/promptls"]],
])("installs packages with the Python of the server %s", async (configuredPath, module, command) => {
  expect(moduleBeside(await found({ configuredPath }), module)).toEqual(command);
});
