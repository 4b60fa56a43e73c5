"""A ResNet, from a configuration: convolutions and batch norm, channels last, with an evaluation between."""

import torch
import workload
from transformers import ResNetConfig, ResNetForImageClassification

workload.start()
model = ResNetForImageClassification(ResNetConfig(embedding_size=8, hidden_sizes=[16, 32], depths=[2, 2],
                                                  num_labels=5)).to(memory_format=torch.channels_last)


def loss_of(model, batch):
    return model(pixel_values=batch[0], labels=batch[1]).loss


workload.train(model, workload.image_batches(4), loss_of)
model.eval()
with torch.no_grad():
    for batch in workload.image_batches(2):
        with workload.bf16():
            workload.say_loss(loss_of(model, batch))
workload.train(model, workload.image_batches(2), loss_of)
workload.finish(model)
