// cuBLAS's headers, without the half types' own headers, which need yet another package.
#pragma once

#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
struct __half;
struct __nv_bfloat16;

#include <cublasLt.h>
#include <cublas_v2.h>
#include <library_types.h>
