"""From a model's name to an engine that is ready: found, checked, loaded, measured."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from copydraft import devices
from copydraft.config import Config
from copydraft.defaults import context_for, file_context_for
from copydraft.emission.calls import HERMES, CallShape
from copydraft.engine.cost import Calibration, Costs
from copydraft.engine.engine import SNAPSHOTS, Engine
from copydraft.engine.llama import BUILD, Model, can_offload
from copydraft.errors import OutOfMemory
from copydraft.models import catalog, library
from copydraft.models.gguf import ModelMetadata, memory_needed, read_metadata
from copydraft.prompts.template import ChatTemplate
from copydraft.prompts.tools import call_shape
from copydraft.protocol import EditFormat, ModelStatus
from copydraft.serving.service import CostStore

_log = logging.getLogger(__name__)

_WIDEST_PASS = 64
_PREFIX_BYTES = 1 << 30
_PREFIX_SHARE = 16
"""Of the machine's memory, kept prompts may take one part in so many."""


@dataclass(frozen=True)
class Loaded:
    """A model in memory and all that requests need to know of it."""

    path: Path
    engine: Engine
    template: ChatTemplate
    calibration: Calibration
    costs: Costs
    file_context: int
    edit_format: EditFormat
    """For requests that do not name one."""
    call_shape: CallShape | None
    """How the model calls tools; None: it was not taught to."""
    status: ModelStatus
    printed: dict[str, list[int]] = field(default_factory=dict)
    """Tokens by text, of the latest chat (`prompts.chat`)."""

    @property
    def escapes_calls(self) -> bool:
        """The model writes the arguments of tool calls as JSON, not as they are."""
        return (self.call_shape or HERMES).escapes


def wanted(name: str, config: Config) -> Path:
    """The file of the model that a request means by `name`, "" being the configured one.

    Raises:
        ModelProblem: the name is unknown or the model is not downloaded.
    """
    card = devices.usable_card_memory(gpu_layers=config.gpu_layers)
    return library.resolve(name or config.model or catalog.default_model(card))


def display_name(path: Path) -> str:
    """The catalog's name of a model's file, else the file's own."""
    return catalog.name_of(path) or path.stem


def load(
    path: Path,
    config: Config,
    costs: CostStore,
    progress: Callable[[float], bool],
    tell: Callable[[str], None],
) -> Loaded:
    """Load the model at `path`; `progress` gets the share read, its answer False stops.

    `tell` gets what the user should know meanwhile.

    Raises:
        ModelProblem: it is not a model, or of a kind that llama.cpp does not know.
        OutOfMemory: it does not fit; said before it is loaded.
        Cancelled: `progress` said so.
    """
    metadata = read_metadata(path)
    on_card = can_offload() and config.gpu_layers != 0
    context = min(context_for(config, on_card=on_card), metadata.context_length)
    gpu_layers = config.gpu_layers if on_card else 0
    _check_fit(metadata, context, gpu_layers)
    threads = config.threads or devices.physical_cores()
    engine = Engine(
        path,
        context=context,
        threads=threads,
        gpu_layers=config.gpu_layers,
        prefix_bytes=_prefix_bytes(metadata, context, gpu_layers),
        progress=progress,
    )
    device = engine.model.device
    try:
        key = f"{path.name} {metadata.size} {device} {config.gpu_layers} {threads} {BUILD}"
        calibration = _calibration(engine, key, costs, tell, lambda: progress(1.0))
        template = template_of(metadata, engine.model)
        shape = call_shape(template, engine.model.special_texts)
    except BaseException:
        engine.close()
        raise
    if devices.card_memory() is not None and config.gpu_layers != 0 and not on_card:
        tell("this machine has a card, but the model runs on the CPU: see `copydraft doctor`")
    status = ModelStatus(
        name=display_name(path),
        path=str(path),
        architecture=metadata.architecture,
        memory_kind=metadata.memory_kind,
        context=engine.context_size,
        device=device,
        size_bytes=metadata.size,
        cost={width: calibration.ratio(width) for width in calibration.ms},
        pass_ms=calibration.ms[1],
        completes=engine.model.fill_tokens is not None,
    )
    file_context = file_context_for(config, on_card=on_card)
    return Loaded(
        path,
        engine,
        template,
        calibration,
        Costs(calibration),
        file_context,
        config.edit_format,
        shape,
        status,
    )


def template_of(metadata: ModelMetadata, model: Model) -> ChatTemplate:
    """The model's own chat template.

    Raises:
        ModelProblem: the template is damaged.
    """
    return ChatTemplate(
        metadata.chat_template, bos=model.bos_text, eos=model.eos_text, add_bos=model.adds_bos
    )


def _calibration(
    engine: Engine,
    key: str,
    costs: CostStore,
    tell: Callable[[str], None],
    go_on: Callable[[], bool],
) -> Calibration:
    """The saved measurement for this model, device and build, or a new one."""
    if saved := costs.load_cost(key):
        return Calibration.of_table(saved)
    tell("measuring what wide passes cost with this model, once")
    measured = engine.calibrate(engine.widest_draft(_WIDEST_PASS - 1) + 1, go_on)
    if measured.steady:
        costs.save_cost(key, measured.to_table())
    else:
        _log.info("the machine is busy: the cost of a pass is measured again at the next load")
    return measured


def _check_fit(metadata: ModelMetadata, context: int, gpu_layers: int) -> None:
    """Say that a model does not fit before minutes are spent on loading it.

    Raises:
        OutOfMemory: with what is needed, what is free, and what would fit.
    """
    needed = memory_needed(metadata, context, rollback=SNAPSHOTS)
    if gpu_layers == 0:
        free = devices.available_memory()
        hint = catalog.what_fits(free, context)
    else:
        on_card = devices.card_free_memory()
        if on_card is None:
            # A card of another maker, whose memory the kernel does not tell.
            return
        free = on_card
        layers = _layers_on_card(metadata, gpu_layers)
        most = metadata.block_count * free // needed
        needed = needed * layers // metadata.block_count
        hint = f"{catalog.what_fits(free, context)}, or set `gpu_layers` to at most {most}"
    if needed <= free:
        return
    raise OutOfMemory(
        f"{metadata.name} needs {needed / 1e9:.1f} GB with a context of {context} tokens, "
        f"{free / 1e9:.1f} GB are free",
        hint,
    )


def _prefix_bytes(metadata: ModelMetadata, context: int, gpu_layers: int) -> int:
    """What kept prompts may take: they go without before the model does."""
    needed = memory_needed(metadata, context, rollback=SNAPSHOTS)
    beside_card = metadata.block_count - _layers_on_card(metadata, gpu_layers)
    left = devices.available_memory() - needed * beside_card // metadata.block_count
    return max(0, min(_PREFIX_BYTES, devices.total_memory() // _PREFIX_SHARE, left))


def _layers_on_card(metadata: ModelMetadata, gpu_layers: int) -> int:
    return metadata.block_count if gpu_layers < 0 else min(gpu_layers, metadata.block_count)
