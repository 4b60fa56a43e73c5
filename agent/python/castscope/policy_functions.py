"""The rules of a policy under "functions", in the job: annotates the functions when their module has been imported.

The lines are those of agent/enforce/decided/policy_table.h; of them only `function <module:name> half|float|promote`
counts here. A rule overrides an annotation in the source, except for the arguments that it never casts. The script
itself cannot be named: it is not imported. Code that already has a function, as by `from module import name` before the
module's own import has ended, keeps it unchanged; a class is changed for all.

For a function of PyTorch itself the rule alone decides: with half and promote, too, autocast is off inside, since
otherwise the policy's lists would cast its operators' arguments again. What it writes into, out=, is not cast.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from castscope import attached, rule_met

_FORMATS = ("castscope-policy 1", "castscope-policy 2", "castscope-policy 3")
_KINDS = ("half", "float", "promote")
_ESCAPES = {"t": "\t", "n": "\n", "\\": "\\"}

Rule = tuple[str, str]  # "package.module:Class.name", kind


def rules_in(text: str) -> list[Rule]:
    """The rules for functions in a compiled policy. ValueError for a text of another format.

        rules_in("castscope-policy 3\\nfunction\\tmodels.attention:attend\\thalf\\n")
    """
    first, *lines = text.split("\n")
    if first not in _FORMATS:
        raise ValueError(f"they are in the format {first!r}, and this package knows {' and '.join(_FORMATS)}")
    words = [line.split("\t") for line in lines if line.startswith("function\t")]
    return [(_unescaped(word[1]), word[2]) for word in words if len(word) == 3 and word[2] in _KINDS]


def lower_precision_in(text: str) -> dict[str, str]:
    """The dtype that a compiled policy casts to where it lowers, by device type ("any": all); {} where regions decide.

        lower_precision_in(text)  # {"cuda": "float16"}
    """
    device, lines = "any", iter(text.split("\n"))
    for line in lines:
        if line.startswith("device\t"):
            device = _unescaped(line.split("\t")[1])
        if line == "table\t0":
            dtype = next(lines, "").partition("\t")[2]
            return {device: dtype} if dtype in ("bfloat16", "float16") else {}
    return {}


def install(rules: Iterable[Rule]) -> None:
    """Applies the rules: at once in modules that are imported, in others when they have been. Never raises.

    The last rule for a function counts. One line on stderr tells of each rule that cannot be applied.

        install([("models.attention:attend", "half")])
    """
    _finder.add(dict(rules))


def install_from(path: str) -> None:
    """Applies the rules in this file, which castscope names in CASTSCOPE_ENFORCE; as sitecustomize.py calls it.

        install_from(os.environ["CASTSCOPE_ENFORCE"])

    OSError and ValueError where it cannot be read or understood.
    """
    with open(path, encoding="utf-8") as file:
        install(rules_in(file.read()))


def _unescaped(word: str) -> str:
    out, characters = [], iter(word)
    for character in characters:
        out.append(_ESCAPES.get(next(characters, ""), "") if character == "\\" else character)
    return "".join(out)


def _tell(sentence: str) -> None:
    try:
        sys.stderr.write(f"castscope: policy: {' '.join(sentence.split())}\n")
    except Exception:  # no stderr: nobody to tell
        pass


class _Finder:
    """On sys.meta_path: asks the other finders, and has itself called when a module with rules has been executed."""

    def __init__(self) -> None:
        self._rules: dict[str, dict[str, str]] = {}  # module → name in it → kind
        self._told: set[tuple[str, str]] = set()
        self._asking = threading.local()

    def add(self, rules: dict[str, str]) -> None:
        modules = []
        for function, kind in rules.items():
            module, _, name = function.partition(":")
            if module == "__main__":
                _tell(f"{function!r} is not applied: the script itself is not imported; annotate it with "
                      f"castscope.{kind}_function")
            elif module and name:
                self._rules.setdefault(module, {})[name] = kind
                modules.append(module)
        if self._rules and self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        for module in dict.fromkeys(modules):
            if module in sys.modules:
                self.apply(module)

    def find_spec(self, name: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name not in self._rules or getattr(self._asking, "name", None) == name:
            return None
        before, self._asking.name = getattr(self._asking, "name", None), name
        try:
            spec = found_by_others(self, name, path, target)
        finally:
            self._asking.name = before
        if spec is not None:
            self._call_when_executed(spec)
        return spec

    def _call_when_executed(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The loader stays the very same object: resources, sources and reload() depend on it."""
        loader: Any = spec.loader
        execute = getattr(loader, "exec_module", None)
        if execute is None or isinstance(loader, type):
            _tell(f"functions of {spec.name} are not cast: it is not made of a file")
            return

        def exec_module(module: ModuleType) -> None:
            execute(module)
            # A loader may serve several modules.
            if getattr(module, "__spec__", None) is spec:
                vars(loader).pop("exec_module", None)
                self.apply(spec.name)

        try:
            loader.exec_module = exec_module
        except (AttributeError, TypeError):
            _tell(f"functions of {spec.name} are not cast: its loader cannot be watched")

    def apply(self, module: str) -> None:
        if goes_without_policy():
            return
        for name, kind in self._rules[module].items():
            try:
                _annotate(module, name, kind)
                rule_met(f"function {module}:{name}")
            except Exception as error:
                if (module, name) not in self._told:
                    self._told.add((module, name))
                    _tell(f"'{module}:{name}' is not cast: {str(error) or type(error).__name__}")


def goes_without_policy() -> bool:
    """Under --enforce-if-possible: PyTorch is here, and no agent that carries the rest of the policy out."""
    return bool(os.environ.get("CASTSCOPE_ENFORCE_IF_POSSIBLE")) and "torch._C" in sys.modules and not attached()


def found_by_others(finder: object, name: str, path: Any, target: Any) -> importlib.machinery.ModuleSpec | None:
    for other in list(sys.meta_path):
        find = getattr(other, "find_spec", None)
        spec = find(name, path, target) if find is not None and other is not finder else None
        if spec is not None:
            return spec
    return None


def _annotate(module: str, name: str, kind: str) -> None:
    from castscope.annotations import register
    from castscope.signatures import missing
    from castscope.wrapping import Annotation

    container: Any = sys.modules[module]
    *path, last = name.split(".")
    for part in path:
        if not hasattr(container, part):
            raise missing(container, part)
        container = getattr(container, part)
    register(container, last, Annotation(kind, of_pytorch=_is_pytorchs_function(module, container, last)))


def _is_pytorchs_function(module: str, container: Any, name: str) -> bool:
    """Whether it is neither a class nor a method of one: those may hold weights, cast where an operator needs it."""
    is_tensor = isinstance(container, type) and container.__name__ == "Tensor"
    return (module.partition(".")[0] == "torch" and (is_tensor or isinstance(container, ModuleType))
            and not isinstance(getattr(container, name, None), type))


_finder = _Finder()
