"""Whether this tree's program does what that of COMMIT does.

COMMIT is built in a work tree of its own below build/against. Its program records ten jobs. Then both programs read
what was recorded, in every form, and their answers must be the same bytes; so must what they make of the jobs'
shared-memory segments. Last, this tree's program records the jobs too: `castscope diff` must find no difference, and
the run files must hold the same events and definitions.

Exit status: 0, or 1 where anything differs that tests/same_reports/expected.json does not name.
"""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import commits  # noqa: E402
import runs  # noqa: E402
import same_reading  # noqa: E402
from same_answers import Answer, Difference, ask, compare, compare_recordings, compare_streams, say  # noqa: E402
from same_contents import UNPACKED, contents_of  # noqa: E402
from same_jobs import JOBS, OWN  # noqa: E402
from same_recording import STEADY, Program, events_in, record  # noqa: E402
from same_result import Result, read_expected  # noqa: E402
from same_segments import compare_segments  # noqa: E402
from same_viewer import Viewer, questions  # noqa: E402
from same_wire import compare_wire  # noqa: E402

TARGETS = ("castscope_in_job", "lanes_dump")
RECORDINGS = 3  # by either program, where the first one differs, to see whether a job differs from itself
DIFF_LINES = 40
TOOK = re.compile(rb"compared in \d+ s")

EXAMPLES = """examples:
  scripts/same-reports c9bb6f7                       everything (some ten minutes on two cores)
  scripts/same-reports main --skip-large             without the run of ten million events
  scripts/same-reports main --only training,scaler   some of the jobs
  scripts/same-reports main --keep build/same        keeps what was recorded, and reads it again the next time
"""


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/same-reports", description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", metavar="COMMIT", help="the commit whose program this tree's is held against")
    parser.add_argument("--only", metavar="NAMES", help="these jobs: " + ", ".join(job.name for job in JOBS))
    parser.add_argument("--skip-large", action="store_true", help="leave the run of ten million events out")
    parser.add_argument("--keep", metavar="FOLDER", type=pathlib.Path,
                        help="keep all that was recorded there; recordings of that commit found there are used again")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else [job.name for job in JOBS]
    for name in names:
        if name not in {job.name for job in JOBS}:
            parser.error(f"there is no job {name}; there are {', '.join(job.name for job in JOBS)}")
    given.jobs = [job for job in JOBS if job.name in names and not (given.skip_large and job.large)]
    return given


def program_of(name, castscope):
    """lanes_dump lies where its folder's CMakeLists.txt has it, which may be another one in the other tree."""
    build = castscope.parent
    found = [path for path in build.glob("**/lanes_dump") if path.is_file() and build / "against" not in path.parents]
    if not found:
        raise SystemExit(f"scripts/same-reports: {build} has no lanes_dump")
    return Program(name, castscope, found[0])


