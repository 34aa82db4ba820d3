/** The part of VS Code's API for tools of agent mode, which the oldest supported version does not have. */

import type { CancellationToken, Disposable } from "vscode";

export interface ToolInvocation {
  input: Record<string, unknown>;
}

export interface Preparation {
  invocationMessage: string;
  confirmationMessages: { title: string; message: string };
}

export interface LanguageModelTool {
  invoke(options: ToolInvocation, token: CancellationToken): Promise<object>;
  prepareInvocation?(options: ToolInvocation, token: CancellationToken): Promise<Preparation | undefined>;
}

/** The members of the module `vscode`, as far as the running version has them. */
export interface ToolsApi {
  lm?: { registerTool?: (name: string, tool: LanguageModelTool) => Disposable };
  LanguageModelToolResult?: new (parts: object[]) => object;
  LanguageModelTextPart?: new (text: string) => object;
}
