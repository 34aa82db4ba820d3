import { expect, it } from "vitest";

import { remedyOf } from "../src/remedies";

it("offers to save a key that is missing", () => {
  expect(remedyOf("the environment variable `OPENAI_API_KEY` is not set; set it")).toMatchObject({
    kind: "key",
    variable: "OPENAI_API_KEY",
  });
});

it("leads to workspace trust", () => {
  const message = "experiments are not run in a folder that is not trusted; trust the workspace first";
  expect(remedyOf(message)?.kind).toBe("trust");
});

it("offers an experiment to a prompt without one", () => {
  expect(remedyOf("the prompt declares no experiment; declare one")?.kind).toBe("experiment");
});

it("resumes a run that has ended in the middle", () => {
  const message = "the run ended unexpectedly; go on with `promptls run --resume /w/experiments/a run`";
  expect(remedyOf(message)).toMatchObject({ kind: "resume", run: "/w/experiments/a run" });
});

it("resumes a run whose budget is spent", () => {
  const message =
    "the budget of 4 calls is spent after 4 of 9 results; continue with a larger one: " +
    "`promptls run --resume 20261121-101500-ask --max-calls …`, `--max-tokens …` or `--max-cost …`";
  expect(remedyOf(message)).toMatchObject({ kind: "resume", run: "20261121-101500-ask" });
});

it("installs packages that are missing", () => {
  const message = 'ROUGE needs a package; run `pip install "rouge-score>=0.1" promptls[ray]`';
  expect(remedyOf(message)).toMatchObject({
    module: "pip",
    args: ["install", "rouge-score>=0.1", "promptls[ray]"],
  });
});

it("installs the embedded model where it is missing", () => {
  const message =
    "the model `local:smollm2` is not installed; run `promptls models --install local:smollm2` (127 MB, once)";
  expect(remedyOf(message)).toMatchObject({
    module: "promptls",
    args: ["models", "--install", "local:smollm2"],
  });
});

it.each(["pip install a; rm -rf ~", "pip install $(id)", "pip install --index-url http://x y"])(
  "runs nothing but the installation of packages: %s",
  (command) => expect(remedyOf(`run \`${command}\``)).toBeUndefined(),
);

it("knows no remedy for other failures", () => expect(remedyOf("the model did not answer")).toBeUndefined());
