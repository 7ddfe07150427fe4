"""One replicate as a stock module: ``transformers.GPT2Model`` or ``torch.nn.LSTM``, with a classifier."""

import torch
import transformers
from torch import Tensor, nn

from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.models.architectures.lstm import LstmConfig
from krohn.lab.training.run_decoder import Single, transformer_state


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
    assert not config.recency, "stock GPT-2 has no recency bias"
    reach = config.context if config.positions == "learned" else length
    module = _empty_gpt(config, vocabulary, classes, reach)
    state = transformer_state(config, weights, vocabulary=vocabulary, length=length)
    state["head.weight"] = weights["head.weight"][:, :classes].T
    state["head.bias"] = weights["head.bias"][:classes]
    module.load_state_dict({name: value.to(torch.float32).contiguous() for name, value in state.items()})
    return module


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


def _empty_gpt(config: GptConfig, vocabulary: int, classes: int, length: int) -> StockGpt:
    stock = transformers.GPT2Config(
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
