"""Data: corpora, tokenizers, tokenised stores and batches."""
