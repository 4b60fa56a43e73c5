"""Lends the package castscope to a job that has none: puts its folder last on sys.path.

`castscope run` names this folder in PYTHONPATH. Python imports this file when sys.path is otherwise done; it takes its
own folder off again, puts the package's at the end, where all folders of the user's come before it, and makes way for
the sitecustomize that would have been imported without us. Any Python may run this file, Python 2 too. With `python -S`
it is not imported: the package is absent then.

Where the job runs by a policy that has rules for functions, it has them applied. A process that must run by a policy
and has lost castscope's library ends when it imports torch, as those do that agent/preload/refuse.c ends. Under
`castscope run --apex`, `import apex` finds castscope.amp. Nothing is imported for it elsewhere. pytest is told of
castscope's plugin where its command line or its settings name castscope: by itself it finds those of packages that are
installed.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _here]
sys.path.append(os.path.dirname(_here))
sys.path_importer_cache.pop(_here, None)


def _cast_functions(policy):
    try:
        with open(policy, "rb") as lines:
            if b"\nfunction\t" in lines.read():
                from castscope import policy_functions

                policy_functions.install_from(policy)
    except Exception as error:
        if sys.stderr is not None:
            sys.stderr.write("castscope: policy: its functions are not cast: %s\n" % " ".join(str(error).split()))


def _leave_policy_out():
    """CASTSCOPE_OFF: nothing of the policy holds in this process. PyTorch's caches of compiled graphs, which castscope
    marks with the policy, must not take its graphs for such that follow the policy."""
    del os.environ["CASTSCOPE_ENFORCE"]
    tag = os.environ.get("TORCH_COMPILE_CACHE_KEY_TAG", "")
    if "castscope-" in tag:
        os.environ["TORCH_COMPILE_CACHE_KEY_TAG"] = tag[:tag.rindex("castscope-")]


def _has_library():
    try:
        with open("/proc/self/maps", "rb") as maps:
            return b"/libcastscope.so" in maps.read()
    except Exception:  # it is not known
        return True


class _Guard:
    """On sys.meta_path: looks at the import of torch whether somebody is here who carries the policy out."""

    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            sys.meta_path.remove(self)
            if not _has_library():
                _end_without_policy()
        return None


def _end_without_policy():
    sentence = ("castscope's library is not in this process, since LD_PRELOAD was taken out of its environment or "
                "names a file that cannot be read: the policy of --enforce cannot be carried out, and this process "
                "ends before PyTorch's first operator, with status 125; with --enforce-if-possible it would run on "
                "unobserved, without the policy.")
    try:
        name = os.path.join(os.environ["CASTSCOPE_RUN"], "said-without-library")
        note = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(note, sentence.encode("ascii"))
        os.close(note)
    except Exception:  # another process has left it there; or it stands on stderr alone
        pass
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    try:
        os.write(2, ("castscope[%d]: %s\n" % (os.getpid(), sentence)).encode("ascii"))
    finally:
        os._exit(125)


def _stand_in_for_apex():
    try:
        from castscope import stand_in

        stand_in.install()
    except Exception as error:
        if sys.stderr is not None:
            sys.stderr.write("castscope: --apex: nothing stands in for apex: %s\n" % " ".join(str(error).split()))


def _is_asked_for_by_settings():
    """Whether a file that pytest may take its settings from, here or in a folder above, speaks of castscope."""
    folder = os.getcwd()
    while True:
        for name in ("pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as settings:
                    if b"castscope" in settings.read():
                        return True
        if folder == os.path.dirname(folder):
            return False
        folder = os.path.dirname(folder)


def _name_pytest_plugin():
    plugin = "castscope.pytest_plugin"
    try:
        with open("/proc/self/cmdline", "rb") as words:  # sys.argv is not there yet
            command = words.read().split(b"\0")
        runs_pytest = any(os.path.basename(word) in (b"pytest", b"py.test") for word in command)
        if not runs_pytest or not (b"--castscope" in command or _is_asked_for_by_settings()):
            return
        from importlib import metadata

        if any(point.value == plugin for found in metadata.distributions() for point in found.entry_points):
            return  # it is installed
    except Exception:  # then pytest says that it does not know the option
        return
    named = [name for name in os.environ.get("PYTEST_PLUGINS", "").split(",") if name]
    if plugin not in named:
        os.environ["PYTEST_PLUGINS"] = ",".join(named + [plugin])


_name_pytest_plugin()
if os.environ.get("CASTSCOPE_OFF", "0") not in ("", "0") and "CASTSCOPE_ENFORCE" in os.environ:
    _leave_policy_out()
# `castscope run` and `castscope env` set CASTSCOPE_AGENTS together with LD_PRELOAD.
if os.environ.get("CASTSCOPE_ENFORCE") and not os.environ.get("CASTSCOPE_ENFORCE_IF_POSSIBLE"):
    if "CASTSCOPE_AGENTS" in os.environ:
        sys.meta_path.insert(0, _Guard())
if os.environ.get("CASTSCOPE_ENFORCE") and sys.version_info >= (3, 9):
    _cast_functions(os.environ["CASTSCOPE_ENFORCE"])
if os.environ.get("CASTSCOPE_APEX") and sys.version_info >= (3, 9):
    _stand_in_for_apex()

del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402, F401  if there is none, site takes this failure for a missing sitecustomize
