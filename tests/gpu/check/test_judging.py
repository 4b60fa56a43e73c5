"""Tests how gpu-check judges its measurements. They need no GPU and no PyTorch."""

import grouping
import records
import rows
import sameness
from running import Outcome


def span(name, begin, end, category="cpu_op", thread=1, **arguments):
    return {"cat": category, "name": name, "ts": begin, "dur": end - begin, "tid": thread, "args": arguments}


def launched(kernel, at, us, correlation, thread=1):
    """A call of CUDA's runtime, and what the device did for it, much later."""
    return [span("cudaLaunchKernel", at, at + 0.5, "cuda_runtime", thread, correlation=correlation),
            span(kernel, at + 1000, at + 1000 + us, "gpu_memcpy" if kernel.startswith("Memcpy") else "kernel", 7,
                 correlation=correlation)]


def report(by_kernel, lost=0, unplaced=0):
    return {"by_kernel": [{"kernel_name": name, "launches": n, "gpu_ns": 1} for name, n in by_kernel.items()],
            "gpu_lost": lost, "gpu_unplaced": unplaced}


def outcome(stdout, status=0):
    return Outcome(status, stdout, "", 0.0)


def taking(**ns):
    return {name: {"launches": 1, "ns": time} for name, time in ns.items()}


def test_a_kernel_belongs_to_the_outermost_operator():
    events = [span("aten::addmm", 6, 8), span("autograd::engine::evaluate_function: AddmmBackward0", 0, 20),
              span("aten::linear", 1, 10), span("aten::to", 2, 5), *launched("cast", 3, 1.5, 1),
              *launched("gemm", 7, 2, 2)]
    found = grouping.of_trace(events)
    assert found["operators"] == {"linear": {"launches": 2, "ns": 3500}}
    assert found["kernels"] == {"cast": {"launches": 1, "ns": 1500}, "gemm": {"launches": 1, "ns": 2000}}


def test_what_another_thread_does_meanwhile_is_no_reason():
    events = [span("aten::linear", 1, 10, thread=2), *launched("gemm", 3, 1, 1)]
    assert grouping.of_trace(events)["operators"] == {"(none)": {"launches": 1, "ns": 1000}}


def test_an_operator_that_is_over_has_launched_nothing():
    events = [span("aten::linear", 1, 10), *launched("gemm", 10.5, 1, 1), *launched("other", 0.2, 1, 2)]
    assert grouping.of_trace(events)["operators"] == {"(none)": {"launches": 2, "ns": 2000}}


def test_no_operator_is_made_up():
    events = [span("torch::autograd::AccumulateGrad", 0, 9), *launched("add", 3, 1, 1)]
    assert list(grouping.of_trace(events)["operators"]) == ["(none)"]


def test_the_device_side_of_a_span_is_no_kernel():
    assert grouping.of_trace([span("Optimizer.step#SGD.step", 0, 9, "gpu_user_annotation")]) == {"operators": {},
                                                                                                "kernels": {}}


def test_copies_of_all_directions_are_one_kernel_as_in_the_report():
    events = [*launched("Memcpy HtoD (Pageable -> Device)", 0, 1, 1),
              *launched("Memcpy DtoH (Device -> Pageable)", 2, 1, 2)]
    assert grouping.of_trace(events)["kernels"] == {"copy": {"launches": 2, "ns": 2000}}


def test_castscope_names_overloads_and_torch_profiler_does_not():
    row = {"operator": "sum.dim_IntList", "launches": 1, "gpu_ns": 5}
    assert list(grouping.of_report({"by_operator": [row], "by_kernel": []})["operators"]) == ["sum"]


def test_only_what_takes_its_part_of_the_time_is_compared():
    found = grouping.differences(taking(mm=1020, add=5), taking(mm=1000, add=1))
    assert [(row["name"], row["relative"]) for row in found] == [("mm", 0.02)]


def test_an_operator_that_one_of_them_lacks_is_wholly_off():
    found = grouping.differences(taking(mm=1000), taking(mm=1000, add=500))
    assert grouping.summed_up(found) == {"rows": 2, "median": 0.5, "worst": 1.0, "launches_differ": 1}


def test_medians_count_a_round_without_the_row_as_nothing():
    found = grouping.medians([{"operators": taking(mm=4)}, {"operators": {}}, {"operators": taking(mm=6)}], "operators")
    assert found["mm"]["ns"] == 4


def test_another_loss_is_told():
    row = sameness.judge("w", outcome("loss 0x1p+0\n"), outcome("loss 0x1p+0\n"), outcome("loss 0x1p+1\n"))
    assert row.verdict == rows.FAILED and "line 1: loss 0x1p+1" in row.measured


def test_another_exit_status_is_told():
    row = sameness.judge("w", outcome("a\n"), outcome("a\n"), outcome("a\n", status=1))
    assert row.verdict == rows.FAILED and "exit status 1" in row.measured


def test_a_workload_that_differs_by_itself_is_judged_by_its_first_loss():
    plain, again = outcome("loss 0x1p+0\nloss 0x1p+1\n"), outcome("loss 0x1p+0\nloss 0x1p+2\n")
    assert sameness.judge("w", plain, again, outcome("loss 0x1p+0\nloss 0x1p+3\n")).verdict == rows.FINE
    assert sameness.judge("w", plain, again, outcome("loss 0x1p+4\nloss 0x1p+1\n")).verdict == rows.FAILED


def test_a_kernel_that_was_not_told_of_is_missed():
    told = {"launched": 10, "seconds": 1.0, "kernel": "tiny"}
    assert records.judge("graph", told, report({"void tiny<4>()": 6, "tiny": 4})).verdict == rows.FINE
    assert records.judge("graph", told, report({"tiny": 9})).verdict == rows.MISSED
    assert records.judge("graph", told, report({"tiny": 10}, unplaced=1)).verdict == rows.MISSED


def test_a_figure_beside_its_target():
    assert rows.judged("cost", "mlp", 1.03, 1.03).verdict == rows.FINE
    assert rows.judged("cost", "mlp", 1.031, 1.03).verdict == rows.MISSED


def test_the_table_stays_one():
    lines = rows.table([rows.Row("part", "a|b", "two\nlines")]).splitlines()
    assert len(lines) == 3 and len(set(map(len, lines))) == 1 and "a/b" in lines[2]
