// Another extension that renames in Python, as others do: every word, and only in its own file.

const vscode = require("vscode");

exports.activate = (context) => {
  const provider = {
    prepareRename: (document, position) => {
      const range = document.getWordRangeAtPosition(position);
      return { range, placeholder: `rival ${document.getText(range)}` };
    },
    provideRenameEdits: (document, position, newName) => {
      const edit = new vscode.WorkspaceEdit();
      edit.replace(document.uri, document.getWordRangeAtPosition(position), newName);
      return edit;
    },
  };
  context.subscriptions.push(
    vscode.languages.registerRenameProvider({ scheme: "file", language: "python" }, provider),
  );
};
