"""A client of CUPTI in Python, as far as the tests of its double need one: buffers, records, the seat."""

import ctypes
import threading
from ctypes import POINTER, byref, c_char_p, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

KINDS = {"memcpy": 1, "memset": 2, "kernel": 3, "driver": 4, "runtime": 5, "concurrent": 10, "overhead": 17,
         "synchronization": 38, "external": 39}
CUSTOM0, CUSTOM2 = 3, 5
SUCCESS, INVALID_PARAMETER, INVALID_OPERATION, QUEUE_EMPTY = 0, 1, 7, 18
MULTIPLE_SUBSCRIBERS = 39
FORCED = 1


class Kernel(ctypes.Structure):
    _pack_ = 8
    _fields_ = [("kind", c_uint32), ("cache", c_uint8), ("shared_config", c_uint8), ("registers", c_uint16),
                ("partitioned", c_uint32 * 2), ("start", c_uint64), ("end", c_uint64), ("completed", c_uint64),
                ("device", c_uint32), ("context", c_uint32), ("stream", c_uint32), ("grid", c_uint32 * 3),
                ("block", c_uint32 * 3), ("static_shared", c_uint32), ("dynamic_shared", c_uint32),
                ("local", c_uint32 * 2), ("correlation", c_uint32), ("grid_id", c_int64), ("name", c_char_p)]


class Memcpy(ctypes.Structure):
    _pack_ = 8
    _fields_ = [("kind", c_uint32), ("copy_kind", c_uint8), ("source", c_uint8), ("target", c_uint8),
                ("flags", c_uint8), ("bytes", c_uint64), ("start", c_uint64), ("end", c_uint64), ("device", c_uint32),
                ("context", c_uint32), ("stream", c_uint32), ("correlation", c_uint32)]


class Api(ctypes.Structure):
    _pack_ = 8
    _fields_ = [("kind", c_uint32), ("cbid", c_uint32), ("start", c_uint64), ("end", c_uint64), ("process", c_uint32),
                ("thread", c_uint32), ("correlation", c_uint32), ("result", c_uint32)]


class External(ctypes.Structure):
    _pack_ = 8
    _fields_ = [("kind", c_uint32), ("external_kind", c_uint32), ("external", c_uint64), ("correlation", c_uint32)]


STRUCTS = {1: Memcpy, 3: Kernel, 4: Api, 5: Api, 10: Kernel, 39: External}
REQUESTED = ctypes.CFUNCTYPE(None, POINTER(c_void_p), POINTER(c_size_t), POINTER(c_size_t))
COMPLETED = ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_void_p, c_size_t, c_size_t)


class CallbackData(ctypes.Structure):
    _fields_ = [("site", c_uint32), ("function", c_char_p), ("params", c_void_p), ("result", c_void_p),
                ("symbol", c_char_p), ("context", c_void_p), ("context_id", c_uint32),
                ("correlation_data", POINTER(c_uint64)), ("correlation", c_uint32)]


CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_uint32, POINTER(CallbackData))


class Client:
    """Keeps the records in `records`, in the order of delivery; `buffers` has the number of records in each buffer."""

    def __init__(self, path, buffer_size=1 << 16):
        self.lib = ctypes.CDLL(path)
        self.lib.nogpu_launch.argtypes = [c_char_p, c_uint64, c_uint64]
        self.lib.nogpu_memcpy.argtypes = [c_uint64]
        self.lib.nogpu_fault.argtypes = [c_char_p, c_uint64]
        self.lib.nogpu_kernel_ns.argtypes = [c_char_p, c_uint64]
        self.lib.nogpu_kernel_ns.restype = self.lib.nogpu_now.restype = c_uint64
        self.lib.cuptiUnsubscribe.argtypes = [c_void_p]
        self.lib.cuptiActivityPushExternalCorrelationId.argtypes = [c_uint32, c_uint64]
        self.records, self.buffers, self.lent, self.buffer_size = [], [], {}, buffer_size
        self.delivered = threading.Event()
        self.requested, self.completed = REQUESTED(self._requested), COMPLETED(self._completed)

    def register(self):
        return self.lib.cuptiActivityRegisterCallbacks(self.requested, self.completed)

    def enable(self, *kinds):
        return [self.lib.cuptiActivityEnable(KINDS[kind]) for kind in kinds]

    def launch(self, name, ns=0, stream=0):
        return self.lib.nogpu_launch(name, ns, stream)

    def finish(self):
        self.lib.nogpu_synchronize()
        assert self.lib.cuptiActivityFlushAll(0) == SUCCESS

    def dropped(self):
        count = c_size_t()
        assert self.lib.cuptiActivityGetNumDroppedRecords(None, 0, byref(count)) == SUCCESS
        return count.value

    def fault(self, name, value=1):
        assert self.lib.nogpu_fault(name, value) == 0

    def subscribe(self, callback=lambda *_: None):
        handle = c_void_p()
        self.callback = CALLBACK(callback)
        return self.lib.cuptiSubscribe(byref(handle), self.callback, None), handle

    def kernels(self):
        return [record for record in self.records if isinstance(record, Kernel)]

    def close(self):
        for fault in (b"lose", b"reorder", b"hold", b"no-seat", b"no-buffer"):
            self.fault(fault, 0)
        self.lib.nogpu_synchronize()
        self.lib.cuptiFinalize()
        self.dropped()

    def _requested(self, buffer, size, most):
        memory = ctypes.create_string_buffer(self.buffer_size + 8)
        address = (ctypes.addressof(memory) + 7) & ~7
        self.lent[address] = memory
        buffer[0], size[0], most[0] = address, self.buffer_size, 0

    def _completed(self, context, stream, buffer, size, valid):
        record, before = c_void_p(), len(self.records)
        while self.lib.cuptiActivityGetNextRecord(c_void_p(buffer), c_size_t(valid), byref(record)) == SUCCESS:
            kind = c_uint32.from_address(record.value).value
            if kind in STRUCTS:
                self.records.append(STRUCTS[kind].from_buffer_copy(
                    ctypes.string_at(record.value, ctypes.sizeof(STRUCTS[kind]))))
        self.buffers.append(len(self.records) - before)
        del self.lent[buffer]
        self.delivered.set()
