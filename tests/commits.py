"""Programs of other commits, each built in a work tree of its own below build/against."""

import subprocess
import sys

import runs

FOLDER = runs.CASTSCOPE.parent / "against"


def commit_of(name):
    done = subprocess.run(["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], cwd=runs.ROOT, check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"git knows no commit {name}")
    return done.stdout.strip()


def build(commit, targets=("castscope_in_job",)):
    """The program of that commit, built beside this one with the same Python."""
    tree = FOLDER / commit[:12]
    if not tree.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=runs.ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--detach", str(tree), commit], cwd=runs.ROOT, check=True,
                       stdout=sys.stderr)
    if not (tree / ".venv").exists():
        (tree / ".venv").symlink_to(runs.ROOT / ".venv")
    build_tree(tree, targets)
    return tree / "build" / "castscope"


def build_tree(tree, targets):
    print(f"building {tree}", file=sys.stderr, flush=True)
    for command in (["cmake", "--preset", "default"],
                    ["cmake", "--build", "--preset", "default", "--target", *targets]):
        done = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{tree} cannot be built:\n{done.stdout[-4000:]}{done.stderr}")
