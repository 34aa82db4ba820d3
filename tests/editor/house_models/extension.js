// A language model of an extension: answers with the last message, word by word, and knows how to refuse.

const vscode = require("vscode");

const textOf = (message) => message.content.map((part) => part.value ?? "").join("");

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.lm.registerLanguageModelChatProvider("house", {
      provideLanguageModelChatInformation: () => [
        { id: "echo-1", name: "House Echo", family: "echo", version: "1", maxInputTokens: 4000, maxOutputTokens: 400, capabilities: {} },
      ],
      provideLanguageModelChatResponse: async (_model, messages, _options, progress, token) => {
        const text = textOf(messages.at(-1));
        if (text.includes("refuse")) {
          throw vscode.LanguageModelError.Blocked("the quota of today is spent");
        }
        if (text.includes("wait")) {
          await new Promise((resolve) => token.onCancellationRequested(resolve));
          return;
        }
        for (const word of text.split(/(?<= )/)) {
          progress.report(new vscode.LanguageModelTextPart(word));
        }
      },
      provideTokenCount: async (_model, text) => (typeof text === "string" ? text : textOf(text)).split(/\s+/).length,
    }),
  );
};