class Comparison:
    def __init__(self, commit, other, this, folder, result):
        self.commit, self.other, self.this, self.folder, self.result = commit, other, this, folder, result

    def recording(self, job, which="other"):
        return self.folder / which / job.name

    # --- recording ----------------------------------------------------------------------------------------------------

    def record(self, job):
        """With that commit's program, unless it is there from an earlier call, of the same job."""
        folder, source = self.recording(job), hashlib.sha256(job.script.read_bytes()).hexdigest()
        mark = f"{self.commit} {job} {source}"
        if (folder / "mark").is_file() and (folder / "mark").read_text() == mark:
            say(f"{job.name}: recorded before, {job.what}")
        else:
            say(f"{job.name}: recording {job.what}")
            answer = record(self.other, job, folder)
            (folder / "stdout").write_bytes(answer.stdout)
            (folder / "mark").write_text(mark)
        kept, dropped = events_in(folder)
        line = f"{job.name}: {kept:,} events in the run file, {dropped:,} dropped"
        say(line)
        if job.large:
            self.result.note(line)

    # --- reading ------------------------------------------------------------------------------------------------------

    def read(self, job, neighbour):
        folder, began = self.recording(job), time.monotonic()
        program, before = self.other.castscope, self.result.compared
        if job.large:
            for arguments in same_reading.of_large_run(program):
                self.read_stream(job, arguments, folder)
        else:
            shutil.copy(self.recording(neighbour) / "run.castscope", folder / "neighbour.castscope")
            self.questions(job.name, same_reading.of_run(program, "neighbour.castscope"), folder)
            for model in sorted(folder.glob("*.pt2")):
                self.questions(job.name, same_reading.of_exported(model.name), folder)
            self.view(job, folder)
        say(f"{job.name}: {self.result.compared - before} answers read, {time.monotonic() - began:.0f} s")

    def questions(self, file, all_arguments, folder, environment=None, less=()):
        for arguments in all_arguments:
            def answer(program):
                return ask(program.castscope, arguments, folder, environment).less(less)  # noqa: B023 - at once

            compared = compare(answer(self.other), answer(self.this), lambda: [answer(self.other)])
            self.result.add(file, same_reading.words(arguments), *compared)

    def read_stream(self, job, arguments, folder):
        began, command = time.monotonic(), same_reading.words(arguments)
        differences, by_nature, size = compare_streams(self.other.castscope, self.this.castscope, arguments, folder)
        if differences and compare_streams(self.other.castscope, self.other.castscope, arguments, folder)[0]:
            differences, by_nature = [], ["all of it"]
        self.result.add(job.name, command, differences, by_nature)
        say(f"{job.name}: {command}: {size / 1e6:,.0f} MB, {time.monotonic() - began:.0f} s")

    def view(self, job, folder):
        names = ["run.castscope", "neighbour.castscope"]
        with Viewer(self.other.castscope, names, folder) as was, Viewer(self.this.castscope, names, folder) as now:
            now.loaded("run"), now.loaded("neighbour")
            for path in questions(was, "run", "neighbour", same_reading.forms(self.other.castscope, "report")):
                again = lambda: [was.ask(path)]  # noqa: B023, E731 - at once
                self.result.add(job.name, f"view: GET {path}", *compare(was.ask(path), now.ask(path), again))

    def read_damaged(self, job):
        """A run file that was cut short, and one with a number changed."""
        folder = self.folder / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        whole = (self.recording(job) / "run.castscope").read_bytes()
        changed = bytearray(whole)
        changed[len(whole) // 2:len(whole) // 2 + 64] = bytes(64)
        for name, content in (("short.castscope", whole[:len(whole) * 6 // 10]), ("changed.castscope", bytes(changed)),
                              ("begin.castscope", whole[:5000]), ("none.castscope", b"no run file")):
            (folder / name).write_bytes(content)
            self.questions("damaged", same_reading.of_damaged(self.other.castscope, name), folder)

    def ask_without_a_run(self):
        folder = self.folder / "words"
        folder.mkdir(exist_ok=True)
        self.questions("words", same_reading.without_a_run(self.other.castscope), folder)
        builds = [re.compile(re.escape(bytes(program.castscope.parent))) for program in (self.other, self.this)]
        self.questions("words", same_reading.of_this_machine(), folder, less=[*builds, UNPACKED])
        say("words: help, rules and policies asked for")

    def compare_modes(self):
        """castscope compare, which runs the package's own code in each mode."""
        say("modes: castscope compare, twice")
        folder = self.folder / "modes"
        folder.mkdir(exist_ok=True)
        command = ["compare", "--json", "modes.json", "--html", "modes.html", "--", sys.executable, OWN / "compared.py"]
        self.questions("modes", [command], folder, STEADY, [UNPACKED, TOOK])

    # --- recording anew -----------------------------------------------------------------------------------------------

    def record_anew(self, job):
        """By this tree's program; again, and by that commit's, only where something differs."""
        controls, anew = Recordings(self, job, self.other, "again"), Recordings(self, job, self.this, "this")
        was = self.answer_of(job, self.recording(job), (self.recording(job) / "stdout").read_bytes())
        compared = compare_recordings(was, (self.answer_of(job, *one) for one in anew),
                                      lambda: [self.answer_of(job, *one) for one in controls])
        self.result.add(job.name, "run: what the job prints, and what is in the run file", *compared)
        what = "diff --exit-code of the runs recorded by that commit and by this tree"
        told = [self.diff(job, folder) for folder, _ in anew.made]
        if told[0].status != 0:
            told = [self.diff(job, folder) for folder, _ in anew]
        if all(answer.status == 0 for answer in told):
            self.result.add(job.name, what, [])
        elif any(answer.status == 0 for answer in told):
            self.result.add(job.name, what, [], ["the run, not in each recording by this tree"])
        elif any(self.diff(job, folder).status != 0 for folder, _ in controls):
            self.result.add(job.name, what, [], ["the run"])
        else:
            lines = (told[0].stdout + told[0].stderr).decode(errors="replace").splitlines()
            self.result.add(job.name, what, [Difference("the run", "\n".join(lines[:DIFF_LINES]))])

    def answer_of(self, job, folder, printed):
        """Events are read by that commit's program on both sides: only what was recorded differs."""
        contents = {} if job.large else contents_of(self.other, folder / "run.castscope")
        return Answer(0, printed, b"", contents)

    def diff(self, job, folder):
        arguments = ["diff", "--exit-code", self.recording(job) / "run.castscope", folder / "run.castscope"]
        return ask(self.this.castscope, arguments, self.folder)


class Recordings:
    """Some recordings of a job by one program, (folder, what the job printed), each made when it is first asked for."""

    def __init__(self, comparison, job, program, name):
        self.comparison, self.job, self.program, self.name, self.made = comparison, job, program, name, []

    def __iter__(self):
        for number in range(RECORDINGS):
            if number == len(self.made):
                say(f"{self.job.name}: recording with the program of {self.program.name}")
                folder = self.comparison.recording(self.job, f"{self.name}-{number + 1}")
                self.made.append((folder, record(self.program, self.job, folder).stdout))
            yield self.made[number]


def build(commit):
    castscope = commits.build(commit, TARGETS)
    if "CASTSCOPE_BUILD" not in os.environ:
        commits.build_tree(runs.ROOT, TARGETS)
    return program_of("that commit", castscope), program_of("this tree", runs.CASTSCOPE)


def compare_all(given, folder):
    commit = commits.commit_of(given.commit)
    other, this = build(commit)
    result = Result(read_expected())
    comparison = Comparison(commit, other, this, folder, result)
    for job in given.jobs:
        comparison.record(job)
    small = [job for job in given.jobs if not job.large]
    comparison.ask_without_a_run()
    for number, job in enumerate(given.jobs):
        comparison.read(job, small[number - 1] if small else job)
    for job in small[:1]:
        comparison.read_damaged(job)
        compare_wire(job, other, this, folder / "wire", result)
    for job in small:
        compare_segments(job, other, this, folder / "segments" / job.name, result)
    if not given.only:
        comparison.compare_modes()
    for job in given.jobs:
        comparison.record_anew(job)
    print(f"This tree against {commit[:12]}:")
    for line in result.summary():
        print(line)
    return result.status()


def main():
    given = arguments()
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
        return compare_all(given, given.keep.resolve())
    with tempfile.TemporaryDirectory(prefix="same-reports-", dir=runs.CASTSCOPE.parent) as folder:
        return compare_all(given, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
