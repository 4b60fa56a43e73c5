"""Writes what autocast of the PyTorch that runs this does by default, as policies: torch-cpu.json and so on;
fp32-everything.json, which casts whatever any of them casts to float32; operators.txt, which a policy may name.

    python policies/from_dispatcher.py [FOLDER]

Nothing here knows a list of operators. Which operators have an autocast kernel is asked of the dispatcher; what that
kernel does is seen by calling it: each operator is called under autocast with tensors of other dtypes, and between the
two events that PyTorch's profiler records (the operator as it was called, and as its autocast kernel calls it on) stand
the casts. The values need not make sense to the operator: it has been recorded by the time it complains. Devices that
this machine lacks are tried with fake tensors.
"""

import contextlib
import json
import logging
import pathlib
import sys
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.profiler import ProfilerActivity, profile, record_function

DEVICES = {"cpu": "CPU", "cuda": "CUDA", "xpu": "XPU", "mps": "MPS"}
POLICIES = ("lower_precision_fp", "fp32", "fp32_set_opt_dtype", "fp32_append_dtype", "promote")
LOW, FULL = torch.bfloat16, torch.float32
MARK = "castscope "
FLOAT32 = "6"  # c10::ScalarType::Float, as the profiler tells an argument


def version():
    return torch.__version__.partition("+")[0]


def registered(device):
    return sorted(torch._C._dispatch_get_registrations_for_dispatch_key(f"Autocast{DEVICES[device]}"))


def schema_of(operator):
    name, _, overload = operator.partition(".")
    return torch._C._get_schema(name, overload)


def callable_of(operator):
    name, _, overload = operator.partition(".")
    namespace, op = name.split("::")
    return getattr(getattr(getattr(torch.ops, namespace), op), overload or "default")


class Arguments:
    """Those of one call. dtypes: of the tensors, in turn; the last one is that of all further ones."""

    PLAIN = {"int": 1, "SymInt": 1, "number": 1, "float": 1.0, "bool": False, "str": "mean", "List[bool]": [False],
             "Device": torch.device("cpu")}

    def __init__(self, operator, device, dtypes):
        self.device, self.dtypes = device, list(dtypes)
        self.positional, self.named = [], {}
        for argument in schema_of(operator).arguments:
            value = self.value(str(argument.type))
            if argument.kwarg_only:
                self.named[argument.name] = value
            else:
                self.positional.append(value)

    def tensor(self):
        dtype = self.dtypes.pop(0) if len(self.dtypes) > 1 else self.dtypes[0]
        return torch.empty(2, 2, device=self.device, dtype=dtype)

    def value(self, kind):
        if kind in ("Tensor", "Optional[Tensor]"):
            return self.tensor()
        if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
            return [self.tensor(), self.tensor()]
        if kind.startswith("Optional["):
            return None
        return self.PLAIN[kind] if kind in self.PLAIN else [1]


def call(operator, device, dtypes):
    """The error's text, or None. What the operator's own code does is not of interest, whatever it is."""
    arguments = Arguments(operator, device, dtypes)
    with record_function(MARK + operator):
        try:
            callable_of(operator)(*arguments.positional, **arguments.named)
        except Exception as error:  # of any kind: made-up values
            return str(error)
    return None


@contextlib.contextmanager
def autocast(device):
    """Autocast as it is on a machine that has the device."""
    torch.set_autocast_dtype(device, LOW)
    torch.set_autocast_enabled(device, True)
    try:
        yield
    finally:
        torch.set_autocast_enabled(device, False)


def recorded(device, operators, dtypes):
    """For each operator: the events of its call, first to last, and the error."""
    errors = {}
    with autocast(device), profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        for operator in operators:
            errors[operator] = call(operator, device, dtypes)
    events = sorted(profiler.profiler.kineto_results.events(),
                    key=lambda event: (event.start_ns(), -event.duration_ns()))
    calls, current, end = {}, None, -1
    for event in events:
        if event.name().startswith(MARK):
            current = calls[event.name().removeprefix(MARK)] = []
            end = event.start_ns() + event.duration_ns()
        elif current is not None and event.start_ns() < end:
            current.append(event)
    return calls, errors


def casts(operator, events):
    """(dtypes that arguments were cast to by the autocast kernel, arguments that it calls on with)."""
    name = operator.partition(".")[0]
    to = set()
    assert events[0].name() == name, (operator, events[0].name())
    for event in events[1:]:
        if event.name() == name:
            return to, event.concrete_inputs()
        if event.name() == "aten::to":
            to.add(event.concrete_inputs()[1])
        elif event.name() not in ("aten::_to_copy", "aten::detach",
                                  "PythonDispatchMode", "PythonSubclass") and to == set():
            break
    return to, None


