/** The lenses over an edit: what it is, how far, and what can be done with it. */
import * as vscode from "vscode";

import type { Merged } from "./hunks";
import type { EditSession } from "./session";

/** Lenses in the document that is to be edited; what can be done first, for lines are cut off. */
export function documentLenses(session: EditSession): vscode.CodeLens[] {
  const { id, ready, start } = session;
  return [
    ...(ready ? [lens(start, "Accept All", "copydraft.acceptAll", id)] : []),
    lens(start, ready ? "Reject All" : "Stop", "copydraft.rejectAll", id),
    lens(start, `$(edit) ${said(session)}`, "copydraft.showPreview", id),
  ];
}

/** Lenses in the preview of the edit. */
export function previewLenses(session: EditSession, { marks }: Merged): vscode.CodeLens[] {
  const { id, ready } = session;
  const top = marks[0]?.at ?? session.start;
  const lenses = ready ? [lens(top, "$(check-all) Accept All", "copydraft.acceptAll", id)] : [];
  lenses.push(
    lens(top, ready ? "$(close-all) Reject All" : "$(debug-stop) Stop", "copydraft.rejectAll", id),
    lens(top, said(session), "copydraft.openDiff", id),
  );
  if (ready && marks.length > 1)
    for (const { id: hunk, at } of marks) {
      lenses.push(lens(at, "$(check) Accept", "copydraft.acceptHunk", id, hunk));
      lenses.push(lens(at, "$(close) Reject", "copydraft.rejectHunk", id, hunk));
    }
  return lenses;
}

/** How far a session is and what it is about, in a few words. */
function said(session: EditSession): string {
  const what =
    session.instruction.length > 40 ? `${session.instruction.slice(0, 39)}…` : session.instruction;
  if (!session.ready) return `$(loading~spin) ${session.progress || "starting"} · ${what}`;
  const { hunks } = session;
  return `${hunks.length} change${hunks.length === 1 ? "" : "s"} · ${what}`;
}

function lens(line: number, title: string, command: string, ...args: unknown[]): vscode.CodeLens {
  return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), {
    title,
    command,
    arguments: args,
  });
}
