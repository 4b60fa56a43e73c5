"""The double's libcupti.so.13 alone: no PyTorch, no other part of CUDA."""

import ctypes
import os
import pathlib
import subprocess
import sys
import threading

import pytest
from cupti_client import (
    CUSTOM0,
    CUSTOM2,
    FORCED,
    INVALID_OPERATION,
    INVALID_PARAMETER,
    KINDS,
    MULTIPLE_SUBSCRIBERS,
    QUEUE_EMPTY,
    SUCCESS,
    Api,
    Client,
    External,
    Memcpy,
)

BUILT = os.environ.get("CASTSCOPE_GPU_DOUBLE")
pytestmark = pytest.mark.skipif(not BUILT, reason="CASTSCOPE_GPU_DOUBLE names no folder with the built double")


@pytest.fixture
def client():
    made = Client(str(pathlib.Path(BUILT) / "libcupti.so.13"))
    yield made
    made.close()


@pytest.fixture
def watching(client):
    client.register()
    assert client.enable("concurrent", "memcpy", "runtime", "external") == [SUCCESS] * 4
    return client


def test_a_kernel_is_told_with_its_call(watching):
    correlation = watching.launch(b"first", 5000)
    watching.finish()
    (kernel,) = watching.kernels()
    assert (kernel.name, kernel.end - kernel.start, kernel.correlation) == (b"first", 5000, correlation)
    call = next(record for record in watching.records if isinstance(record, Api) and record.correlation == correlation)
    assert call.start <= kernel.start <= call.end


def test_a_stream_does_one_thing_at_a_time(watching):
    for _ in range(3):
        watching.launch(b"kernel", 100_000_000, 1)
    watching.launch(b"beside", 100_000_000, 2)
    watching.finish()
    first, second, third = (kernel for kernel in watching.kernels() if kernel.stream == 1)
    assert (second.start, third.start) == (first.end, second.end)
    beside = next(kernel for kernel in watching.kernels() if kernel.stream == 2)
    assert beside.start < third.start


def test_a_duration_is_that_of_the_name(watching):
    watching.launch(b"named")
    watching.finish()
    (kernel,) = watching.kernels()
    assert kernel.end - kernel.start == watching.lib.nogpu_kernel_ns(b"named", 1)
    assert 2000 <= kernel.end - kernel.start < 2600


def test_a_copy_is_told(watching):
    watching.lib.nogpu_memcpy(1000)
    watching.finish()
    (copy,) = (record for record in watching.records if isinstance(record, Memcpy))
    assert (copy.bytes, copy.copy_kind, copy.end - copy.start) == (1000, 1, 1550)


def test_external_ids_stand_before_their_call_one_of_each_kind(watching):
    push, pop = watching.lib.cuptiActivityPushExternalCorrelationId, watching.lib.cuptiActivityPopExternalCorrelationId
    for kind, value in ((CUSTOM0, 10), (CUSTOM2, 20), (CUSTOM2, 21)):
        assert push(kind, value) == SUCCESS
    correlation = watching.launch(b"kernel")
    last = ctypes.c_uint64()
    assert [pop(CUSTOM2, ctypes.byref(last)), last.value] == [SUCCESS, 21]
    assert [pop(CUSTOM2, None), pop(CUSTOM0, None), pop(CUSTOM0, None)] == [SUCCESS, SUCCESS, QUEUE_EMPTY]
    watching.launch(b"without")
    watching.finish()
    at = next(i for i, record in enumerate(watching.records)
              if isinstance(record, Api) and record.correlation == correlation)
    before = watching.records[at - 2:at]
    assert [(record.external_kind, record.external, record.correlation) for record in before] == [
        (CUSTOM0, 10, correlation), (CUSTOM2, 21, correlation)]
    assert sum(isinstance(record, External) for record in watching.records) == 2


def test_external_ids_are_of_the_thread_that_pushed_them(watching):
    watching.lib.cuptiActivityPushExternalCorrelationId(CUSTOM2, 7)
    other = threading.Thread(target=watching.launch, args=(b"elsewhere",))
    other.start()
    other.join()
    watching.lib.cuptiActivityPopExternalCorrelationId(CUSTOM2, None)
    watching.finish()
    assert len(watching.kernels()) == 1
    assert not any(isinstance(record, External) for record in watching.records)


