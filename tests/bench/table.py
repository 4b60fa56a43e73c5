"""Makes the tables of docs/performance.md of what measure.py found, each figure beside its target."""

import dataclasses

# Parts of the page, and the sections that they show. A part of which nothing was measured stays as it is.
PARTS = {"observing": ("steps", "armed", "calls", "ring", "pipeline", "sizes", "growth"), "modes": ("modes",),
         "enforcing": ("operators", "gains")}


@dataclasses.dataclass
class Row:
    what: str
    measured: float
    unit: str
    target: float
    at_most: bool = True
    digits: int = 1
    note: str = ""

    def met(self):
        return self.measured <= self.target if self.at_most else self.measured >= self.target

    def text(self):
        sign = "≤" if self.at_most else "≥"
        unit = f" {self.unit}" if self.unit else ""
        return (f"| {self.what} | {self.measured:.{self.digits}f}{unit}{self.note} | {sign} {self.target:g}{unit} | "
                f"{'met' if self.met() else '**missed**'} |")


def interval_of(ratio):
    return f" (median of {ratio['pairs']} pairs, 95 %: {ratio['ratio_low']:.3f}–{ratio['ratio_high']:.3f})"


def target_rows(found):
    rows = []
    if calls := found.get("calls"):
        added = calls["added"]
        for depth, most in ((5, 30), (20, 45), (50, 110)):
            rows.append(Row(f"traced thread, a cache hit, Python depth {depth}", added[f"hit_{depth}"], "ns", most,
                            note=f" ({added[f'hit3_{depth}']:.1f} where an operator casts three)"))
        rows.append(Row("traced thread, a pass-through", added["pass_20"], "ns", 5))
        worst = max(added[f"first_{depth}"] for depth in (5, 20, 50))
        rows.append(Row("first sight of a site, worst of depths 5, 20, 50", worst / 1000, "µs", 10))
    if operators := found.get("operators"):
        rows.append(Row("enforcing torch-cpu, per call of cached_cast (linear: two hits and a pass-through)",
                        operators["address"]["linear"] / 3, "ns", 5))
        for op, tensors in (("linear", 3), ("mm", 2), ("cat", 2)):
            rows.append(Row(f"a kernel of castscope's instead of PyTorch's: {op}, {tensors} tensors",
                            operators["kernels"][op], "ns", 100 + 150 * tensors, digits=0))
    if steps := found.get("steps"):
        for size, most in (("tiny", 1.02), ("mid", 1.005)):
            mine = steps[size]["castscope"]
            rows.append(Row(f"whole step, {size} transformer, CPU time of the thread", mine["ratio"], "", most,
                            digits=4, note=interval_of(mine)))
        mine = steps["tiny"]["castscope"]
        rows.append(Row("`import torch` takes longer by", mine["more_import_ms"], "ms", 150, digits=0))
        rows.append(Row("more memory in the job at its peak", mine["more_peak_mb"], "MB", 64))
    for way, what in (("armed", "armed, nobody attached"), ("detached", "after a detach")):
        if mine := found.get("armed", {}).get(way):
            rows.append(Row(f"tiny step, {what}, instructions of the thread", mine["ratio"], "", 1.002, digits=5,
                            note=f" (CPU time {mine['time_ratio']:.4f}; median of {mine['pairs']} pairs, 95 %: "
                                 f"{mine['ratio_low']:.3f}–{mine['ratio_high']:.3f})"))
    if new := found.get("new-code"):
        rows.append(Row(f"a job of {new['seconds']:.0f} s with new code in each step, against `--deep never`",
                        new["ratio"], "", 1.05, digits=4,
                        note=interval_of(new) + f", new code left out {new['left_out']:,.0f} times"))
    if ring := found.get("ring"):
        rows.append(Row("ring, one writer, nothing lost", ring["events_per_s"] / 1e6, "M events/s", 10, at_most=False))
    if pipeline := found.get("pipeline"):
        for mode, what in (("apart", "collector alone on its core"), ("one", "relay on the same core")):
            rows.append(Row(f"relay → gRPC → checks → store → rules, {what}",
                            pipeline[f"{mode}-window"]["events_per_cpu_s"] / 1e6, "M events/s", 1.5, at_most=False,
                            digits=2,
                            note=f" ({pipeline[f'{mode}-all']['events_per_cpu_s'] / 1e6:.2f} with `--keep all`)"))
    if sizes := found.get("sizes"):
        rows.append(Row("an event on the wire", sizes["wire_bytes_per_event"], "bytes", 16))
        rows.append(Row("an event at rest, `--keep all`", sizes["rest_bytes_per_event"], "bytes", 6))
    if growth := found.get("growth"):
        rows.append(Row("run file of a steady loop grows by, an hour", growth["mb_per_hour"], "MB", 1, digits=2))
    return rows


