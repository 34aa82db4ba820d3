/** The part of VS Code's API for agent tools, which the oldest supported version lacks. */

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

/** The members of the module `vscode`; older versions lack some of them. */
export interface ToolsApi {
  lm?: { registerTool?: (name: string, tool: LanguageModelTool) => Disposable };
  LanguageModelToolResult?: new (parts: object[]) => object;
  LanguageModelTextPart?: new (text: string) => object;
}
