"""Networks in standard formats: one stock GPT-2, written for Hugging Face, TransformerLens and ONNX."""
