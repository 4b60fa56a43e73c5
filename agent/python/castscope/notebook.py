"""%%castscope in a notebook: runs a cell, and shows what it cast and what castscope finds in it.

Everything comes from the run that castscope records of the kernel: the numbers from the kernel's shared memory, places
and findings from the run file, once all that the cell has cast has arrived there.
"""

from __future__ import annotations

import ast
import json
import os
import pathlib
import subprocess
import sys
import time
from typing import Any

import castscope
from castscope.report_places import counted, place, sites_in_lines

_PATIENCE_S = 20.0
_MOST_SHOWN = 10
_COUNTS = ("casts", "cache_hits", "pass_throughs")
_BY_AUTOCAST = ("autocast", "script", "annotation")  # the causes that are counted
NOT_WATCHED = ("castscope: this kernel is not watched. `castscope notebook install` makes a kernel that is: choose "
               "that one for this notebook.")
NOT_ATTACHED = ("castscope: nothing was seen. PyTorch is not imported in this kernel, or there is no agent for it: "
                "`castscope doctor -- PYTHON` tells which.")


def load(shell: Any) -> None:
    """What `%load_ext castscope` does."""
    def cell_magic(line: str, cell: str) -> Any:
        return castscope_cell(shell, line, cell)
    shell.register_magic_function(cell_magic, "cell", "castscope")


def castscope_cell(shell: Any, line: str, cell: str) -> Any:
    """Runs the cell as IPython would, and tells of it below what it prints, also where it fails."""
    if line.strip():
        raise ValueError(f"%%castscope takes no arguments, and was given {line.strip()!r}")
    recorder, number = Recorder.of_environment(), _number_of_this_cell(shell)
    before = recorder.counts() if recorder else {}
    try:
        return _run(shell, cell, number)
    finally:
        try:
            print(told(recorder, before, f"In [{number}]"))
        except Exception as error:
            print(f"castscope: the cell was run, but nothing can be told of it: {error}", file=sys.stderr)


def _number_of_this_cell(shell: Any) -> int:
    """Whether IPython counts a cell before it runs it or afterwards depends on its version; it knows the number of the
    code that calls the magic."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        label, name = shell.compile.format_code_name(frame.f_code.co_filename) or ("", "")
        if label == "Cell" and name.startswith("In["):
            return int(name[3:-1])
    return int(shell.execution_count)


def _run(shell: Any, cell: str, number: int) -> Any:
    """The code has the number of its cell, and its lines are counted from the line of the magic."""
    code = shell.transform_cell("\n" + cell)
    name = shell.compile.cache(code, number, raw_code=cell)
    tree = shell.transform_ast(shell.compile.ast_parse(code, name))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), shell.user_global_ns, shell.user_ns)  # noqa: S102
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), shell.user_global_ns, shell.user_ns)


class Recorder:
    """The castscope that records this process, asked by the program itself."""

    def __init__(self, program: str, run_directory: str) -> None:
        self.program, self.run_directory = program, pathlib.Path(run_directory)

    @classmethod
    def of_environment(cls) -> Recorder | None:
        joining = castscope.variables()
        if "CASTSCOPE_BIN" not in joining or "CASTSCOPE_RUN" not in joining:
            return None
        return cls(joining["CASTSCOPE_BIN"], joining["CASTSCOPE_RUN"])

    def _ask(self, *words: str) -> Any:
        """Without castscope's variables: the question is no part of the job."""
        environment = {name: value for name, value in os.environ.items()
                       if name != "LD_PRELOAD" and not name.startswith("CASTSCOPE_")}
        done = subprocess.run([self.program, *words], capture_output=True, text=True, env=environment, check=False)
        if not done.stdout:
            raise RuntimeError(done.stderr.strip().removeprefix("castscope: ") or f"castscope {words[0]} says nothing")
        return json.loads(done.stdout)

    def counts(self) -> dict[str, int]:
        if not self.run_directory.is_dir():  # a bare kernel makes it when PyTorch is imported
            return {}
        answer = self._ask("counts", str(self.run_directory), str(os.getpid()))
        return {key: int(answer[key]) for key in (*_COUNTS, "bytes")}

    def run_file(self) -> str:
        record = json.loads((self.run_directory / "run.json").read_text())
        return os.path.join(record["cwd"], record["stem"]) + ".castscope"

    def report(self, counts: dict[str, int]) -> dict[str, Any]:
        """The report of the run so far, which has at least these counts of this process, and the events up to there,
        which come within a second: findings rest on them."""
        file, pause = self.run_file(), 0.05
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            report: dict[str, Any] = self._ask("report", file)
            arrived = [process for process in report["processes"] if process["pid"] == os.getpid()]
            if _has_all(arrived, counts):
                return report
            if time.monotonic() > deadline:
                raise RuntimeError(f"not all of it has arrived in {file} after {_PATIENCE_S:.0f} s")
            time.sleep(pause)
            pause = min(2 * pause, 0.5)