def policy_of(operator, full, low, mixed, error):
    """What the autocast kernel did with float32 tensors, with those of the lower precision, and with both."""
    if error is not None and "unsafe to autocast" in error:
        return "banned"
    (of_full, _), (of_low, called), (of_mixed, _) = (casts(operator, events) for events in (full, low, mixed))
    if of_full and not of_low:
        return "lower_precision_fp"
    if of_low and not of_full:
        return "fp32"
    if of_mixed and not of_low and not of_full:
        return "promote"
    if called is not None and called != low[0].concrete_inputs():
        return "fp32_append_dtype" if len(called) > len(low[0].concrete_inputs()) else "fp32_set_opt_dtype"
    raise AssertionError(f"{operator}: what its autocast kernel does was not seen ({of_full}, {of_low}, {of_mixed})")


def sentence(error):
    """Of a banned operator, without the C++ place that PyTorch appends."""
    return error.split("\nException raised from")[0].strip()


def kinds_of(device):
    """({operator: policy}, {banned operator: its message})."""
    operators = registered(device)
    full, errors = recorded(device, operators, [FULL])
    low, _ = recorded(device, operators, [LOW])
    mixed, _ = recorded(device, operators, [FULL, LOW])
    kinds = {one: policy_of(one, full[one], low[one], mixed[one], errors[one]) for one in operators}
    return kinds, {one: sentence(errors[one]) for one in operators if kinds[one] == "banned"}


def writes(schema):
    return any(one.alias_info is not None and one.alias_info.is_write for one in schema.arguments)


def returns_view(schema):
    return any(one.alias_info is not None for one in [*schema.arguments, *schema.returns])


def eligible_overloads(name):
    """Those that autocast could stand in front of: none that writes into what it is given or returns a view of it."""
    schemas = torch._C._jit_get_schemas_for_operator(name)
    return {one.overload_name for one in schemas if not writes(one) and not returns_view(one)}


def short_names(operators):
    """"linear" where every overload is meant, else "sum.default", "norm.Scalar"."""
    by_name = {}
    for operator in operators:
        name, _, overload = operator.partition(".")
        by_name.setdefault(name, set()).add(overload)
    shown = []
    for name, overloads in by_name.items():
        short = name.removeprefix("aten::")
        if overloads == eligible_overloads(name):
            shown.append(short)
        else:
            shown += [f"{short}.{overload or 'default'}" for overload in overloads]
    return sorted(shown)


def policy(device):
    kinds, banned = kinds_of(device)
    operators = {kind: short_names(one for one in kinds if kinds[one] == kind) for kind in POLICIES}
    operators = {kind: names for kind, names in operators.items() if names}
    if banned:
        [names] = [short_names([one]) for one in banned]
        operators["banned"] = dict(zip(names, banned.values(), strict=True))
    return {"$schema": "policy.schema.json",
            "description": f"What autocast does by default on {device} in PyTorch {version()}.",
            "device": device, "operators": operators}


def operator_lines():
    """NAME OVERLOAD ARGUMENT…: those that hold tensors; before NAME: ! writes into an argument, ~ returns a view;
    =dtype at the end: it takes a dtype.
    """
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        tensors = [one.name for one in schema.arguments if "Tensor" in str(one.type)]
        if namespace != "aten" or not tensors:
            continue
        mark = "!" if writes(schema) else "~" if returns_view(schema) else ""
        dtype = ["=dtype"] if any(one.name == "dtype" for one in schema.arguments) else []
        yield " ".join([mark + name, schema.overload_name or "default", *tensors, *dtype])


def everything_in_fp32(policies):
    operators = {name for one in policies for names in one["operators"].values() for name in names}
    # "sum" and "sum.dim_IntList" of two devices: the first says it all
    names = sorted(name for name in operators
                   if name.partition(".")[0] == name or name.partition(".")[0] not in operators)
    return {"$schema": "policy.schema.json",
            "description": f"Every operator that autocast of PyTorch {version()} casts, on any device, in float32: "
                           "for bisecting.",
            "device": "any", "operators": {"fp32": names}}


def write(folder, name, content):
    (folder / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")


def main(folder):
    logging.disable(logging.CRITICAL)  # fake tensors tell of each value that makes no sense
    warnings.simplefilter("ignore")
    with FakeTensorMode(allow_non_fake_inputs=True):
        policies = {f"torch-{device}": policy(device) for device in DEVICES}
    for name, content in policies.items():
        write(folder, name, content)
    write(folder, "fp32-everything", everything_in_fp32(policies.values()))
    (folder / "operators.txt").write_text("\n".join([f"PyTorch {version()}", *sorted(set(operator_lines()))]) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
