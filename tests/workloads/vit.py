"""A vision transformer, from a configuration."""

import workload
from transformers import ViTConfig, ViTForImageClassification

workload.start()
model = ViTForImageClassification(ViTConfig(hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
                                            intermediate_size=64, image_size=32, patch_size=8, num_labels=5))
workload.train(model, workload.image_batches(6),
               lambda model, batch: model(pixel_values=batch[0], labels=batch[1]).loss)
workload.finish(model)