def _has_all(arrived: list[dict[str, Any]], counts: dict[str, int]) -> bool:
    lanes = [lane for process in arrived for lane in process["lanes"]]
    return (all(sum(process[key] for process in arrived) >= counts[key] for key in _COUNTS)
            and all(lane["events_received"] + lane["events_dropped"] >= lane["events_made"] for lane in lanes))


_CELLS_CODE = "the cell's own code: in another thread, or in backward"


def told(recorder: Recorder | None, before: dict[str, int], cell: str) -> str:
    """What is printed of a cell: its counts, the places that cast, the findings."""
    if recorder is None:
        return NOT_WATCHED
    if not castscope.attached():
        return NOT_ATTACHED
    after = recorder.counts()
    made = {key: value - before.get(key, 0) for key, value in after.items()}
    head = (f"castscope: {cell}: {counted(made['casts'], 'cast')}, {counted(made['cache_hits'], 'cache hit')}, "
            f"{counted(made['pass_throughs'], 'pass-through')}; {counted(made['bytes'], 'byte')} copied")
    if not any(made[key] for key in _COUNTS):
        return head
    report = recorder.report(after)
    sites = sites_of(report, cell)
    listed = sites_in_lines(report, sites, made["casts"], _MOST_SHOWN, _CELLS_CODE)
    return "\n".join([head, *listed, *_findings_in_words(report, sites, cell),
                      f"  the run so far: {recorder.run_file()}"])


def _frames_of(report: dict[str, Any], site: dict[str, Any]) -> list[dict[str, Any]]:
    if "stack_index" not in site:
        return []
    return [report["frames"][index] for index in report["stacks"][site["stack_index"]]["frame_indexes"]]


def sites_of(report: dict[str, Any], cell: str) -> list[dict[str, Any]]:
    """The places that were called from the cell, and those of backward that belong to them, most casts first."""
    casting = [site for site in report["sites"] if site["casts"] and site["cause"] in _BY_AUTOCAST]
    inside = [site for site in casting if any(frame["file"] == cell for frame in _frames_of(report, site))]
    forward = {site["site"] for site in inside}
    inside += [site for site in casting if site.get("forward_site") in forward and site["site"] not in forward]
    return sorted(inside, key=lambda site: -int(site["casts"]))


def _findings_in_words(report: dict[str, Any], sites: list[dict[str, Any]], cell: str) -> list[str]:
    """A finding is the cell's where it is in the cell, or in code that the cell called when it cast."""
    called = {(frame["file"], frame["line"]) for site in sites for frame in _frames_of(report, site)}

    def belongs(location: dict[str, Any]) -> bool:
        return location["file"] == cell or (location["file"], location["line"]) in called

    findings = [finding for finding in report["findings"]
                if any(belongs(one) for one in (finding["location"], *finding["related"]))]
    if not findings:
        return ["  no findings"]
    return [f"  {finding['severity']} {finding['rule']} {place(report, finding['location'])}: {finding['title']}\n"
            f"      {finding['fix']}" for finding in findings]
