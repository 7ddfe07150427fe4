"""Networks in standard formats: one stock GPT-2, written for Hugging Face and ONNX."""
