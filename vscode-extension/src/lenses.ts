/** The lenses over an edit: what it is, how far, and what can be done with it. */
import * as vscode from "vscode";

import type { Merged } from "./hunks";
import type { EditSession } from "./session";

/** Lenses in the document that is to be edited. */
export function documentLenses(session: EditSession): vscode.CodeLens[] {
  const { id, ready, start } = session;
  return [
    lens(start, `$(edit) ${said(session)}`, "copydraft.showPreview", id),
    ...(ready ? [lens(start, "Accept All", "copydraft.acceptAll", id)] : []),
    lens(start, ready ? "Reject All" : "Stop", "copydraft.rejectAll", id),
  ];
}

/** Lenses in the preview of the edit. */
export function previewLenses(session: EditSession, { marks }: Merged): vscode.CodeLens[] {
  const { id, ready } = session;
  const top = marks[0]?.at ?? session.start;
  const lenses = [lens(top, said(session), "copydraft.openDiff", id)];
  if (ready) lenses.push(lens(top, "$(check-all) Accept All", "copydraft.acceptAll", id));
  lenses.push(
    lens(top, ready ? "$(close-all) Reject All" : "$(debug-stop) Stop", "copydraft.rejectAll", id),
  );
  if (ready && marks.length > 1)
    session.hunks.forEach((hunk, index) => {
      const line = marks[index]?.at ?? 0;
      lenses.push(lens(line, "$(check) Accept", "copydraft.acceptHunk", id, hunk.id));
      lenses.push(lens(line, "$(close) Reject", "copydraft.rejectHunk", id, hunk.id));
    });
  return lenses;
}

/** What a session is and how far it is, in a few words. */
function said(session: EditSession): string {
  const what =
    session.instruction.length > 40 ? `${session.instruction.slice(0, 39)}…` : session.instruction;
  if (!session.ready) return `$(loading~spin) ${what} · ${session.progress || "starting"}`;
  const { hunks } = session;
  return `${what} · ${hunks.length} change${hunks.length === 1 ? "" : "s"}`;
}

function lens(line: number, title: string, command: string, ...args: unknown[]): vscode.CodeLens {
  return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), {
    title,
    command,
    arguments: args,
  });
}
