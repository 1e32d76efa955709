"""The definition around a line, in several languages."""

from __future__ import annotations

import pytest

from copydraft_lsp.blocks import Block, enclosing

PYTHON = """import x

class A:
    @property
    def size(
        self,
    ) -> int:
        a = 1

        return a

    def other(self): return 2
b = 3
""".splitlines(keepends=True)

RUST = """impl A {
    #[inline]
    pub fn size(&self) -> u32 {
        1
    }

    fn other() {}
}
let x;
""".splitlines(keepends=True)

LUA = """local function f(a)
  return a
end
print(f(1))
""".splitlines(keepends=True)

GO = """func (s *Server) Run(
\tctx context.Context,
) error
{
\treturn nil
}

var x = 1
""".splitlines(keepends=True)


@pytest.mark.parametrize(
    ("lines", "line", "expected"),
    [
        (PYTHON, 0, None),
        (PYTHON, 2, Block(2, 12, "A")),
        (PYTHON, 4, Block(3, 10, "size")),
        (PYTHON, 8, Block(3, 10, "size")),
        (PYTHON, 11, Block(11, 12, "other")),
        (PYTHON, 12, None),
        (RUST, 3, Block(1, 5, "size")),
        (RUST, 4, Block(1, 5, "size")),
        (RUST, 6, Block(6, 7, "other")),
        (RUST, 7, Block(0, 8, "A")),
        (RUST, 8, None),
        (LUA, 1, Block(0, 3, "f")),
        (LUA, 3, None),
        (GO, 4, Block(0, 6, "Run")),
        (GO, 7, None),
        (GO, 99, None),
        ([], 0, None),
    ],
)
def test_it_is_found_with_its_decorations_and_its_end(
    lines: list[str], line: int, expected: Block | None
) -> None:
    assert enclosing(lines, line) == expected


def test_a_very_long_one_is_not_offered() -> None:
    lines = ["def f():\n", *["    x\n"] * 300]
    assert enclosing(lines, 100) is None
