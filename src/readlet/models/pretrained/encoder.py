"""Encoders of transformers as modules: token numbers in, the states of all layers out."""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from functools import lru_cache
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from readlet.errors import ReadletError, bad_input
from readlet.text.pretrained import encoder_digest, encoder_folder

_DROPOUTS = (  # names of the rates in the configurations of encoders
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "dropout",
    "attention_dropout",
    "mlp_dropout",
    "embedding_dropout",
)
_DEPTHS = ("num_hidden_layers", "num_hidden_groups", "inner_group_num")
_MOST_LAYERS = 256  # no use comes near it
_MOST_NUMBERS_BESIDE = 10**7  # in buffers, such as position ids
_TRIAL_LENGTH = 5  # no other dimension is likely to have this size
# Kinds whose layers are known to be the blocks; tests compare their states with transformers'.
KNOWN_KINDS = frozenset("bert albert electra roberta xlm-roberta distilbert".split())
_MORE_KINDS = frozenset("mpnet modernbert camembert deberta ernie rembert".split())
# The states of a forward pass; each thread has its own.
_COLLECTED: ContextVar[list[Tensor] | None] = ContextVar("states", default=None)


class PretrainedEncoder(nn.Module):
    """An encoder without its pooler, whose parameters no span head uses."""

    def __init__(self, network: Any, *, has_pooler: bool = False) -> None:
        """`has_pooler`: its pooler has pretrained weights, which a classifier may take."""
        super().__init__()
        if network.config.model_type == "mpnet":
            from readlet.models.pretrained.mpnet import use_fused_attention

            use_fused_attention(network)
        self.pretrained_pooler = _dense_of(network) if has_pooler else {}
        if getattr(network, "pooler", None) is not None:
            network.pooler = None
        self.network = network
        kinds = getattr(network.config, "type_vocab_size", 0) or 0
        self._reads_types = kinds > 1
        # Our own hooks: those of transformers reach into the layers and prevent compilation.
        self.has_own_hooks = _has_plain_blocks(network.config)
        if self.has_own_hooks:
            for block in self.blocks:
                block.register_forward_hook(_keep_state)
        trial = self._trial()
        self.layers = len(trial)
        self.width = trial[-1].shape[-1]

    def forward(
        self, tokens: Tensor, types: Tensor, keep: Tensor, *, all_layers: bool
    ) -> tuple[Tensor, ...]:
        """The states of the layers, each (B, T, H), first layer first; or only those of the last.

        All three inputs are (B, T).
        """
        given: dict[str, Any] = {"token_type_ids": types} if self._reads_types else {}
        if all_layers and not self.has_own_hooks:
            given["output_hidden_states"] = True
        states: list[Tensor] | None = [] if all_layers and self.has_own_hooks else None
        before = _COLLECTED.set(states)
        try:
            found = self.network(
                input_ids=tokens, attention_mask=keep.long(), return_dict=True, **given
            )
        finally:
            _COLLECTED.reset(before)
        last: Tensor = found.last_hidden_state  # (B, T, H); some encoders normalise it once more
        if not all_layers:
            return (last,)
        if states is None:
            states = list(found.hidden_states[1:])  # before them: the embeddings
        return (*states[:-1], last)

    @property
    def can_be_captured(self) -> bool:
        """Whether a step with it can become a CUDA graph.

        Without fused attention, as in DeBERTa, transformers copies from the CPU for each mask.
        """
        return bool(self.network.config._attn_implementation != "eager")

    @property
    def blocks(self) -> list[nn.Module]:
        """The layers, first one first; an encoder that shares its weights has fewer than it runs.

        They are the innermost list of modules with the most parameters.
        """
        return _blocks_of(self.network)

    def compile_blocks(self, *, all_layers: bool) -> None:
        """Compile the layers in place, for all lengths at once.

        Their `forward` only, without the hooks around it that collect the states in Python.
        """
        if all_layers and not self.has_own_hooks:
            return  # hooks of transformers inside the layers
        for block in self.blocks:
            block.forward = torch.compile(block.forward, dynamic=True)

    @torch.no_grad()
    def _trial(self) -> tuple[Tensor, ...]:
        """The states for a few tokens: this detects unsuitable models early."""
        tokens = torch.ones(1, _TRIAL_LENGTH, dtype=torch.long)  # (1, T)
        kind = type(self.network).__name__
        was_training = self.network.training
        self.network.eval()
        try:
            states: tuple[Tensor, ...] = self(
                tokens, torch.zeros_like(tokens), tokens.bool(), all_layers=True
            )
        except (TypeError, ValueError, AttributeError, RuntimeError, IndexError) as error:
            reason = str(error).strip().splitlines()[0][:100] if str(error).strip() else ""
            fault = f"does not return the states of its layers ({reason})"
            raise _not_an_encoder(kind, fault) from None
        self.network.train(was_training)
        shapes = {getattr(state, "shape", None) for state in states}  # None: no tensor
        if len(states) < len(self.blocks) or len(shapes) > 1 or None in shapes:
            raise _not_an_encoder(kind, "has no states of one size for each layer and token")
        if states[-1].shape[:2] != tokens.shape:
            raise _not_an_encoder(kind, "does not have one state for each token")
        return states


