"""One replicate as a stock module and back: ``transformers.GPT2Model`` or ``torch.nn.LSTM``, with a head."""

from typing import Any

import torch
from torch import Tensor, nn

from krohn.base.extras import to_install
from krohn.errors import MissingDependency, Unsupported
from krohn.lab.models import position_encodings
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.models.architectures.lstm import LstmConfig

Single = dict[str, Tensor]  # one replicate's weights by name, no replicate axis
_PREFIX = "transformer."
_SAME = ("h.", "ln_f.")  # prefixes of GPT-2's own parameter names


class StockGpt(nn.Module):
    """``GPT2Model`` and a classifier; maps tokens [B, T] to logits [B, T, classes]."""

    def __init__(self, transformer: nn.Module, head: nn.Linear) -> None:
        super().__init__()
        self.transformer = transformer
        self.head = head

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of every position."""
        hidden = self.transformer(input_ids=tokens, use_cache=False).last_hidden_state
        logits: Tensor = self.head(hidden)
        return logits


class StockLstm(nn.Module):
    """Embedding, ``torch.nn.LSTM`` and a classifier; maps tokens [B, T] to logits [B, T, classes]."""

    def __init__(self, vocabulary: int, config: LstmConfig, classes: int) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocabulary, config.embedding)
        self.lstm = nn.LSTM(config.embedding, config.hidden, batch_first=True)
        self.head = nn.Linear(config.hidden, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of every position."""
        logits: Tensor = self.head(self.lstm(self.wte(tokens))[0])
        return logits


def gpt_to_stock(
    config: GptConfig, weights: Single, *, vocabulary: int, classes: int, length: int
) -> StockGpt:
    """The stock model with the same logits up to ``length`` tokens; fixed positions become its table."""
    if config.recency:
        raise Unsupported("stock GPT-2 has no recency bias; export needs a model trained with recency off")
    reach = config.context if config.positions == "learned" else length
    module = _empty_gpt(config, vocabulary, classes, reach)
    state = transformer_state(config, weights, vocabulary=vocabulary, length=length)
    state["head.weight"] = weights["head.weight"][:, :classes].T
    state["head.bias"] = weights["head.bias"][:classes]
    module.load_state_dict({name: value.to(torch.float32).contiguous() for name, value in state.items()})
    return module


def transformer_state(config: GptConfig, weights: Single, *, vocabulary: int, length: int) -> Single:
    """The weights under GPT-2's names, all but the head's."""
    state = {f"{_PREFIX}{name}": value for name, value in weights.items() if name.startswith(_SAME)}
    state[f"{_PREFIX}wte.weight"] = weights["wte"][:vocabulary]
    state[f"{_PREFIX}wpe.weight"] = position_rows(config, weights, length)
    return state


def gpt_from_stock(config: GptConfig, module: StockGpt, like: Single) -> Single:
    """Weights by name, in the padded shapes of ``like``; fixed positions must be this encoding's."""
    state = module.state_dict()
    result = {name: state[f"{_PREFIX}{name}"] for name in like if name.startswith(_SAME)}
    result["wte"] = state[f"{_PREFIX}wte.weight"]
    table = state[f"{_PREFIX}wpe.weight"]
    if config.positions == "learned":
        result["wpe"] = table
    elif not torch.allclose(table, position_rows(config, result, len(table)), atol=1e-5):
        raise Unsupported(
            f"the stock position table is not the {config.positions} encoding; use positions learned"
        )
    result["head.weight"] = state["head.weight"].T
    result["head.bias"] = state["head.bias"]
    return {name: _pad(result[name], like[name].shape) for name in like}


def lstm_to_stock(config: LstmConfig, weights: Single, *, vocabulary: int, classes: int) -> StockLstm:
    """The stock LSTM with the same logits; our single bias becomes ``bias_ih``."""
    module = StockLstm(vocabulary, config, classes)
    bias = weights["bias"]
    state = {
        "wte.weight": weights["wte"][:vocabulary],
        "lstm.weight_ih_l0": weights["weight_ih"].T,
        "lstm.weight_hh_l0": weights["weight_hh"].T,
        "lstm.bias_ih_l0": bias,
        "lstm.bias_hh_l0": torch.zeros_like(bias),
        "head.weight": weights["head.weight"][:, :classes].T,
        "head.bias": weights["head.bias"][:classes],
    }
    module.load_state_dict({name: value.to(torch.float32).contiguous() for name, value in state.items()})
    return module


def lstm_from_stock(module: StockLstm, like: Single) -> Single:
    """Weights by name, in the padded shapes of ``like``."""
    state = module.state_dict()
    result = {
        "wte": state["wte.weight"],
        "weight_ih": state["lstm.weight_ih_l0"].T,
        "weight_hh": state["lstm.weight_hh_l0"].T,
        "bias": state["lstm.bias_ih_l0"] + state["lstm.bias_hh_l0"],
        "head.weight": state["head.weight"].T,
        "head.bias": state["head.bias"],
    }
    return {name: _pad(result[name], like[name].shape) for name in like}


def _empty_gpt(config: GptConfig, vocabulary: int, classes: int, length: int) -> StockGpt:
    try:
        import transformers
    except ImportError as error:
        raise MissingDependency(f"a stock GPT-2 needs transformers: {to_install('hf')}") from error
    stock: Any = transformers.GPT2Config(
        vocab_size=vocabulary,
        n_positions=length,
        n_embd=config.dim,
        n_layer=config.layers,
        n_head=config.heads,
        n_inner=config.mlp,
        resid_pdrop=config.dropout,
        embd_pdrop=config.dropout,
        attn_pdrop=config.attention_dropout,
        bos_token_id=0,
        eos_token_id=0,
    )
    return StockGpt(transformers.GPT2Model(stock), nn.Linear(config.dim, classes)).eval()


def position_rows(config: GptConfig, weights: Single, length: int) -> Tensor:
    """The position encoding as a table; learned positions are returned whole, whatever the length."""
    device = weights["wte"].device
    if config.positions == "learned":
        return weights["wpe"]
    if config.positions == "none":
        return torch.zeros(length, config.dim, device=device)
    encode = position_encodings.linear if config.positions == "linear" else position_encodings.sinusoidal
    return (encode(length, config.dim, device) * config.position_scale).to(torch.float32)


def _pad(value: Tensor, shape: torch.Size) -> Tensor:
    full = torch.zeros(shape, dtype=torch.float32, device=value.device)
    full[tuple(slice(extent) for extent in value.shape)] = value
    return full