def test_without_the_calls_there_are_no_external_ids(client):
    client.register()
    client.enable("concurrent", "external")
    client.lib.cuptiActivityPushExternalCorrelationId(CUSTOM2, 7)
    client.launch(b"kernel")
    client.lib.cuptiActivityPopExternalCorrelationId(CUSTOM2, None)
    client.finish()
    assert len(client.records) == len(client.kernels()) == 1


LAUNCHES, COPIES = 211, 41  # cudaLaunchKernel_v7000, cudaMemcpyAsync_v3020


def functions(client):
    return [record.cbid for record in client.records if isinstance(record, Api)]


def test_one_function_can_be_disabled_by_itself(client):
    client.register()
    client.enable("concurrent", "external", "runtime")
    assert client.lib.cuptiActivityEnableRuntimeApi(COPIES, 0) == SUCCESS
    client.launch(b"kernel")
    client.lib.nogpu_memcpy(1)
    client.finish()
    assert LAUNCHES in functions(client) and COPIES not in functions(client)
    name = ctypes.c_char_p()
    client.lib.cuptiGetCallbackName(2, COPIES, ctypes.byref(name))
    assert name.value == b"cudaMemcpyAsync_v3020"


def test_a_function_whose_kind_is_off_is_not_recorded(client):
    client.register()
    client.enable("concurrent", "external")
    assert client.lib.cuptiActivityEnableRuntimeApi(LAUNCHES, 1) == SUCCESS
    client.launch(b"kernel")
    client.finish()
    assert functions(client) == []


# What a context decides when it is made stays for the process, so these have one of their own.
BEFORE_A_CONTEXT = """
import sys
sys.path.insert(0, sys.argv[1])
from cupti_client import Api, Client
client, (before, after, kind) = Client(sys.argv[2]), (word == "yes" for word in sys.argv[3:])
client.register()
switch = client.lib.cuptiActivityEnableRuntimeApi
if before: switch(211, 1)
client.launch(b"first")
if before: switch(211, 0)
if kind: client.enable("runtime"); client.lib.cuptiActivityDisable(5)
if after: switch(211, 1)
client.launch(b"second")
client.finish()
print(sum(isinstance(record, Api) for record in client.records))
"""


@pytest.mark.parametrize(("before", "after", "kind", "recorded"), [
    ("no", "yes", "no", 0), ("yes", "no", "no", 1), ("yes", "yes", "no", 2), ("yes", "yes", "yes", 1)])
def test_single_functions_are_obeyed_where_some_were_on_when_the_context_was_made(before, after, kind, recorded):
    here, library = pathlib.Path(__file__).resolve().parent, f"{BUILT}/libcupti.so.13"
    done = subprocess.run([sys.executable, "-c", BEFORE_A_CONTEXT, here, library, before, after, kind],
                          capture_output=True, text=True, check=True)
    assert int(done.stdout) == recorded


def test_a_kind_forgets_the_choice_of_functions(client):
    client.register()
    client.enable("runtime")
    client.lib.cuptiActivityEnableRuntimeApi(LAUNCHES, 0)
    client.enable("runtime")
    client.launch(b"kernel")
    client.finish()
    assert LAUNCHES in functions(client)


def test_what_is_not_complete_is_not_flushed_unless_forced(watching):
    watching.launch(b"long", 500_000_000, 77)
    watching.lib.cuptiActivityFlushAll(0)
    assert not watching.kernels()
    watching.lib.cuptiActivityFlushAll(FORCED)
    (kernel,) = watching.kernels()
    assert (kernel.name, kernel.start, kernel.end) == (b"long", 0, 0)


def test_full_buffers_come_without_a_flush(watching):
    watching.buffer_size = 1024
    for _ in range(30):
        watching.launch(b"kernel")
    assert watching.delivered.wait(30)
    watching.finish()
    assert len(watching.kernels()) == 30 and len(watching.buffers) > 5
    assert not watching.lent


def test_devices_are_not_told_of_before_there_are_buffers(client):
    assert client.enable("concurrent", "memcpy") == [INVALID_OPERATION] * 2
    assert client.lib.cuptiActivityFlushAll(0) == INVALID_OPERATION


