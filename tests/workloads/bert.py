"""BERT for masked words, from a configuration, with its dropout on."""

import workload
from transformers import BertConfig, BertForMaskedLM

workload.start()
model = BertForMaskedLM(BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
                                   intermediate_size=64, max_position_embeddings=32))
workload.train(model, workload.token_batches(6), lambda model, ids: model(input_ids=ids, labels=ids).loss)
workload.finish(model)
