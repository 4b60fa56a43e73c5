"""The rules about Python's GIL are types (agent/cpython/python_api.h): code that breaks one does not compile."""

import compiling
import pytest

HEAD = """\
#include "agent/cpython/module_tree.h"
#include "agent/cpython/python_api.h"
using namespace castscope::agent;
"""
# A function that Python's API alone is given, and one that may wait and has the GIL.
BARE = "void f{}(const PythonApi& api, PyObject* object) {{ {} }}\n"
GIVEN = "void f{}(const MayWait& may_wait, const HeldGil& held, const PythonApi& api, PyObject* object) {{ {} }}\n"

KEEPS = [
    (BARE, "const MayWait may_wait = MayWait::before_original(); Gil gil(may_wait, api); "
           "if (gil.held()) (void)text_of(gil, api, object);"),
    (BARE, "if (const HeldGil* gil = HeldGil::asked(api)) (void)walk_modules(*gil, api, object);"),
    (BARE, "const HeldGil gil = HeldGil::of_caller(); KeepError keep(gil, api); Gil again(MayWait::having(gil), api);"),
    (GIVEN, "Gil gil(may_wait, api); KeepError keep(held, api);"),
]
NO_GIL = "'const castscope::agent::HeldGil&'"
COPIED = "use of deleted function 'castscope::agent::{0}::{0}("
BREAKS = [
    # The GIL is waited for without leave.
    (BARE, "Gil gil(api);", "no matching function for call to 'castscope::agent::Gil::Gil("),
    (BARE, "Gil gil(MayWait(), api);", "MayWait::MayWait()' is private"),
    (BARE, "Gil gil({}, api);", "MayWait::MayWait()' is private"),
    # What needs the GIL is called without a proof of it.
    (BARE, "(void)text_of(api, object);", NO_GIL),
    (BARE, "(void)walk_modules(api, object);", NO_GIL),
    (BARE, "(void)text_of(MayWait::no_lock_held(), api, object);", NO_GIL),
    (BARE, "(void)text_of(HeldGil(), api, object);", "HeldGil::HeldGil()' is protected"),
    (BARE, "KeepError keep(api);", "no matching function for call to 'castscope::agent::KeepError::KeepError("),
    # A proof or a leave outlives the call that it was given to.
    (GIVEN, "MayWait mine = may_wait;", COPIED.format("MayWait")),
    (GIVEN, "auto later = [may_wait] {};", COPIED.format("MayWait")),
    (GIVEN, "HeldGil mine = held;", COPIED.format("HeldGil")),
    (GIVEN, "Gil gil(may_wait, api); HeldGil kept = gil;", COPIED.format("HeldGil")),
    (GIVEN, "Gil gil(may_wait, api); Gil second = gil;", COPIED.format("Gil")),
]


def test_code_that_keeps_the_rules_compiles():
    assert not any(compiling.complaints(HEAD, KEEPS))


@pytest.fixture(scope="module")
def refused():
    return compiling.complaints(HEAD, [(around, body) for around, body, _ in BREAKS])


@pytest.mark.parametrize("i", range(len(BREAKS)), ids=[body for _, body, _ in BREAKS])
def test_code_that_breaks_a_rule_does_not(refused, i):
    assert any(BREAKS[i][2] in error for error in refused[i]), refused[i]