def test_what_is_disabled_is_not_told(watching):
    assert watching.lib.cuptiActivityDisable(KINDS["concurrent"]) == SUCCESS
    watching.launch(b"kernel")
    watching.finish()
    assert not watching.kernels()
    assert any(isinstance(record, Api) for record in watching.records)


def test_there_is_one_seat(client):
    first, handle = client.subscribe()
    assert first == SUCCESS
    assert client.subscribe()[0] == MULTIPLE_SUBSCRIBERS
    assert client.lib.cuptiUnsubscribe(handle) == SUCCESS
    assert client.lib.cuptiUnsubscribe(handle) == INVALID_PARAMETER
    again, later = client.subscribe()
    assert again == SUCCESS and later.value != handle.value


def test_a_subscriber_is_told_of_launches_at_both_ends(client):
    told = []

    def callback(_user, domain, cbid, data):
        call = data.contents
        told.append((domain, cbid, call.site, call.function, call.symbol, call.correlation))

    _, handle = client.subscribe(callback)
    runtime, launches = 2, 211
    assert client.lib.cuptiEnableCallback(1, handle, runtime, launches) == SUCCESS
    correlation = client.launch(b"kernel")
    client.lib.nogpu_memcpy(1)
    assert client.lib.cuptiUnsubscribe(handle) == SUCCESS
    client.launch(b"afterwards")
    assert told == [(runtime, launches, site, b"cudaLaunchKernel", b"kernel", correlation) for site in (0, 1)]


def test_callbacks_are_enabled_by_who_has_the_seat_only(client):
    _, handle = client.subscribe()
    client.lib.cuptiUnsubscribe(handle)
    assert client.lib.cuptiEnableDomain(1, handle, 2) == INVALID_PARAMETER


def test_the_seat_can_be_another_tools(client):
    client.fault(b"no-seat")
    assert client.subscribe()[0] == MULTIPLE_SUBSCRIBERS
    client.fault(b"no-seat", 0)
    assert client.subscribe()[0] == SUCCESS


def test_lost_records_are_counted(watching):
    watching.fault(b"lose", 3)
    for _ in range(9):
        watching.launch(b"kernel")
    watching.finish()
    assert len(watching.kernels()) == 6
    assert [watching.dropped(), watching.dropped()] == [3, 0]


def test_records_without_a_buffer_are_counted(watching):
    watching.fault(b"no-buffer")
    watching.launch(b"kernel")
    watching.finish()
    assert not watching.records
    watching.fault(b"no-buffer", 0)
    # The kernel's, its call's and that of waiting.
    assert watching.dropped() == 3


def test_records_are_held_until_they_are_released(watching):
    watching.fault(b"hold")
    watching.launch(b"kernel")
    watching.finish()
    watching.lib.cuptiActivityFlushAll(FORCED)
    assert not watching.kernels()
    watching.fault(b"hold", 0)
    watching.finish()
    assert len(watching.kernels()) == 1


def test_buffers_come_out_of_order(watching):
    watching.fault(b"reorder")
    watching.buffer_size = 1024
    for i in range(30):
        watching.launch(b"%d" % i)
    watching.finish()
    names = [int(kernel.name) for kernel in watching.kernels()]
    assert names != sorted(names) and sorted(names) == list(range(30))
    assert watching.dropped() == 0


def test_times_are_on_the_clients_clock(client):
    # A clock of half the speed: what it says of a kernel is half as long.
    half = ctypes.CFUNCTYPE(ctypes.c_uint64)(lambda: client.lib.nogpu_now() // 2)
    client.register()
    client.lib.cuptiActivityRegisterTimestampCallback(half)
    try:
        client.enable("concurrent")
        before = client.lib.nogpu_now() // 2
        client.launch(b"kernel", 50_000_000)
        client.finish()
        (kernel,) = client.kernels()
        assert before - 1_000_000 < kernel.start < client.lib.nogpu_now() // 2
        assert abs(kernel.end - kernel.start - 25_000_000) < 2_500_000
    finally:
        client.lib.cuptiActivityRegisterTimestampCallback(
            ctypes.cast(client.lib.nogpu_now, ctypes.CFUNCTYPE(ctypes.c_uint64)))


def test_a_fault_that_does_not_exist_is_refused(client):
    assert client.lib.nogpu_fault(b"nonsense", 1) == -1
