"""A directory for ``from_pretrained`` of ``GPT2LMHeadModel`` and ``AutoTokenizer``: no custom code."""

from collections.abc import Mapping
from typing import Any

from krohn.base.files import json_bytes
from krohn.network.gpt2.decoder import LAYER_NORM_EPSILON, Decoder, Files, tensor_file
from krohn.network.gpt2.vocabulary import tokenizer_files

LOADING = """```python
import warnings

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{directory}")
model = AutoModelForCausalLM.from_pretrained("{directory}").eval()
right_in = model.config.krohn["right_in"].split()
if str(model.dtype).removeprefix("torch.") not in right_in:
    warnings.warn(f"this network is right in {{right_in}}; it was loaded in {{model.dtype}}: see README.md")
with torch.no_grad():
    logits = model(**tokenizer({word}, return_tensors="pt")).logits
states = logits.argmax(-1)[0, {prompt}:]  # the state after every letter
print(tokenizer.convert_ids_to_tokens(states))
```

Shorter words of a batch are filled up on the left, as `model.generate` wants it. A plain call of the model
then needs `position_ids=(attention_mask.cumsum(-1) - 1).clamp(min=0)`, or words that are filled up on the
right (`padding_side="right"`).

`pipeline("text-generation", "{directory}")` and `model.generate` append one token, the state after the word
(`generation_config.json`); more than one would read states as letters. TransformerLens opens it as it is:
`TransformerBridge.boot_transformers("{directory}")`.
"""


def tokens_of(decoder: Decoder) -> dict[str, list[int]]:
    """Which tokens begin a word, and stand for letters and states, as ``--tokens`` takes them."""
    return {part: list(getattr(decoder.vocabulary, part)) for part in ("prompt", "letters", "states")}


def hugging_face_files(decoder: Decoder, about: Mapping[str, str] | None) -> Files:
    """Configuration, weights and tokenizer of a stock GPT-2; ``about`` says where it comes from.

    Without it the files are as ``transformers`` saves them, and nothing in them tells that krohn wrote them.
    """
    assert decoder.normalized, "stock GPT-2 has LayerNorms"
    tokenizer = tokenizer_files(decoder.vocabulary, decoder.context)
    known = about or {}
    dtype = known.get("dtype", "float32")
    mark = {} if about is None else {"krohn": dict(about)}
    return {
        "model.safetensors": tensor_file(decoder.tensors, known),
        **{name: json_bytes(payload) for name, payload in tokenizer.items()},
        "generation_config.json": json_bytes({**_tokens(decoder), "do_sample": False, "max_new_tokens": 1}),
        "config.json": json_bytes(
            # Readers before version 5 look for torch_dtype.
            {**_config(decoder), "dtype": dtype, "torch_dtype": dtype, **mark}
        ),
    }


def _tokens(decoder: Decoder) -> dict[str, Any]:
    names = decoder.vocabulary
    first = names.prompt[0] if names.prompt else None
    return {"bos_token_id": first, "eos_token_id": None, "pad_token_id": names.pad}


def _config(decoder: Decoder) -> dict[str, Any]:
    tokens = decoder.vocabulary.tokens
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": decoder.activation,
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
        **_tokens(decoder),
        "layer_norm_epsilon": LAYER_NORM_EPSILON,
        "n_ctx": decoder.context,
        "n_embd": decoder.dim,
        "n_head": decoder.heads,
        "n_inner": decoder.inner,
        "n_layer": decoder.layers,
        "n_positions": decoder.context,
        "scale_attn_weights": True,
        "tie_word_embeddings": False,
        "use_cache": True,
        "vocab_size": len(tokens),
        "id2label": {str(number): name for number, name in enumerate(tokens)},
        "label2id": {name: number for number, name in enumerate(tokens)},
    }
