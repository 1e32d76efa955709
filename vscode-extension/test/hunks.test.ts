import assert from "node:assert/strict";

import {
  applied,
  followed,
  grouped,
  type Hunk,
  merged,
  moved,
  places,
  written,
} from "../src/hunks";
import type { TextEdit } from "../src/protocol";
import { test } from "./runner";

const LINES = ["a", "b", "c", "d", "e", ""];

function edit(start: [number, number], end: [number, number], newText: string): TextEdit {
  return {
    range: {
      start: { line: start[0], character: start[1] },
      end: { line: end[0], character: end[1] },
    },
    newText,
  };
}

function hunks(...edits: TextEdit[]): Hunk[] {
  return grouped(edits).map((hunk) => written(hunk, LINES));
}

function shape({ start, end, lines }: Hunk): [number, number, string[]] {
  return [start, end, lines];
}

test("edits of neighbouring lines are one hunk, others are hunks of their own", () => {
  const found = hunks(
    edit([0, 1], [0, 1], "1"),
    edit([1, 0], [1, 1], "B"),
    edit([3, 0], [3, 1], "D"),
  );
  assert.deepEqual(found.map(shape), [
    [0, 2, ["a1", "B"]],
    [3, 4, ["D"]],
  ]);
});

test("an insertion of whole lines replaces none", () => {
  assert.deepEqual(hunks(edit([2, 0], [2, 0], "x\ny\n")).map(shape), [[2, 2, ["x", "y"]]]);
});

test("a deletion of whole lines leaves none", () => {
  assert.deepEqual(hunks(edit([1, 0], [3, 0], "")).map(shape), [[1, 3, []]]);
});

test("removed lines stand before added ones in the merged text", () => {
  const found = hunks(edit([1, 0], [2, 0], "X\nY\n"));
  assert.deepEqual(merged(LINES, found), {
    lines: ["a", "b", "X", "Y", "c", "d", "e", ""],
    marks: [{ id: 0, at: 1, added: 2, end: 4 }],
  });
});

test("new lines are found in the text with all hunks made", () => {
  const found = hunks(edit([0, 0], [1, 0], "X\nY\nZ\n"), edit([3, 0], [4, 0], ""));
  assert.deepEqual(places(found), [
    { id: 0, at: 0, end: 3 },
    { id: 1, at: 5, end: 5 },
  ]);
});

test("all hunks made give the new text", () => {
  const found = hunks(edit([0, 0], [1, 0], ""), edit([4, 1], [4, 1], "!"));
  assert.deepEqual(applied(LINES, found), ["b", "c", "d", "e!", ""]);
});

test("a change above moves a hunk and its edits", () => {
  const [hunk] = hunks(edit([3, 0], [3, 1], "D"));
  assert(hunk);
  const there = moved(hunk, edited([0, 1], [0, 1], "\n\n"));
  assert.deepEqual(there?.start, 5);
  assert.deepEqual(there.edits, [edit([5, 0], [5, 1], "D")]);
});

test("a change below leaves a hunk where it is", () => {
  const [hunk] = hunks(edit([1, 0], [1, 1], "B"));
  assert(hunk);
  assert.equal(moved(hunk, edited([2, 0], [2, 1], "x\ny")), hunk);
});

test("a change in a hunk's lines ends it", () => {
  const [hunk] = hunks(edit([1, 0], [1, 1], "B"));
  assert(hunk);
  assert.equal(moved(hunk, edited([1, 0], [1, 0], "x")), null);
  assert.equal(moved(hunk, edited([0, 1], [1, 0], "")), null);
  assert.equal(moved(hunk, edited([0, 0], [2, 0], "")), null);
});

test("a line deleted right above a hunk moves it", () => {
  const [hunk] = hunks(edit([1, 0], [1, 1], "B"));
  assert(hunk);
  assert.equal(moved(hunk, edited([0, 0], [1, 0], ""))?.start, 0);
});

function edited(
  start: [number, number],
  end: [number, number],
  text: string,
): { range: TextEdit["range"]; text: string } {
  return { range: edit(start, end, "").range, text };
}

/** Where lines [2, 4) are after a change. */
function after(start: [number, number], end: [number, number], text: string): number[] | null {
  const [range, lines] = [edit(start, end, text).range, { start: 2, end: 4 }];
  const found = followed(lines, { range, text });
  return found && [found.start, found.end];
}

test("lines move with what is added and removed above them", () => {
  assert.deepEqual(after([0, 1], [0, 1], "\nx"), [3, 5]);
  assert.deepEqual(after([2, 0], [2, 0], "x\n"), [3, 5]);
  assert.deepEqual(after([1, 0], [2, 0], ""), [1, 3]);
});

test("lines stay where something is changed below them", () => {
  assert.deepEqual(after([4, 0], [5, 0], ""), [2, 4]);
});

test("lines grow and shrink by what is changed in them", () => {
  assert.deepEqual(after([3, 0], [3, 1], ""), [2, 4]);
  assert.deepEqual(after([3, 1], [3, 1], "\nx"), [2, 5]);
  assert.deepEqual(after([2, 0], [3, 0], ""), [2, 3]);
  assert.deepEqual(after([2, 0], [2, 0], "x"), [2, 4]);
});

test("lines that are removed, or changed together with others, are lost", () => {
  assert.equal(after([2, 0], [4, 0], ""), null);
  assert.equal(after([0, 0], [5, 0], "x\n"), null);
  assert.equal(after([3, 1], [4, 0], ""), null);
  assert.equal(after([1, 1], [2, 0], ""), null);
});
