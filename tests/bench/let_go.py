"""For jobs of the bench that castscope has watched, and does not watch any more while they are measured."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "attach"))


def let_go_if_asked(step):
    """With CASTSCOPE_BENCH_DETACH castscope is asked to let go of this process; `step` has it come to that."""
    if "CASTSCOPE_BENCH_DETACH" not in os.environ:
        return
    import driver
    directory = pathlib.Path(os.environ["CASTSCOPE_RUN"])
    driver.ask(directory, f"detach {os.getpid()}")
    for _ in range(3):
        step()
    if driver.status(directory, os.getpid()).state != driver.AWAY:
        sys.exit("castscope has not let go of the bench's job")
