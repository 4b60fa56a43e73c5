"""Calls every operator of autocast's lists in every way, and writes down what came of it.

    every_operator.py OUTPUT.json [--keys cpu,cuda,xpu,mps] [--short] [--caches FOLDER] [--operators mm,linear]

Two runs whose files are equal had the same dtypes and, on the CPU, the same bits. --short is for continuous
integration. It leaves out float16 regions, all but one variant of aot_eager and make_fx (so compiled gradients), and of
Inductor, beside those, all but a dozen operators.
"""

import argparse
import json
import logging
import os
import pathlib
import sys
import tempfile
import time
import warnings

LOWS = ("bf16", "fp16")
DTYPES = ("float32", "first low", "last low", "all low", "float64")
ALL = (*DTYPES, "gradients", "parameters")
# mode → variants
CPU = {"dispatcher": ALL, "python": ALL, "inference": ("float32", "last low"), "outside": ALL,
       "disabled": ("float32", "gradients"), "script": ("float32", "last low", "all low", "gradients"),
       "trace": ("float32", "last low", "all low", "gradients"), "vmap": ("float32", "all low"),
       "forward AD": ("float32", "all low"), "checkpoint": ("gradients", "parameters")}
FAKE = dict.fromkeys(("dispatcher", "python", "make_fx", "outside", "make_fx outside"), (*DTYPES, "parameters"))
# backend → {variant: is the region in the graph?}
COMPILED = {"aot_eager": {"float32": True, "last low": True, "all low": False, "gradients": False},
            "inductor": {"last low": True, "gradients": False}}
SHORT_COMPILED = {"aot_eager": {"last low": False}, "inductor": {"last low": False}}
SHORT_INDUCTOR = {"aten::avg_pool3d", "aten::bmm", "aten::cat", "aten::conv2d", "aten::fft_fft", "aten::linalg_inv",
                  "aten::linear", "aten::mm", "aten::mse_loss", "aten::prod", "aten::scaled_dot_product_attention",
                  "aten::stack"}
# Compiling takes long, and so does searching for the operator that cannot be compiled: these fail, and are tried alone.
ALONE = {"aten::_grid_sampler_2d_cpu_fallback", "aten::ctc_loss.IntList", "aten::ctc_loss.Tensor", "aten::linalg_lstsq",
         "aten::mkldnn_rnn_layer"}
TOGETHER = {"aot_eager": 16, "inductor": 30}


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--keys", default="cpu,cuda,xpu,mps", type=lambda text: text.split(","))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--caches", help="Inductor's, to be shared with another run; else a fresh folder")
    parser.add_argument("--operators", default="", help="only these, with their overloads as the dispatcher has them")
    return parser.parse_args()


class Results:
    """{operator: {mode: {"variant, dtype of the region": what it said}}}"""

    def __init__(self, operators):
        self.of = {operator: {} for operator in operators}

    def add(self, operator, mode, variant, low, text):
        self.of[operator].setdefault(mode, {})[f"{variant}, {low}"] = text


def took(what, since):
    print(f"{what}: {time.monotonic() - since:.1f} s", file=sys.stderr, flush=True)


def eagerly(key, calls, results, *, short):
    import fake_modes
    import operator_modes
    import operator_variants

    for mode, variants in (CPU if key == "cpu" else FAKE).items():
        since = time.monotonic()
        if short and mode.startswith("make_fx"):
            variants = ("last low",)
        for low in LOWS[:1] if short else LOWS:
            for call in calls:
                for variant in variants:
                    item = operator_variants.item(call, variant, low)
                    text = (operator_modes.made(mode, item, low) if key == "cpu" else
                            fake_modes.made(mode, item, low, key))
                    results.add(call.operator, mode, variant, low, text)
        took(f"{key}, {mode}", since)


def batches(calls, size):
    alone = [[call] for call in calls if call.operator in ALONE]
    calls = [call for call in calls if call.operator not in ALONE]
    return [calls[start:start + size] for start in range(0, len(calls), size)] + alone


def compiled(calls, results, *, short):
    import operator_modes
    import operator_variants

    low = LOWS[0]
    for backend, variants in (SHORT_COMPILED if short else COMPILED).items():
        since = time.monotonic()
        if short and backend == "inductor":
            calls = [call for call in calls if call.operator in SHORT_INDUCTOR]
        for variant, inside in variants.items():
            for batch in batches(calls, TOGETHER[backend]):
                items = [operator_variants.item(call, variant, low) for call in batch]
                for call, text in zip(batch, operator_modes.compiled(backend, items, low, inside=inside), strict=True):
                    results.add(call.operator, backend, variant, low, text)
        took(f"cpu, {backend}", since)


def main():
    options = parse()
    fresh = tempfile.TemporaryDirectory()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = options.caches or fresh.name
    import torch
    from generated_calls import call_of, operators

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)  # and fills what is empty
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch._C._functorch._set_vmap_fallback_warning_enabled(False)
    chosen = {f"aten::{name}" for name in options.operators.split(",") if name}
    written = {"torch": torch.__version__, "short": options.short, "keys": {}}
    for key in options.keys:
        listed = [one for one in operators(key) if not chosen or one in chosen]
        calls = [call_of(one) for one in listed]
        results = Results(listed)
        eagerly(key, calls, results, short=options.short)
        if key == "cpu":
            compiled(calls, results, short=options.short)
        written["keys"][key] = results.of
    options.output.write_text(json.dumps(written, indent=1))


if __name__ == "__main__":
    main()
