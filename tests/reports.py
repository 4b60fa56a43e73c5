"""Reads reports as people would: what sites and regions refer to by place stands in them in words, and files of the
job's own have whole paths."""

import json
import pathlib

DEFAULTS = {"stack_index": None, "module_index": None, "call_site_index": None, "compiled": False, "looked_at": None,
            "region": None, "forward_site": None, "cache_hits": 0, "kept": 0, "why_not_cached": None, "bytes": 0,
            "cpu_ns": 0, "first_cpu_ns": 0, "gpu_ns": None}
NOWHERE = {"file": None, "line": None, "function": None}
NO_MODULE = {"module": None, "module_type": None, "root_module_type": None, "model": None}
NO_CALL_SITE = {"operator": None, "argument": None}


def place_in_words(report, index):
    """The location, and the stack as texts, "file:line function", innermost first."""
    if index is None:
        return {"location": NOWHERE, "stack": [], "stack_truncated": False}
    stack, frames = report["stacks"][index], report["frames"]
    texts = ["{file}:{line} {function}".format(**frames[frame]) for frame in stack["frame_indexes"]]
    return {"location": frames[stack["frame_index"]], "stack": texts, "stack_truncated": stack["stack_truncated"]}


def site_in_words(report, site):
    site = DEFAULTS | site
    module, call_site = site["module_index"], site["call_site_index"]
    site |= NO_MODULE if module is None else report["modules"][module]
    site |= NO_CALL_SITE if call_site is None else report["call_sites"][call_site]
    if "by_process" not in site:
        counts = {key: site[key] for key in ("casts", "cache_hits", "bytes", "cpu_ns")}
        site["by_process"] = [{"process": process["process"], **counts} for process in report["processes"]]
    return site | place_in_words(report, site["stack_index"])


def layers_in_words(report):
    """One row for each module."""
    for layer in report["layers"]:
        modules = [report["modules"][index] for index in layer["module_indexes"]] or [NO_MODULE]
        for module in modules:
            yield layer | module | {"calls": layer["calls"] // len(modules)}


def with_whole_paths(node, root):
    if isinstance(node, list):
        return [with_whole_paths(one, root) for one in node]
    if not isinstance(node, dict):
        return node
    node = {key: with_whole_paths(value, root) for key, value in node.items()}
    file = node.get("file")
    if isinstance(file, str) and root and not file.startswith(("/", "<", "site-packages/", "dist-packages/")):
        node["file"] = f"{root}/{file}"
    return node


def in_words(report):
    report = with_whole_paths(report, report["root"])
    sites = [site_in_words(report, site) for site in report["sites"]]
    regions = [region | place_in_words(report, region["stack_index"]) for region in report["regions"]]
    return report | {"sites": sites, "regions": regions, "layers": list(layers_in_words(report))}


def read_report(path):
    return in_words(json.loads(pathlib.Path(path).read_text()))


def casts_by_cause(report):
    """Casts of each cause but autocast."""
    return {row["cause"]: row["casts"] for row in report["totals"]["by_cause"] if row["cause"] != "autocast"}
