/** Remedies for failed runs. */

export type Remedy = { button: string } & (
  | { kind: "key"; variable: string; problem: string }
  | { kind: "trust" }
  | { kind: "experiment" }
  | { kind: "resume"; run: string }
  /** A Python module that installs what is missing, with its arguments. */
  | { kind: "install"; module: "pip" | "promptls"; args: readonly string[] }
);

/** A requirement for pip, without characters that are special in a shell. */
const REQUIREMENT = /^[A-Za-z0-9][\w.-]*(\[[\w,.-]+\])?([<>=!~]=?[\w.*+]+)?$/;

/** Returns the remedy for the error message of a failed run. */
export function remedyOf(message: string): Remedy | undefined {
  const lacking = /^(.*the environment variable `(\w+)` is not set)/s.exec(message);
  if (lacking?.[1] !== undefined && lacking[2] !== undefined) {
    const problem = `${lacking[1]}. The editor can save the key in its secret storage.`;
    return { kind: "key", button: "Set Key and Run", variable: lacking[2], problem };
  }
  if (message.includes("trust the workspace first")) {
    return { kind: "trust", button: "Manage Workspace Trust" };
  }
  if (message.includes("declares no experiment")) {
    return { kind: "experiment", button: "Add Experiment and Run" };
  }
  const run = /`promptls run --resume ([^`]+?)( --max-calls …)?`/.exec(message)?.[1];
  if (run !== undefined) {
    return { kind: "resume", button: "Resume", run };
  }
  const model = /`promptls models --install (local:[\w.-]+)`/.exec(message)?.[1];
  if (model !== undefined) {
    return { kind: "install", button: "Install", module: "promptls", args: ["models", "--install", model] };
  }
  const packages = /`pip install ([^`]+)`/.exec(message)?.[1]?.replaceAll(/["']/g, "").split(/\s+/) ?? [];
  return packages.length > 0 && packages.every((each) => REQUIREMENT.test(each))
    ? { kind: "install", button: "Install", module: "pip", args: ["install", ...packages] }
    : undefined;
}
