"""Data: corpora, tokenizers, tokenized stores and batches."""
