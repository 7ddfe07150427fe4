"""A directory that ``GPT2LMHeadModel`` and ``AutoTokenizer`` load with ``from_pretrained``: no own code."""

from typing import Any

from krohn.exporting.decoder import LAYER_NORM_EPSILON, Decoder
from krohn.exporting.files import Files, tensor_file, text_file
from krohn.exporting.tokenizer import tokenizer_files

LOADING = """```python
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{directory}")
model = AutoModelForCausalLM.from_pretrained("{directory}").eval()
with torch.no_grad():
    logits = model(**tokenizer({word}, return_tensors="pt")).logits
states = logits.argmax(-1)[0, {prompt}:]  # the state after every letter
print(tokenizer.convert_ids_to_tokens(states))
```
"""


def hugging_face_files(decoder: Decoder) -> Files:
    """Configuration, weights and tokenizer of a stock GPT-2."""
    assert decoder.normalized, "stock GPT-2 has LayerNorms"
    tokenizer = tokenizer_files(decoder.vocabulary, decoder.context)
    return {
        "model.safetensors": tensor_file(decoder.tensors),
        **{name: text_file(payload) for name, payload in tokenizer.items()},
        "config.json": text_file(_config(decoder)),
    }


def _config(decoder: Decoder) -> dict[str, Any]:
    first = decoder.vocabulary.prompt[0] if decoder.vocabulary.prompt else None
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": decoder.activation,
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
        "bos_token_id": first,
        "eos_token_id": None,
        # Words are filled up with <bos>; if it were named here, its place in front would raise warnings.
        "pad_token_id": decoder.vocabulary.special[0] if first is None else None,
        "layer_norm_epsilon": LAYER_NORM_EPSILON,
        "n_ctx": decoder.context,
        "n_embd": decoder.dim,
        "n_head": decoder.heads,
        "n_inner": decoder.inner,
        "n_layer": decoder.layers,
        "n_positions": decoder.context,
        "scale_attn_weights": True,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "use_cache": True,
        "vocab_size": len(decoder.vocabulary.tokens),
    }
