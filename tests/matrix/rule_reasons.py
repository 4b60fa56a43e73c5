"""What of docs/rules.md is found beside another PyTorch, and why the rest is not: written for docs/compatibility.md."""

import json
import pathlib

KEPT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "compatibility-rules.json"

NO_SUCH_CODE = "this PyTorch does not have what the code uses, so that it ends with an error"
# For each minor version: a reason, and what it is true of, named as tests/matrix/rules.py does.
REASONS = {
    "2.4": {
        NO_SUCH_CODE: [
            "fsdp-autocast-conflict", "fsdp-casts-buffer", "cache:s39 weight-cast-repeatedly",
            "coverage:c46b_others region-wrong-device", "coverage:s08_of_another_device region-wrong-device",
            "coverage:s13 region-wrong-device", "errors:c40 op-not-listed"],
        "its `fully_shard` asks for a GPU": [
            "distributed:c57 fsdp-autocast-conflict", "distributed:c57_fp16 fsdp-autocast-conflict",
            "distributed:c57_layer_by_layer fsdp-autocast-conflict", "distributed:c58 fsdp-casts-buffer",
            "distributed:c58_a_buffer fsdp-casts-buffer"],
        "the fixed example, and a control, use what this PyTorch does not have": [
            "export-drops-region", "export-dtype-differs", "op-not-listed", "errors:s38n_registered op-not-listed"],
        "it caches copies that were made without a graph, too: the weight is cast once, and who needs a copy with a "
        "graph is served a wrong one": [
            "cache-lost-grad", "cache:c07 weight-cast-repeatedly", "cache:c07_at_two_lines weight-cast-repeatedly",
            "cache_stale:c01n_inference_mode_then_grad cache-lost-grad",
            "cache_stale:c01n_no_grad_then_grad cache-lost-grad"],
        "its fast path of an encoder fails within a region": [
            "cache:c07_fast_path weight-cast-repeatedly", "cache:c07_fast_path op-not-listed"],
        "its `torch.autocast` overwrites the argument `dtype` before castscope can look: nobody knows whether one was "
        "given": [
            "policy-default-dtype", "policy:s45 policy-default-dtype",
            "policy:s45_default_set_anew policy-default-dtype"],
        "it does not say which compiled graph it runs, so that castscope counts none, and says so in a notice": [
            "compile-backward-autocast", "compile-cache-bypassed", "compile-dtype-differs", "compile-skips-rounding",
            "compile-state-unguarded", "modes_compile:c26 compile-cache-bypassed",
            "modes_compile:chain compile-skips-rounding", "modes_compile:default_dtype compile-state-unguarded",
            "modes_compile:disabled_inside compile-backward-autocast",
            "modes_compile:disabled_inside_too compile-backward-autocast",
            "modes_compile:x17b_an_island_in_float32 compile-cache-bypassed"],
    },
    "2.15": {
        "its compile cache takes graphs that open a region: there is nothing to find": [
            "compile-cache-bypassed", "modes_compile:c26 compile-cache-bypassed",
            "modes_compile:x17b_an_island_in_float32 compile-cache-bypassed"],
        "it calls the Python code of custom operators past its dispatcher, where its own profiler does not see them "
        "either": [
            "op-not-listed", "policy-protected-arg-cast", "errors:c42_an_attention_of_a_library op-not-listed",
            "errors:s38 op-not-listed", "errors:s38_raises op-not-listed", "policy:s42 op-not-listed",
            "policy:s42 policy-protected-arg-cast", "policy:s42_converted_back policy-protected-arg-cast"],
    },
}
UNKNOWN = "**nobody knows why**"

TEXT = """\
## The rules

`scripts/matrix --rules` runs the examples of [rules.md](rules.md) and the cases that the tests have marked, and says
what is found otherwise than beside the PyTorch of the tests. In all other cases and controls the findings are the same.

{table}

{reasons}"""


def reason_of(version, key):
    for reason, keys in REASONS.get(".".join(version.split(".")[:2]), {}).items():
        if key in keys:
            return reason
    return UNKNOWN


def rows():
    return json.loads(KEPT.read_text()) if KEPT.exists() else []


def keep(row):
    kept = [one for one in rows() if one["torch"] != row["torch"]]
    KEPT.write_text("[\n" + ",\n".join(json.dumps(one) for one in [*kept, row]) + "\n]\n")


def otherwise(row):
    """Returns what is found otherwise, by its reason."""
    by_reason = {}
    for key in [*row["examples"], *row["cases_missing"], *row["cases_new"]]:
        by_reason.setdefault(reason_of(row["torch"], key), []).append(key)
    return by_reason


def document():
    table = ["| PyTorch | examples found | not as in the tests | marked cases found | missing | new |",
             "|---|---|---|---|---|---|"]
    reasons = []
    for row in rows():
        counts = [row["examples_found"], len(row["examples"]), row["cases_found"], len(row["cases_missing"]),
                  len(row["cases_new"])]
        table.append(f"| {row['torch']} | " + " | ".join(map(str, counts)) + " |")
        reasons.append(f"Beside PyTorch {row['torch']}:\n")
        reasons += [f"- {reason}: {', '.join(f'`{key}`' for key in keys)}" for reason, keys in otherwise(row).items()]
        reasons.append("")
    return TEXT.format(table="\n".join(table), reasons="\n".join(reasons)) if table[2:] else ""
