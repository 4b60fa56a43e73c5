"""An operator of our own in C++ whose autocast kernel calls cached_cast from its own library (own_operator.cc)."""

import pathlib
import sys

import torch
import workload

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import native

torch.ops.load_library(native.torch_library(pathlib.Path(__file__).with_suffix(".cc")))
workload.start()
model = workload.small_net(classes=32)
rois = torch.rand(4, 32, generator=torch.Generator().manual_seed(5))


def loss_of(model, batch):
    features = model(batch[0])
    pooled = torch.ops.castscope_tests.pool_to_float(features, rois)
    low = torch.ops.castscope_tests.mix(batch[0], rois, model[0].weight)
    return pooled.float().square().mean() + low.float().square().mean()


workload.train(model, workload.small_batches(5), loss_of)
workload.finish(model)
