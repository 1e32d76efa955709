"""What a user can set in the editor, from `initializationOptions` or the `copydraft` section.

The daemon's own settings (context, threads, card …) are in its config file, for all its clients.
There is none for where the daemon is: it has one place for each user (`paths.socket_path`).
"""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

import msgspec
from pathspec import GitIgnoreSpec

from copydraft import config
from copydraft.protocol import EditFormat, Generation, Sampling

SECTION = "copydraft"

_INSTRUCTIONS = ("Add documentation comments", "Simplify without changing what it does")


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All settings, with their defaults; their names are in camel case outside."""

    model: str = ""
    """Name in the catalog or path of a .gguf; empty: the model in the daemon's settings."""
    edit_format: EditFormat | Literal[""] = ""
    """How the model writes an edit; empty: as in the config file."""
    context_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Most tokens of the document shown around what is asked about; 0: as the daemon is set."""
    strict: bool = False
    """Decode near ties alone, so that drafting cannot change greedy text."""
    temperature: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """0 is greedy: the same answer every time."""
    instructions: list[str] = msgspec.field(default_factory=lambda: [*_INSTRUCTIONS])
    """Edits that code actions offer ready-made."""
    completion: bool = True
    """Complete while the user types, where the editor asks for it and a model is loaded."""
    disabled_languages: list[str] = []
    """Language identifiers (as in `python`) whose documents get no code action and no completion,
    and whose open buffers are not sent to be drafted from. Their files are indexed all the same,
    unless `.gitignore` names them."""
    exclude: list[str] = []
    """Documents, as lines of a .gitignore, whose open buffers are neither sent to be drafted from
    nor completed. What keeps their files out of the index is `.gitignore`."""

    def generation(self, agent: str) -> Generation:
        """How requests of the editor `agent` are decoded."""
        return Generation(
            model=self.model,
            strict=self.strict,
            sampling=Sampling(temperature=self.temperature),
            agent=agent,
            file_context=self.context_tokens,
        )

    def excludes(self, name: str) -> bool:
        """Whether `exclude` names a document, by its path below its workspace folder."""
        return _spec(tuple(self.exclude)).match_file(name)

    def format(self) -> EditFormat:
        """How the model is to write edits.

        Raises:
            BadRequest: the config file is wrong.
        """
        return self.edit_format or config.load().edit_format


@functools.lru_cache(maxsize=4)
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(patterns)


KEYS = tuple(field.encode_name for field in msgspec.structs.fields(Settings))


def parse(*given: Any) -> tuple[Settings, list[str]]:
    """The settings that a client sent, later over earlier ones, and warnings for the user.

    Each may stand in a section of its own name, as editors send them. A wrong value leaves its
    setting as it was; nothing raises.
    """
    good: dict[str, Any] = {}
    warnings = []
    for source in given:
        values = source
        if isinstance(source, dict) and isinstance(source.get(SECTION, 0), dict | None):
            values = source[SECTION]
        if values is None:
            continue
        if not isinstance(values, dict):
            warnings.append(f"the settings of copydraft are no object: {values!r}")
            continue
        for key, value in values.items():
            if key not in KEYS:
                warnings.append(f"copydraft has no setting {key!r}; it has {', '.join(KEYS)}")
            elif problem := _problem(key, value):
                warnings.append(problem)
            else:
                good[key] = value
    return msgspec.convert(good, Settings), warnings


def _problem(key: str, value: Any) -> str:
    try:
        _spec(tuple(msgspec.convert({key: value}, Settings).exclude))
    except (msgspec.ValidationError, ValueError) as error:
        return f"bad setting of copydraft: {error}"
    return ""
