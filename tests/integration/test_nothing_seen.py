"""A job of which castscope saw nothing: it says why, and leaves no files of a job that never began."""

import pytest
from program import clean_environment


@pytest.mark.parametrize(("text", "status", "message", "told"), [
    (None, 2, "can't open file", "there is no script job.py: nothing was recorded, and no files are left"),
    ("def f(:\n", 1, "SyntaxError", "job.py cannot be compiled, so that no line of it ran: nothing was recorded"),
])
def test_a_script_that_never_ran_leaves_no_files(castscope, python, text, status, message, told):
    if text is not None:
        (castscope.folder / "job.py").write_text(text)
    before = sorted(castscope.folder.iterdir())
    done = castscope.run(python, "job.py", text=True)
    assert done.returncode == status and message in done.stderr
    assert f"castscope: {told}" in done.stderr and "LD_PRELOAD" not in done.stderr
    assert sorted(castscope.folder.iterdir()) == before


def test_a_script_that_fails_leaves_its_report(castscope, python):
    (castscope.folder / "job.py").write_text("raise ValueError('it is so')\n")
    done = castscope.run(python, "job.py", text=True)
    report = castscope.report()
    assert done.returncode == 1 and report["run"]["exit_status"] == 1 and report["run"]["observed"] is False
    assert "castscope: no process with PyTorch was seen before the job failed" in done.stderr


def test_a_script_that_ends_as_python_does_without_one_has_run(castscope, python):
    (castscope.folder / "job.py").write_text("import sys\nsys.exit(2)\n")
    assert castscope.run(python, "job.py").returncode == 2 and castscope.report()["run"]["exit_status"] == 2


def test_a_python_without_pytorch_is_named(castscope, python_without_us):
    done = castscope.run(python_without_us, "-c", "print(1)", text=True)
    report = castscope.report()
    told = f"no process with PyTorch was seen: the job's Python, {python_without_us}, has no PyTorch"
    assert (done.returncode, done.stdout) == (0, "1\n") and f"castscope: {told}\n" in done.stderr
    assert report["run"]["observed"] is False and told in report["run"]["notices"]
    assert "LD_PRELOAD" not in done.stderr


@pytest.mark.parametrize("policy", [(), ("--policy", "torch-cpu")])
def test_a_run_that_was_not_observed_is_not_called_clean(castscope, python, policy):
    """Neither by its summary, nor by a report, nor by the gate."""
    done = castscope("run", "-o", "run", *policy, "--", python, "-c", "import torch", text=True,
                     env=clean_environment(CASTSCOPE_OFF="1"))
    assert "Not observed: rules had nothing to judge." in done.stderr
    assert done.stderr.startswith("castscope: CASTSCOPE_OFF is set; the job runs unobserved\n")
    forms = ("md", "html", "sarif")
    said = {form: castscope("report", "-f", form, "run.castscope", text=True).stdout for form in forms}
    assert said["md"].startswith("### castscope: not observed\n") and "Not observed: there was" in said["html"]
    assert '"executionSuccessful": false' in said["sarif"] and "nothing was observed: no process" in said["sarif"]
    for text in (done.stderr, *said.values()):
        assert "no findings" not in text.lower() and "nothing wrong" not in text
    assert castscope.report()["run"]["observed"] is False
    for options, status, told in (((), 3, "inconclusive: not observed, so that nothing could be found"),
                                  (("--allow-incomplete",), 0, "not observed, which --allow-incomplete lets pass")):
        done = castscope("check", *policy, *options, "run.castscope", text=True)
        assert done.returncode == status and told in " ".join(done.stdout.split())
        assert "clean" not in done.stdout and "not judged" not in done.stdout