def _dense_of(network: Any) -> dict[str, Tensor]:
    """The weights of a pooler that is a dense layer, followed by tanh; BERT's and ALBERT's are."""
    pooler = getattr(network, "pooler", None)
    dense = getattr(pooler, "dense", pooler)
    if not isinstance(dense, nn.Linear) or dense.in_features != dense.out_features:
        return {}
    return {name: weight.detach().clone() for name, weight in dense.named_parameters()}


def _blocks_of(network: nn.Module) -> list[nn.Module]:
    lists = [part for part in network.modules() if isinstance(part, nn.ModuleList)]
    sizes = [sum(weight.numel() for weight in part.parameters()) for part in lists]
    largest = max(sizes, default=0)
    found = [part for part, size in zip(lists, sizes, strict=True) if size == largest]
    return list(found[-1]) if found else []


def _keep_state(block: nn.Module, _: object, output: Tensor | tuple[Tensor, ...]) -> None:
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append(output[0] if isinstance(output, tuple) else output)


def _has_plain_blocks(config: Any) -> bool:
    """Whether the outputs of the blocks are known to be the states that transformers returns."""
    if config.model_type == "deberta-v2":  # it may have a convolution after the first layer
        return not getattr(config, "conv_kernel_size", 0)
    return config.model_type in KNOWN_KINDS | _MORE_KINDS


def _not_an_encoder(kind: str, fault: str) -> ReadletError:
    return ReadletError(f"model.encoder: {kind} {fault}; give an encoder such as BERT")


def load_pretrained(name: str, config: dict[str, Any], dropout: float | None) -> PretrainedEncoder:
    """The encoder with its pretrained weights, in float32.

    It is a copy: the last one read stays in memory, so that the runs of a grid, and the check
    before each of them, read it once.
    """
    values = json.dumps(config, sort_keys=True)
    return deepcopy(_read_pretrained(name, encoder_digest(name), values, dropout))


@lru_cache(maxsize=1)
def _read_pretrained(
    name: str, _digest: str, config: str, dropout: float | None
) -> PretrainedEncoder:
    from transformers import AutoModel

    folder, typed = encoder_folder(name), _config(json.loads(config), dropout)
    try:
        # Missing weights are drawn at random: later random numbers must not depend on that.
        with quiet(), torch.random.fork_rng(devices=[]):
            network, report = AutoModel.from_pretrained(
                folder,
                config=typed,
                dtype=torch.float32,
                output_loading_info=True,
                trust_remote_code=False,
            )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
        fault = f"its weights cannot be loaded ({reason})"
        raise bad_input(name, "", fault, "give a folder with config.json and weights") from None
    missing = [key for key in report["missing_keys"] if "pooler" not in key]
    if missing:
        fault = f"its weights lack {missing[0]} and {len(missing) - 1} others"
        raise bad_input(name, "", fault, "give a folder whose config.json fits its weights")
    # Without stored weights, transformers draws those of the pooler.
    return PretrainedEncoder(network, has_pooler=not report["missing_keys"])


def build_encoder(config: dict[str, Any], dropout: float | None) -> PretrainedEncoder:
    """The encoder of a configuration with random weights."""
    from transformers import AutoModel

    make: Any = AutoModel.from_config
    return PretrainedEncoder(make(_config(config, dropout), trust_remote_code=False))


def shapes_of(config: dict[str, Any]) -> dict[str, torch.Size]:
    """The shapes of a network's weights; ValueError for an invalid configuration.

    It may be damaged and give any size, so no memory is allocated.
    """
    from transformers import AutoModel

    make: Any = AutoModel.from_config
    try:
        typed = _config(config, None)
        depths = [getattr(typed, name) for name in _DEPTHS if hasattr(typed, name)]
        if not all(0 < depth <= _MOST_LAYERS for depth in depths):
            raise ValueError(f"numbers of layers: {depths!r:.80}")
        with torch.device("meta"):  # shapes only
            network = make(typed, trust_remote_code=False)
    except Exception as error:  # networks raise anything for damaged sizes
        raise ValueError(str(error)) from None
    if sum(buffer.numel() for buffer in network.buffers()) > _MOST_NUMBERS_BESIDE:
        raise ValueError("a network with too many positions")
    return {name: t.shape for name, t in network.state_dict().items() if "pooler" not in name}


def _config(config: dict[str, Any], dropout: float | None) -> Any:
    from transformers import CONFIG_MAPPING

    kind = str(config.get("model_type"))
    if kind not in CONFIG_MAPPING:
        raise ReadletError(f"model.encoder: unknown kind {kind!r:.40}; give one of transformers")
    if "auto_map" in config:  # custom code
        config = {name: value for name, value in config.items() if name != "auto_map"}
    rates = {} if dropout is None else {n: dropout for n in _DROPOUTS if n in config}
    if dropout is not None and not rates:
        warnings.warn(f"model.dropout does nothing: {kind} has no such rate", stacklevel=3)
    return CONFIG_MAPPING[kind].from_dict(config | rates)


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' report of unused weights, such as those of the pretraining head.

    Nor its progress bar, which loading from a local folder does not need.
    """
    from transformers.utils import logging as of_transformers

    bars: Any = of_transformers  # its functions have no types
    logger = logging.getLogger("transformers")
    before, had_bar = logger.level, bars.is_progress_bar_enabled()
    logger.setLevel(logging.ERROR)
    bars.disable_progress_bar()
    try:
        yield
    finally:
        logger.setLevel(before)
        if had_bar:
            bars.enable_progress_bar()
