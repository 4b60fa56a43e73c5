"""Descriptors of the double's cuBLASLt: what is set can be read, as castscope reads it where PyTorch calls."""

import ctypes
import os
import pathlib
from ctypes import byref, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

import pytest

BUILT = pathlib.Path(os.environ.get("CASTSCOPE_GPU_DOUBLE") or "nowhere")
pytestmark = pytest.mark.skipif(not (BUILT / "libcublasLt.so.13").is_file(),
                                reason="CASTSCOPE_GPU_DOUBLE names no folder with the whole double")
FLOAT32, BFLOAT16 = 0, 14
COMPUTE_32F = 68
TYPE, ROWS, COLS, LD, BATCHES = 0, 2, 3, 4, 5
COMPUTE, SCALE, TRANSPOSED_A, EPILOGUE, BIAS = 0, 1, 3, 7, 8
SUCCESS, INVALID_VALUE = 0, 7


@pytest.fixture
def lt():
    return ctypes.CDLL(str(BUILT / "libcublasLt.so.13"))


def read(get, descriptor, attribute, kind):
    value, written = kind(), c_size_t()
    assert get(descriptor, attribute, byref(value), c_size_t(ctypes.sizeof(value)), byref(written)) == SUCCESS
    assert written.value == ctypes.sizeof(value)
    return value.value


def layout(lt, *shape):
    made = c_void_p()
    assert lt.cublasLtMatrixLayoutCreate(byref(made), BFLOAT16, *map(c_uint64, shape[:2]), c_int64(shape[2])) == SUCCESS
    return made


def test_a_layout_is_what_it_was_made_of(lt):
    made = layout(lt, 64, 32, 128)
    get = lt.cublasLtMatrixLayoutGetAttribute
    kinds = ((TYPE, c_uint32), (ROWS, c_uint64), (COLS, c_uint64), (LD, c_int64), (BATCHES, c_int32))
    assert [read(get, made, attribute, kind) for attribute, kind in kinds] == [BFLOAT16, 64, 32, 128, 1]
    assert lt.cublasLtMatrixLayoutSetAttribute(made, BATCHES, byref(c_int32(8)), c_size_t(4)) == SUCCESS
    assert read(get, made, BATCHES, c_int32) == 8
    assert get(made, ROWS, byref(c_uint32()), c_size_t(4), None) == INVALID_VALUE
    assert lt.cublasLtMatrixLayoutDestroy(made) == SUCCESS


def test_a_product_is_what_was_set(lt):
    made = c_void_p()
    assert lt.cublasLtMatmulDescCreate(byref(made), COMPUTE_32F, FLOAT32) == SUCCESS
    get = lt.cublasLtMatmulDescGetAttribute
    assert [read(get, made, attribute, c_int32) for attribute in (COMPUTE, SCALE, TRANSPOSED_A)] == [COMPUTE_32F, 0, 0]
    assert get(made, BIAS, byref(c_uint64()), c_size_t(8), None) != SUCCESS
    lt.cublasLtMatmulDescSetAttribute(made, TRANSPOSED_A, byref(c_int32(1)), c_size_t(4))
    lt.cublasLtMatmulDescSetAttribute(made, EPILOGUE, byref(c_uint32(4)), c_size_t(4))
    assert [read(get, made, attribute, c_int32) for attribute in (TRANSPOSED_A, EPILOGUE)] == [1, 4]
    assert lt.cublasLtMatmulDescDestroy(made) == SUCCESS