def observers(found):
    lines = ["| step | nothing | castscope | deep step | torch.profiler | torch.profiler, stacks | dispatch mode |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for size, rows in found["steps"].items():
        cells = [f"{rows['nothing']['cpu_ms']:.2f} ms"]
        cells += [f"{rows[name]['ratio']:.3f}" for name in ("castscope", "castscope-deep", "profiler",
                                                            "profiler-stacks", "dispatch-mode")]
        lines.append(f"| {size} | " + " | ".join(cells) + " |")
    return lines


def of_modes(found):
    lines = ["| way | nothing | castscope | | torch.profiler | torch.profiler, stacks |",
             "| --- | --- | --- | --- | --- | --- |"]
    for mode, rows in found["modes"].items():
        mine = rows["castscope"]
        lines.append(f"| {mode} | {rows['nothing']['cpu_ms']:.2f} ms | {mine['ratio']:.3f} | "
                     f"{mine['ratio_low']:.3f}–{mine['ratio_high']:.3f} | {rows['profiler']['ratio']:.3f} | "
                     f"{rows['profiler-stacks']['ratio']:.3f} |")
    return lines


GAINS = {  # job → at most
    "adapters, batch 1": 0.54, "adapters, batch 8": 0.54, "adapters, batch 1, inference_mode": 0.46,
    "BERT 1x16, no_grad": 0.8, "BERT 1x16, inference_mode": 0.8, "GPT-2 1x16, inference_mode": 0.8,
    "GPT-2 4x64, inference_mode": 0.8, "GPT-2 1x32, one backward a step": 1.02,
    "GPT-2 1x32, four backwards a step": 1.02, "checkpointed layers, one backward a step": 1.02,
    "checkpointed layers, four backwards a step": 0.96,
}


def gains(found):
    lines = ["| job | at most | PyTorch's autocast | enforced | | | nothing to cast | steady heap | enforced | "
             "nothing to cast | kept |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for job, heaps in found["gains"].items():
        most, default, steady = GAINS[job], heaps["default"], heaps["steady"]
        lines.append(f"| {job} | {most:g} | {default['stock_ms']:.1f} ms | {default['ratio']:.2f} | "
                     f"{default['low']:.2f}–{default['high']:.2f} | "
                     f"{'met' if default['ratio'] <= most else '**missed**'} | {least(default)} | "
                     f"{steady['stock_ms']:.1f} ms | {steady['ratio']:.2f} | {least(steady)} | "
                     f"{default['kept_mb']:.0f} MB |")
    return lines


def least(row):
    return f"{row['least']:.2f}" if row["least"] else ""


def render(found, machine, command):
    """Each part that something was measured of."""
    parts = {}
    for part, sections in PARTS.items():
        of_part = {name: found[name] for name in sections if name in found}
        if of_part:
            parts[part] = "\n".join([f"Made by `{command}` on {machine}.", "", *tables(of_part)])
    return parts


def tables(found):
    lines = []
    if rows := target_rows(found):
        lines += ["| what | measured | target | |", "| --- | --- | --- | --- |", *(row.text() for row in rows)]
    if "steps" in found:
        lines += ["", "CPU time of the training thread per step, against the same step with no observer, in the same "
                  "round:", "", *observers(found)]
    if "modes" in found:
        lines += ["", "CPU time of the training thread per step of the tiny transformer. The model is run in the form "
                  "that torch.jit.script, torch.jit.trace and torch.compile (Inductor) make of it. *Nothing* is the "
                  "time with no observer. The other columns are ratios to it; castscope's has its range beside it.", "",
                  *of_modes(found)]
    if "gains" in found:
        lines += ["", "CPU time of a whole step under `castscope run --enforce torch-cpu`, recording included, as a "
                  "ratio to the same step without castscope (*PyTorch's autocast*). All run in one thread, and the "
                  "processes take turns of six steps. The first columns are with glibc's heap as it is. The columns "
                  "from *steady heap* on (PyTorch's autocast again) are with a heap from which glibc gives no "
                  "memory back to the system. *At most* is the target, and the range after *enforced* is that of the "
                  "rounds. *Nothing to cast* is the ratio without castscope, with the weights that nobody trains "
                  "stored in bfloat16 from the start. *Kept* is the memory of the copies that castscope keeps.", "",
                  *gains(found)]
    return lines


def put_into(text, parts):
    """`text` with what stands between the marks of these parts replaced."""
    for part, table in parts.items():
        begin, end = (f"<!-- made by scripts/bench, {part}: {mark} -->" for mark in ("begin", "end"))
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end, 1)[1]}"
    return text
