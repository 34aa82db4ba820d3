/**
 * Whether files are prompts, decided by their beginnings, without a server. Ansible, Helm and CI templates
 * have the same file names, so the name alone does not suffice.
 */

import { open } from "node:fs/promises";

/** Names of files that may be prompts; equal to the activation events in `package.json`. */
export const CANDIDATES = "**/{*.yml.j2,*.yaml.j2,*_english.json,*_prompt_*.json}";
export const SETTINGS = "**/promptls.toml";

const MAX_BYTES = 16_384;

/** Keys that Ragas saves. */
export const SAVED_KEY = /"(instruction|metric_type)"\s*:/;
const HEADER = /^\{#---(?!-)/;
/** A list item with content, and with a name or a role: a part. Lists of users or tasks have no content. */
const PART_CONTENT = /^(?:-[ \t]*|[ ]{1,3})content[ ]*:/m;
const PART_NAME = /^-[ \t]*(?:name|role|content)[ ]*:/m;
/** The outermost keys of prompt objects and evaluation prompts. */
const PROMPT_KEY =
  /^(?:instruction|infer_cfg|reader_cfg|ice_template|prompt_template|meta_templates?|inferencer)[ ]*:/m;

export function looksLikePrompt(path: string, text: string): boolean {
  if (path.endsWith(".json")) {
    return SAVED_KEY.test(text);
  }
  return HEADER.test(text) || PROMPT_KEY.test(text) || (PART_NAME.test(text) && PART_CONTENT.test(text));
}

/**
 * Whether one of the files looks like a prompt, or all of them are new and empty. Unreadable files do not
 * count.
 */
export async function anyPrompt(paths: readonly string[]): Promise<boolean> {
  let areEmpty = paths.length > 0;
  for (const path of paths) {
    const text = await beginning(path).catch(() => undefined);
    if (text !== undefined && looksLikePrompt(path, text)) {
      return true;
    }
    areEmpty &&= text?.trim() === "";
  }
  return areEmpty;
}

async function beginning(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_BYTES) });
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
