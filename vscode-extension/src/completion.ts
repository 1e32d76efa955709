/** Inline completions: the language client has no stable feature for them, the server does. */
import * as vscode from "vscode";

import type { Server } from "./client";
import type { Position } from "./protocol";
import { completionIsOn } from "./settings";
import { DOCUMENTS } from "./target";

interface Item {
  insertText: string | { value: string };
  range?: { start: Position; end: Position };
}

/** Registers the provider; the server decides when there is something to say. */
export function registerCompletion(server: Server): vscode.Disposable {
  return vscode.languages.registerInlineCompletionItemProvider(DOCUMENTS, {
    provideInlineCompletionItems: async (document, position, context, cancel) => {
      if (!server.completes || !completionIsOn()) return [];
      const { version } = document;
      const params = {
        textDocument: { uri: document.uri.toString() },
        position: { line: position.line, character: position.character },
        // LSP counts from 1, VS Code from 0.
        context: { triggerKind: context.triggerKind + 1 },
      };
      try {
        const answer = await server.request<Item[] | { items: Item[] }>(
          "textDocument/inlineCompletion",
          params,
          cancel,
        );
        if (cancel.isCancellationRequested || document.version !== version) return [];
        const items = Array.isArray(answer) ? answer : (answer?.items ?? []);
        return items.map(asItem);
      } catch {
        // A completion that does not come is no news; the server's log has the reason.
        return [];
      }
    },
  });
}

function asItem({ insertText, range }: Item): vscode.InlineCompletionItem {
  const text = typeof insertText === "string" ? insertText : insertText.value;
  if (!range) return new vscode.InlineCompletionItem(text);
  const { start, end } = range;
  return new vscode.InlineCompletionItem(
    text,
    new vscode.Range(start.line, start.character, end.line, end.character),
  );
}
