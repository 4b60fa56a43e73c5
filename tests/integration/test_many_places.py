"""A model with many places that cast: each is named at its first cast, by the native functions that led there."""

JOB = """
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
scope["run"](wide, narrow)
"""
CAUSES = {"promotion": 150, "user_to": 150, "operator": 300}


def test_each_of_many_places_has_its_cause(castscope, python):
    """What is remembered of native functions is right for each place that they lead to."""
    done = castscope.run(python, "-c", JOB, text=True)
    assert done.returncode == 0, done.stderr
    sites = [site for site in castscope.report()["sites"] if site["cause"] in CAUSES]
    assert {cause: sum(site["cause"] == cause for site in sites) for cause in CAUSES} == CAUSES
