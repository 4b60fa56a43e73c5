#include "agent/matmuls/cublas_calls.h"

#include <algorithm>
#include <concepts>
#include <limits>

#include "agent/matmuls/cublas_abi.h"
#include "agent/matmuls/matmul_call.h"
#include "agent/matmuls/matmul_compute.h"

namespace castscope::matmuls {
namespace {

using namespace cublas;  // NOLINT(google-build-using-namespace): the names of a foreign interface, in its one user

enum class Function : std::uint16_t {
#define CASTSCOPE_FUNCTION_NAME(name, signature, type) name,
  CASTSCOPE_CUBLAS_FUNCTIONS(CASTSCOPE_FUNCTION_NAME)
#undef CASTSCOPE_FUNCTION_NAME
};
extern imports::Import g_imports[];

struct Getters {
  std::atomic<GetMathMode*> math_mode{nullptr};
  std::atomic<LtDescGetAttribute*> desc{nullptr};
  std::atomic<LtLayoutGetAttribute*> layout{nullptr};
  std::atomic<LtAlgoGetAttribute*> algo{nullptr};
} g_getters;

struct Known {
  const char* name;
  DataType type;  // dtype of the matrices, if the name tells it
};

template <std::integral Int>
std::uint32_t size(Int value) {
  if (value <= 0) return 0;
  const auto whole = static_cast<std::uint64_t>(value);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(whole, std::numeric_limits<std::uint32_t>::max()));
}
template <std::integral Int>
std::uint64_t elements(Int value) {
  return static_cast<std::uint64_t>(value);  // as unsigned, a negative number keeps its alignment
}

unsigned mode_of(Handle handle) {
  MathMode mode = kDefaultMath;
  GetMathMode* const get = g_getters.math_mode.load(std::memory_order_acquire);
  return get != nullptr && get(handle, &mode) == kSuccess ? static_cast<unsigned>(mode) : unsigned{kDefaultMath};
}

bool is_small(DataType type) { return type == kR16F || type == kR16BF || type == kC16F || type == kC16BF; }

// A matrix as the arguments of a call describe it.
struct Matrix {
  const void* address;  // nullptr: not known, it stands in the device's memory
  DataType type;
  std::uint64_t leading, stride = 0;
};

MatmulCall product(const char* function, Operation a_as, Operation b_as, const Matrix& a, const Matrix& b,
                   const Matrix& c, ComputeType type, unsigned mode) {
  MatmulCall call;
  call.function = function;
  call.lda = size(static_cast<std::int64_t>(a.leading));
  call.ldb = size(static_cast<std::int64_t>(b.leading));
  call.ldc = size(static_cast<std::int64_t>(c.leading));
  call.a = scalar_type(a.type);
  call.b = scalar_type(b.type);
  call.c = scalar_type(c.type);
  call.align_a = alignment(a.address, a.leading, a.stride, a.type);
  call.align_b = alignment(b.address, b.leading, b.stride, b.type);
  call.align_c = alignment(c.address, c.leading, c.stride, c.type);
  static const Tf32Override tf32 = tf32_override();
  const Compute compute = compute_of(type, a.type, mode, tf32);
  call.compute = compute.compute;
  call.flags = compute.flags;
  if (a_as != kNoTranspose) call.flags |= lanes::kMatmulTransposeA;
  if (b_as != kNoTranspose) call.flags |= lanes::kMatmulTransposeB;
  if (is_small(c.type) && compute.compute == lanes::MatmulCompute::kFp32 &&
      (mode & kDisallowReducedPrecisionReduction) == 0)
    call.flags |= lanes::kMatmulReducedReduction;
  return call;
}

template <typename Int>
MatmulCall sized(MatmulCall call, Int m, Int n, Int k, Int batch) {
  call.m = size(m);
  call.n = size(n);
  call.k = size(k);
  call.batch = size(batch);
  return call;
}

// One for each signature. GemmEx:
template <typename Int>
void record_matmul(const Known& f, Handle handle, Operation ta, Operation tb, Int m, Int n, Int k, const void*,
                   const void* a, DataType type_a, Int lda, const void* b, DataType type_b, Int ldb, const void*,
                   void* c, DataType type_c, Int ldc, ComputeType compute, GemmAlgo) {
  const MatmulCall call = product(f.name, ta, tb, {a, type_a, elements(lda)}, {b, type_b, elements(ldb)},
                                  {c, type_c, elements(ldc)}, compute, mode_of(handle));
  matmul_called(sized(call, m, n, k, Int{1}));
}

// GemmStridedBatchedEx
template <typename Int>
void record_matmul(const Known& f, Handle handle, Operation ta, Operation tb, Int m, Int n, Int k, const void*,
                   const void* a, DataType type_a, Int lda, long long stride_a, const void* b, DataType type_b, Int ldb,
                   long long stride_b, const void*, void* c, DataType type_c, Int ldc, long long stride_c, Int batch,
                   ComputeType compute, GemmAlgo) {
  const MatmulCall call = product(f.name, ta, tb, {a, type_a, elements(lda), elements(stride_a)},
                                  {b, type_b, elements(ldb), elements(stride_b)},
                                  {c, type_c, elements(ldc), elements(stride_c)}, compute, mode_of(handle));
  matmul_called(sized(call, m, n, k, batch));
}

// GemmBatchedEx
template <typename Int>
void record_matmul(const Known& f, Handle handle, Operation ta, Operation tb, Int m, Int n, Int k, const void*,
                   const void* const*, DataType type_a, Int lda, const void* const*, DataType type_b, Int ldb,
                   const void*, void* const*, DataType type_c, Int ldc, Int batch, ComputeType compute, GemmAlgo) {
  const MatmulCall call = product(f.name, ta, tb, {nullptr, type_a, elements(lda)}, {nullptr, type_b, elements(ldb)},
                                  {nullptr, type_c, elements(ldc)}, compute, mode_of(handle));
  matmul_called(sized(call, m, n, k, batch));
}

// GemmGroupedBatchedEx: a product for each group.
template <typename Int>
void record_matmul(const Known& f, Handle handle, const Operation* ta, const Operation* tb, const Int* m, const Int* n,
                   const Int* k, const void*, const void* const*, DataType type_a, const Int* lda, const void* const*,
                   DataType type_b, const Int* ldb, const void*, void* const*, DataType type_c, const Int* ldc,
                   Int groups, const Int* sizes, ComputeType compute) {
  const unsigned mode = mode_of(handle);
  for (Int i = 0; i < groups; ++i) {
    const MatmulCall call =
        product(f.name, ta[i], tb[i], {nullptr, type_a, elements(lda[i])}, {nullptr, type_b, elements(ldb[i])},
                {nullptr, type_c, elements(ldc[i])}, compute, mode);
    matmul_called(sized(call, m[i], n[i], k[i], sizes[i]));
  }
}

// Gemm
template <typename Int>
void record_matmul(const Known& f, Handle handle, Operation ta, Operation tb, Int m, Int n, Int k, const void*,
                   const void* a, Int lda, const void* b, Int ldb, const void*, void* c, Int ldc) {
  const MatmulCall call = product(f.name, ta, tb, {a, f.type, elements(lda)}, {b, f.type, elements(ldb)},
                                  {c, f.type, elements(ldc)}, compute_type_of(f.type), mode_of(handle));
  matmul_called(sized(call, m, n, k, Int{1}));
}

// GemmStridedBatched
template <typename Int>
void record_matmul(const Known& f, Handle handle, Operation ta, Operation tb, Int m, Int n, Int k, const void*,
                   const void* a, Int lda, long long stride_a, const void* b, Int ldb, long long stride_b, const void*,
                   void* c, Int ldc, long long stride_c, Int batch) {
  const MatmulCall call = product(
      f.name, ta, tb, {a, f.type, elements(lda), elements(stride_a)}, {b, f.type, elements(ldb), elements(stride_b)},
      {c, f.type, elements(ldc), elements(stride_c)}, compute_type_of(f.type), mode_of(handle));
  matmul_called(sized(call, m, n, k, batch));
}

// GemmBatched
template <typename Int>
void record_matmul(const Known& f, Handle handle, Operation ta, Operation tb, Int m, Int n, Int k, const void*,
                   const void* const*, Int lda, const void* const*, Int ldb, const void*, void* const*, Int ldc,
                   Int batch) {
  const MatmulCall call = product(f.name, ta, tb, {nullptr, f.type, elements(lda)}, {nullptr, f.type, elements(ldb)},
                                  {nullptr, f.type, elements(ldc)}, compute_type_of(f.type), mode_of(handle));
  matmul_called(sized(call, m, n, k, batch));
}

// TypedGemmEx
template <typename Int>
void record_matmul(const Known& f, Handle handle, Operation ta, Operation tb, Int m, Int n, Int k, const void*,
                   const void* a, DataType type_a, Int lda, const void* b, DataType type_b, Int ldb, const void*,
                   void* c, DataType type_c, Int ldc) {
  const MatmulCall call = product(f.name, ta, tb, {a, type_a, elements(lda)}, {b, type_b, elements(ldb)},
                                  {c, type_c, elements(ldc)}, compute_type_of(f.type), mode_of(handle));
  matmul_called(sized(call, m, n, k, Int{1}));
}

// Gemv: the vectors are matrices of one column. Its inner loop is not a matrix product: no Tensor Cores, so no TF32.
template <typename Int>
void record_matmul(const Known& f, Handle handle, Operation ta, Int m, Int n, const void*, const void* a, Int lda,
                   const void* x, Int, const void*, void* y, Int) {
  const Int rows = ta == kNoTranspose ? m : n, inner = ta == kNoTranspose ? n : m;
  const unsigned pedantic = (mode_of(handle) & kModeBits) == kPedanticMath ? kPedanticMath : kDefaultMath;
  MatmulCall call = product(f.name, ta, kNoTranspose, {a, f.type, elements(lda)}, {x, f.type, elements(inner)},
                            {y, f.type, elements(rows)}, compute_type_of(f.type), pedantic);
  if (call.compute == lanes::MatmulCompute::kTf32) call.compute = lanes::MatmulCompute::kFp32;
  matmul_called(sized(call, rows, Int{1}, inner, Int{1}));
}

template <typename T, typename Get, typename Of, typename Attribute>
T attribute(Get* get, Of of, Attribute which, T otherwise) {
  T value{};
  std::size_t written = 0;
  const bool got = get != nullptr && of != nullptr && get(of, which, &value, sizeof value, &written) == kSuccess;
  return got && written == sizeof value ? value : otherwise;
}

struct Layout {
  Matrix matrix;
  std::uint64_t rows, columns;
  std::int32_t batch;
};

Layout layout_of(const void* address, LtLayout layout) {
  LtLayoutGetAttribute* const get = g_getters.layout.load(std::memory_order_acquire);
  Layout l{};
  l.matrix.type = static_cast<DataType>(attribute<std::uint32_t>(get, layout, kLtType, kNotInTorch));
  l.rows = attribute<std::uint64_t>(get, layout, kLtRows, 0);
  l.columns = attribute<std::uint64_t>(get, layout, kLtColumns, 0);
  l.matrix.leading = elements(attribute<std::int64_t>(get, layout, kLtLeading, 0));
  l.batch = attribute<std::int32_t>(get, layout, kLtBatch, 1);
  if (l.batch > 1) l.matrix.stride = elements(attribute<std::int64_t>(get, layout, kLtBatchStride, 0));
  const bool array = attribute<std::uint32_t>(get, layout, kLtBatchMode, 0) == kLtPointerArray;
  l.matrix.address = array ? nullptr : address;
  return l;
}

// cuBLASLt has no math mode: the compute type stands for it. How partial sums are added up is part of the algorithm,
// which the caller or cuBLASLt has chosen.
unsigned reduction_of(const LtAlgoStruct* algo) {
  constexpr std::uint32_t kAny = kLtReductionInPlace | kLtReductionInOutputType;
  const std::uint32_t scheme =
      attribute<std::uint32_t>(g_getters.algo.load(std::memory_order_acquire), algo, kLtReductionScheme, kAny);
  return (scheme & kAny) != 0 ? unsigned{kDefaultMath} : unsigned{kDisallowReducedPrecisionReduction};
}

// LtMatmul
void record_matmul(const Known& f, LtHandle, LtMatmulDesc desc, const void*, const void* a, LtLayout a_layout,
                   const void* b, LtLayout b_layout, const void*, const void*, LtLayout, void* d, LtLayout d_layout,
                   const LtAlgoStruct* algo, void*, std::size_t, StreamStruct*) {
  LtDescGetAttribute* const get = g_getters.desc.load(std::memory_order_acquire);
  const auto compute = static_cast<ComputeType>(attribute<std::int32_t>(get, desc, kLtComputeType, 0));
  const auto ta = static_cast<Operation>(attribute<std::int32_t>(get, desc, kLtTransposeA, kNoTranspose));
  const auto tb = static_cast<Operation>(attribute<std::int32_t>(get, desc, kLtTransposeB, kNoTranspose));
  const Layout of_a = layout_of(a, a_layout), of_b = layout_of(b, b_layout), of_d = layout_of(d, d_layout);
  MatmulCall call = product(f.name, ta, tb, of_a.matrix, of_b.matrix, of_d.matrix, compute, reduction_of(algo));
  if (attribute<std::uint32_t>(get, desc, kLtEpilogue, kLtDefaultEpilogue) != kLtDefaultEpilogue)
    call.flags |= lanes::kMatmulEpilogue;
  const std::uint64_t inner = ta == kNoTranspose ? of_a.columns : of_a.rows;
  matmul_called(sized<std::uint64_t>(call, of_d.rows, of_d.columns, inner, static_cast<std::uint64_t>(of_d.batch)));
}

template <Function F>
constexpr Known kKnown{};
#define CASTSCOPE_KNOWN(name, signature, type) \
  template <>                                  \
  constexpr Known kKnown<Function::name>{#name, type};
CASTSCOPE_CUBLAS_FUNCTIONS(CASTSCOPE_KNOWN)
#undef CASTSCOPE_KNOWN

template <Function F, typename... Args>
auto original() {
  return reinterpret_cast<Status (*)(Args...)>(imports::original_of(g_imports[static_cast<std::size_t>(F)]));
}

// The arguments are read after the call, if it succeeded: until it returns, nothing else may touch them.
template <Function F, typename... Args>
[[gnu::noinline]] Status call_and_record(Args... args) {
  const Status status = original<F, Args...>()(args...);
  if (status == kSuccess) record_matmul(kKnown<F>, args...);
  return status;
}

// Compiles to a jump at its end.
template <Function F, typename... Args>
Status called(Args... args) {
  if (g_matmuls_wanted.load(std::memory_order_relaxed)) [[unlikely]]
    return call_and_record<F>(args...);
  return original<F, Args...>()(args...);
}

template <Function F, typename Signature>
void* replacement() {
  return reinterpret_cast<void*>(static_cast<Signature*>(&called<F>));
}

imports::Import g_imports[] = {
#define CASTSCOPE_IMPORT(name, signature, type) {#name, replacement<Function::name, signature>()},
    CASTSCOPE_CUBLAS_FUNCTIONS(CASTSCOPE_IMPORT)
#undef CASTSCOPE_IMPORT
};

template <typename Get>
void find(std::atomic<Get*>& getter, Function beside, const char* name) {
  const void* const original = imports::original_of(g_imports[static_cast<std::size_t>(beside)]);
  if (original == nullptr) return;
  if (void* const found = imports::function_beside(original, name))
    getter.store(reinterpret_cast<Get*>(found), std::memory_order_release);
}

}  // namespace

std::span<imports::Import> cublas_imports() { return g_imports; }

void find_cublas_getters() noexcept {
  // A program may call only some of these; all are in one library.
  for (const Function f : {Function::cublasGemmEx, Function::cublasSgemm_v2, Function::cublasDgemm_v2})
    find(g_getters.math_mode, f, "cublasGetMathMode");
  find(g_getters.desc, Function::cublasLtMatmul, "cublasLtMatmulDescGetAttribute");
  find(g_getters.layout, Function::cublasLtMatmul, "cublasLtMatrixLayoutGetAttribute");
  find(g_getters.algo, Function::cublasLtMatmul, "cublasLtMatmulAlgoConfigGetAttribute");
}

}  // namespace castscope::matmuls
