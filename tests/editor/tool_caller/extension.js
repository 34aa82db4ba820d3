// Calls tools as agent mode does, and shows what they answer as a document.

const vscode = require("vscode");

const CALLS = [
  ["promptls_check_prompts", { paths: ["ask.yml.j2"] }],
  ["promptls_render_prompt", { file: "ask.yml.j2", row: 1 }],
  ["promptls_show_contract", { file: "../outside.yml.j2" }],
];

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("toolCaller.call", async () => {
      const texts = [`${vscode.lm.tools.filter(({ name }) => name.startsWith("promptls_")).length} tools`];
      for (const [name, input] of CALLS) {
        const result = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
        texts.push(result.content.map((part) => part.value).join(""));
      }
      const document = await vscode.workspace.openTextDocument({ content: texts.join("\n") });
      await vscode.window.showTextDocument(document);
    }),
  );
};
