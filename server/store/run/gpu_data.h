// What GPUs did in the steps whose kernels were timed, and the matrix products that libraries were asked for in deep
// steps. Part of RunData (run_data.h); ids are run-wide (ids.h).
#pragma once

#include <cstdint>
#include <string>

#include "agent/lanes/format.h"
#include "server/store/run/ids.h"

namespace castscope::store {

// What a cast or an operator had a GPU do: one row for all launches alike.
struct Kernel {
  KernelId id = {};
  SiteId site = {};        // the cast that launched it
  OperatorUseId use = {};  // within which it was launched
  KernelNameId name = {};
  std::string op;      // "aten::mm"; also where it has no use; "" = launched outside any
  std::string origin;  // the graph that launched it, "" = none
  std::uint16_t device = 0;
  lanes::GpuWork work{};
  std::uint8_t flags = 0;  // lanes::kKernel…
  bool replayed() const { return flags & lanes::kKernelReplayed; }
  bool unplaced() const { return flags & lanes::kKernelUnplaced; }
};
struct KernelCount {  // (process, kernel)
  ProcessId process = {};
  KernelId kernel = {};
  std::uint64_t launches = 0, bytes = 0, ns = 0;  // ns: on the device
};

// A call of cuBLAS, as lanes::MatmulDefinition has it: column-major, C (m × n) = A (m × k) · B (k × n).
struct MatmulCall {
  std::uint32_t m = 0, n = 0, k = 0, batch = 0;  // m = 0: too many different ones to tell each
  std::uint32_t lda = 0, ldb = 0, ldc = 0;       // elements
  std::uint8_t a = 0xff, b = 0xff, c = 0xff;     // c10::ScalarType
  lanes::MatmulCompute compute{};
  std::uint8_t align_a = 0, align_b = 0, align_c = 0;  // log2 of bytes
  std::uint8_t flags = 0;                              // lanes::kMatmul…
  bool is(std::uint8_t flag) const { return flags & flag; }
};
struct Matmul {
  MatmulId id = {};
  OperatorUseId use = {};
  std::string op, function;  // "aten::mm", "cublasGemmEx"
  MatmulCall call;

  static constexpr const char* kName = "matrix product";
  static constexpr const char* kTable = "matmuls";
  static constexpr const char* kTimes = "calls";
  template <typename Self, typename Column>
  static void columns(Self& matmul, Column column) {
    auto& c = matmul.call;
    column("operator_use", matmul.use);
    column("operator", matmul.op);
    column("library_function", matmul.function);
    column("m", c.m), column("n", c.n), column("k", c.k), column("batch_count", c.batch);
    column("lda", c.lda), column("ldb", c.ldb), column("ldc", c.ldc);
    column("a_dtype", c.a), column("b_dtype", c.b), column("c_dtype", c.c), column("matmul_compute", c.compute);
    column("a_alignment_log2", c.align_a), column("b_alignment_log2", c.align_b), column("c_alignment_log2", c.align_c);
    column("matmul_flags", c.flags);
  }
};

}  // namespace castscope::store
