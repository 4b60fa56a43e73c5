"""A model with many places that cast: each is named at its first cast, by the native functions that led there."""

JOB = """
import sys, time
import torch
torch.set_num_threads(1)
KINDS = ("z = wide + narrow", "z = torch.sum(narrow, dim=0, dtype=torch.float32)", "z = narrow.to(torch.float32)",
         "z = torch.softmax(narrow, -1, dtype=torch.float32)")
lines = [KINDS[i % len(KINDS)] for i in range(600)]
with open("generated.py", "w") as file:
    file.write("def run(wide, narrow):\\n" + "".join(f"    {line}\\n" for line in lines))
scope = {"torch": torch}
exec(compile(open("generated.py").read(), "generated.py", "exec"), scope)
wide, narrow = torch.ones(4, 8), torch.ones(4, 8, dtype=torch.bfloat16)
begin = time.thread_time()
scope["run"](wide, narrow)
print(time.thread_time() - begin)
"""
CAUSES = {"promotion": 150, "user_to": 150, "operator": 300}


def test_the_linker_is_not_asked_anew_at_each_place(castscope, python):
    """600 places take some 20 ms of CPU time. With a walk through PyTorch's symbols for each frame they took 2.4 s."""
    done = castscope.run(python, "-c", JOB, text=True)
    assert done.returncode == 0, done.stderr
    report = castscope.report()
    sites = [site for site in report["sites"] if site["cause"] in CAUSES]
    assert {cause: sum(site["cause"] == cause for site in sites) for cause in CAUSES} == CAUSES
    assert float(done.stdout) < 0.8
