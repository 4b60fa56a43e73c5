"""The questions that are asked about a run file, and those that need none."""

import re
import shlex
import subprocess

import runs

CHECKS = [["--fail-on", "info"], ["-f", "json"], ["--max-cast-share", "1%", "--max-cache", "1KiB"],
          ["--policy", "torch-cuda"], ["--allow-incomplete", "--json", "check.json"]]
SHIPPED = ["torch-cpu", "torch-cuda", "torch-mps", "torch-xpu", "ipex-xpu", "apex-o1", "apex-o1-any", "fp32-everything"]
OPERATORS = ["linear", "softmax", "norm", "cat", "addmm", "torch.norm", "nn.LSTM", "nonsense"]


def words(arguments):
    return shlex.join(map(str, arguments))


def told(program, *arguments):
    return subprocess.run([str(program), *arguments], env=runs.clean_environment(), capture_output=True, check=False,
                          text=True).stdout


def forms(program, command):
    """Returns the possible values of a command's `-f`, as its help lists them."""
    return re.search(r"--format (?:TEXT:)?\{([^}]*)\}", told(program, command, "--help"))[1].split(",")


def commands(program):
    """Returns the commands that the help lists; the hidden ones are not asked."""
    listed = re.split("(?:Subc|C)ommands:", told(program, "--help"))[1]
    return re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)


def of_large_run(program):
    """Questions whose answers go to standard output alone."""
    for command in ("report", "convert"):
        for form in forms(program, command):
            yield [command, "-f", form, "run.castscope"]
    yield ["report", "--summary", "run.castscope"]
    yield ["check", "run.castscope"]
    yield ["check", "--fail-on", "info", "-f", "json", "run.castscope"]
    yield ["diff", "run.castscope", "run.json"]


def of_run(program, neighbour):
    """All questions about a run file. `neighbour` is that of another job, to compare it with."""
    yield from of_large_run(program)
    for command in ("report", "convert"):
        for form in forms(program, command):
            yield [command, "-f", form, "-o", "written", "run.castscope"]
    yield ["report", "-o", "run.json", "run.castscope"]  # refused: it exists
    for form in ("json", "md", "html", "sarif"):
        yield ["report", "--policy", "apex-o1", "-f", form, "run.castscope"]
    for options in CHECKS:
        yield ["check", *options, "run.castscope"]
    yield ["check", "--fail-on", "performance", "run.json"]
    yield ["check", "--fail-on", "info", "--baseline", neighbour, "run.castscope"]
    for form in ("text", "json"):
        yield ["diff", "--exit-code", "-f", form, "run.castscope", neighbour]
        yield ["diff", "-f", form, neighbour, "run.castscope"]
    yield ["diff", "--exit-code", "run.castscope", "run.json"]
    yield ["policy", "from-run", "run.castscope"]
    yield ["policy", "from-run", "--device", "cuda", "-o", "seen.json", "run.castscope"]


def of_exported(name):
    yield ["check", name]
    yield ["check", "--fail-on", "info", "-f", "json", "--json", "check.json", name]


def of_damaged(program, name):
    for form in forms(program, "report"):
        yield ["report", "-f", form, name]
    yield ["report", "--summary", name]
    yield ["convert", name]
    yield ["check", name]
    yield ["diff", name, name]
    yield ["policy", "from-run", name]


def without_a_run(program):
    """Help, rules, policies, and wrong command lines."""
    known = commands(program)
    yield ["--help"]
    yield from ([command, "--help"] for command in known)
    yield from (["policy", command, "--help"] for command in ("check", "explain", "diff", "from-run", "list"))
    yield ["version"]
    yield ["--version"]
    for form in ("text", "json"):
        yield ["rules", "-f", form]
        yield ["policy", "list", "-f", form]
        yield ["policy", "check", "-f", form, *SHIPPED]
        yield from (["policy", "explain", "-f", form, operator] for operator in OPERATORS)
        yield from (["policy", "explain", "-f", form, policy, "linear"] for policy in SHIPPED)
        yield from (["policy", "diff", "-f", form, "torch-cpu", policy] for policy in SHIPPED)
        yield from (["explain", "-f", form, rule] for rule in rules(program))
    yield from (["policy", "explain", policy] for policy in SHIPPED)
    yield ["policy", "diff", "--exit-code", "torch-cuda", "apex-o1"]
    yield from ([command] for command in known if command not in ("doctor", "env", "recover", "serve", "rules"))
    yield from ([command, "--nonsense"] for command in known if command not in ("doctor", "env"))
    yield from (["report", "-f", "pdf", "x"], ["report", "nothing.castscope"], ["run", "-o", "", "--", "true"],
                ["diff", "nothing.json", "nothing.json"], ["explain", "no-such-rule"], ["nonsense"], [])


def of_this_machine():
    """Questions whose answers contain the place of the program."""
    yield from (["env"], ["env", "--plain", "--deep", "always", "--gpu", "off", "-o", "x"], ["env", "--nonsense"],
                ["env", "--enforce", "torch-cpu", "--all-kernels"], ["env", "--apex"],
                ["env", "--collector", "localhost:7390"], ["doctor"], ["doctor", "--json"], ["doctor", "--nonsense"])


def rules(program):
    return re.findall(r'"rule": "([a-z0-9-]+)"', told(program, "rules", "-f", "json"))
