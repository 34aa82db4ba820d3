// Calls the tools that `calls.json` names as agent mode does, and shows what they answer as a document.

const vscode = require("vscode");

exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand("toolCaller.call", callAll));
};

async function callAll() {
  const file = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, "calls.json");
  const calls = JSON.parse(new TextDecoder().decode(await vscode.workspace.fs.readFile(file)));
  const texts = [`${vscode.lm.tools.filter(({ name }) => name.startsWith("promptls_")).length} tools`];
  for (const [name, input] of calls) {
    texts.push(await called(`promptls_${name}`, input));
  }
  const document = await vscode.workspace.openTextDocument({ content: [...texts, "done"].join("\n") });
  await vscode.window.showTextDocument(document);
}

async function called(name, input) {
  try {
    const result = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
    return result.content.map((part) => part.value).join("");
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
}
