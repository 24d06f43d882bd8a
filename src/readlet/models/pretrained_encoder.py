"""Encoders of transformers as modules: token numbers in, the states of all layers out."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from readlet.encoding.pretrained import encoder_folder
from readlet.errors import ReadletError, bad_input

_DROPOUTS = (  # names of the rates in the configurations of encoders
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "dropout",
    "attention_dropout",
)
_DEPTHS = ("num_hidden_layers", "num_hidden_groups", "inner_group_num")
_MOST_LAYERS = 256  # no use comes near it
_MOST_NUMBERS_BESIDE = 10**6
_TRIAL_LENGTH = 5  # no other dimension is likely to have this size


class PretrainedEncoder(nn.Module):
    """An encoder without its pooler, whose parameters no span head uses."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        if getattr(network, "pooler", None) is not None:
            network.pooler = None
        self.network = network
        kinds = getattr(network.config, "type_vocab_size", 0) or 0
        self._reads_types = kinds > 1
        self._states: list[Tensor] = []
        # Hooks of our own: those of transformers reach into the layers and prevent compilation.
        for block in self.blocks:
            block.register_forward_hook(self._keep_state)
        trial = self._trial()
        self.layers = len(trial)
        self.width = trial[-1].shape[-1]

    def forward(
        self, tokens: Tensor, types: Tensor, keep: Tensor, *, all_layers: bool
    ) -> tuple[Tensor, ...]:
        """The states of the layers, each (B, T, H), first layer first; or only those of the last.

        All three inputs are (B, T).
        """
        given = {"token_type_ids": types} if self._reads_types else {}
        self._states = []
        found = self.network(
            input_ids=tokens, attention_mask=keep.long(), return_dict=True, **given
        )
        states, self._states = self._states, []
        last: Tensor = found.last_hidden_state  # (B, T, H); some encoders normalise it once more
        return (*states[:-1], last) if all_layers else (last,)

    def _keep_state(self, block: nn.Module, _: object, output: Tensor | tuple[Tensor, ...]) -> None:
        self._states.append(output[0] if isinstance(output, tuple) else output)

    @property
    def blocks(self) -> list[nn.Module]:
        """The layers, first one first; an encoder that shares its weights has fewer than it runs.

        They are the innermost list of modules with the most parameters.
        """
        lists = [part for part in self.network.modules() if isinstance(part, nn.ModuleList)]
        sizes = [sum(weight.numel() for weight in part.parameters()) for part in lists]
        largest = max(sizes, default=0)
        found = [part for part, size in zip(lists, sizes, strict=True) if size == largest]
        return list(found[-1]) if found else []

    @torch.no_grad()
    def _trial(self) -> tuple[Tensor, ...]:
        """The states for a few tokens: an encoder of another kind is noticed at once."""
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
        if len(states) < len(self.blocks) or any(
            state.shape != states[-1].shape for state in states
        ):
            raise _not_an_encoder(kind, "has no states of one size for each layer and token")
        if states[-1].shape[:2] != tokens.shape:
            raise _not_an_encoder(kind, "has not one state for each token")
        return states


def _not_an_encoder(kind: str, fault: str) -> ReadletError:
    return ReadletError(f"model.encoder: {kind} {fault}; give an encoder such as BERT")


def load_pretrained(name: str, config: dict[str, Any], dropout: float | None) -> PretrainedEncoder:
    """The encoder with its pretrained weights, in float32."""
    from transformers import AutoModel

    folder = encoder_folder(name)
    try:
        with _quiet():
            network, report = AutoModel.from_pretrained(
                folder,
                config=_config(config, dropout),
                dtype=torch.float32,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
        fault = f"its weights cannot be loaded ({reason})"
        raise bad_input(name, "", fault, "give a folder with config.json and weights") from None
    missing = [key for key in report["missing_keys"] if "pooler" not in key]
    if missing:
        fault = f"its weights lack {missing[0]} and {len(missing) - 1} others"
        raise bad_input(name, "", fault, "give a folder whose config.json fits its weights")
    return PretrainedEncoder(network)


def build_encoder(config: dict[str, Any], dropout: float | None) -> PretrainedEncoder:
    """The encoder of a configuration with random weights."""
    from transformers import AutoModel

    make: Any = AutoModel.from_config
    return PretrainedEncoder(make(_config(config, dropout)))


def check_shapes(config: dict[str, Any], weights: dict[str, Tensor]) -> None:
    """Raise ValueError if these are no weights of this configuration, which may be of any size."""
    from transformers import AutoModel

    typed = _config(config, None)
    for name in _DEPTHS:
        if getattr(typed, name, 0) > _MOST_LAYERS:
            raise ValueError(f"{name}: {getattr(typed, name)}")
    make: Any = AutoModel.from_config
    with torch.device("meta"):  # shapes only
        network = make(typed)
    wanted = {name: t.shape for name, t in network.state_dict().items() if "pooler" not in name}
    if wanted.keys() != weights.keys():
        raise ValueError(f"other names: {min(wanted.keys() ^ weights.keys()):.80}")
    for name, shape in wanted.items():
        if shape != weights[name].shape:
            raise ValueError(f"{name:.80}: {tuple(weights[name].shape)}, not {tuple(shape)}")
    beside = sum(buffer.numel() for buffer in network.buffers())
    if beside > max(_MOST_NUMBERS_BESIDE, sum(weight.numel() for weight in weights.values())):
        raise ValueError(f"a network that needs {beside:,} numbers besides its weights")


def _config(config: dict[str, Any], dropout: float | None) -> Any:
    from transformers import CONFIG_MAPPING

    kind = str(config.get("model_type"))
    if kind not in CONFIG_MAPPING:
        raise ReadletError(f"model.encoder: unknown kind {kind!r:.40}; give one of transformers")
    rates = {} if dropout is None else {n: dropout for n in _DROPOUTS if n in config}
    return CONFIG_MAPPING[kind].from_dict(config | rates)


@contextmanager
def _quiet() -> Iterator[None]:
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
