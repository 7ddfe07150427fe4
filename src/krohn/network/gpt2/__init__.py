"""A network as a stock GPT-2: its tensors, vocabulary, files, words as tokens, and forward pass."""
