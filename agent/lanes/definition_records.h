// The records of the definition area of a segment (format.h). Their closed lists are in closed_lists.h. The same
// records go over the wire unchanged.
#pragma once

#include <cstdint>

#include "agent/lanes/closed_lists.h"

namespace castscope::lanes {

// Flags of FactKind::kArgumentArrived.
inline constexpr std::uint16_t kArrivedKept = 256;     // never_cast names it
inline constexpr std::uint16_t kArrivedHeldOff = 512;  // … and otherwise it would have been cast there, or within
// The c10::ScalarType that it was cast to, in the six bits from this one on; all set: it was not cast.
inline constexpr unsigned kArrivedCastTo = 10;
inline constexpr std::uint16_t kArrivedNotCast = 63;
enum class ErrorKind : std::uint16_t { kNative = 0, kPython = 1 };

// ---------------------------------------------------------------------------------------------------------------

// Numbers are given per kind, from 1; 0 = none. A record stands before the first use of its number. Only kCallSite may
// be repeated when more is known: the last one counts.
//   KIND(enumerator, number, the record)
#define CASTSCOPE_DEFINITION_KINDS(KIND)                                                                              \
  KIND(kString, 1, StringDefinition)                                                                                  \
  KIND(kCode, 2, CodeDefinition)                                                                                      \
  KIND(kStack, 3, StackDefinition)                                                                                    \
  KIND(kModule, 4, ModuleDefinition)                                                                                  \
  KIND(kOperator, 5, OperatorDefinition)                                                                              \
  KIND(kCallSite, 6, CallSiteDefinition)                                                                              \
  KIND(kRegion, 7, RegionDefinition)                                                                                  \
  KIND(kSite, 8, SiteDefinition)                                                                                      \
  KIND(kThread, 9, ThreadDefinition)                                                                                  \
  KIND(kAttribute, 10, AttributeDefinition)                                                                           \
  KIND(kOperatorUse, 11, OperatorUseDefinition) /* from here on numbered in one series with the sites, and counted */ \
  KIND(kFlow, 12, FlowDefinition)                                                                                     \
  KIND(kFact, 13, FactDefinition)                                                                                     \
  KIND(kKernel, 14, KernelDefinition)                                                                                 \
  KIND(kMatmul, 15, MatmulDefinition)

#define CASTSCOPE_DEFINITION_KIND(kind, number, ...) kind = number,
enum class DefinitionKind : std::uint16_t { CASTSCOPE_DEFINITION_KINDS(CASTSCOPE_DEFINITION_KIND) };
#undef CASTSCOPE_DEFINITION_KIND

// Returns whether a process numbers this kind in one series with its sites, and counts it as it counts them. A kind
// that is on no list is not counted.
constexpr bool is_counted_beside_sites(DefinitionKind kind) {
  switch (kind) {
#define CASTSCOPE_IS_COUNTED(kind, ...) \
  case DefinitionKind::kind:            \
    return DefinitionKind::kind >= DefinitionKind::kOperatorUse;
    CASTSCOPE_DEFINITION_KINDS(CASTSCOPE_IS_COUNTED)
#undef CASTSCOPE_IS_COUNTED
  }
  return false;
}

struct DefinitionHeader {
  std::uint32_t size;     // bytes of the whole record, a multiple of 8
  std::uint32_t payload;  // bytes after this header that carry data
  DefinitionKind kind;
  std::uint16_t reserved;
  std::uint32_t id;
};

// The text itself: UTF-8, not terminated; DefinitionHeader::payload is its length.
struct StringDefinition {};
struct CodeDefinition {
  std::uint32_t file;      // string
  std::uint32_t function;  // string: qualified name
  std::uint32_t first_line;
};
// File names of code that torch.fx wrote from a graph: of torch.export, of Dynamo for a compiler that calls the
// operators in Python, of any GraphModule. The frame of such code stands behind the lines that the graph remembers.
inline constexpr char kExportedProgram[] = "<exported program>";
inline constexpr char kCompiledGraph[] = "<compiled graph>";
inline constexpr char kGraphModule[] = "<graph module>";
struct Frame {
  std::uint32_t code;
  std::uint32_t line;
};
struct StackDefinition {
  std::uint32_t count;
  std::uint32_t truncated;  // 1: there were more frames outwards
  // Frame frames[count], innermost first
};
struct ModuleDefinition {
  std::uint32_t path;       // string: "encoder.layers.0.linear1", "" for the outermost module itself
  std::uint32_t type;       // string: class of the module
  std::uint32_t root_type;  // string: class of the outermost module
  // Number of the outermost module among the living ones of that class, in the order of their first use: 1, 2, … A
  // number is given again when its module is gone, so that modules made in a loop count as one.
  std::uint32_t root_number;
};
struct OperatorDefinition {
  std::uint32_t name;  // string: "aten::linear", "aten::norm.ScalarOpt_dim"
};
inline constexpr std::uint32_t kUnknownArgument = 0xffffffff;
struct CallSiteDefinition {
  std::uint32_t op;             // operator, 0 = not known
  std::uint32_t argument;       // position in the schema, or kUnknownArgument
  std::uint32_t argument_name;  // string, 0 = not known
  std::uint32_t code_address;   // string: "libtorch_cpu.so+0x1234", for doctor
};
struct RegionDefinition {
  std::uint32_t stack;   // where it was entered
  std::uint32_t parent;  // region around it, 0 = outermost
  std::uint32_t nesting;
  std::uint8_t device;  // c10::DeviceType
  std::uint8_t dtype;   // c10::ScalarType
  std::uint8_t enabled;
  std::uint8_t cache_enabled;
  RegionKind kind;
  std::uint8_t flags;  // kRegion…
  std::uint8_t reserved[2];
};
inline constexpr std::uint8_t kRegionAskedEnabled = 1;  // the code asked for an enabled region and got a disabled one
inline constexpr std::uint8_t kRegionBadDtype = 2;      // … because autocast does not know the dtype on this device
inline constexpr std::uint8_t kRegionNoDevice = 4;      // … because the device is not there
inline constexpr std::uint8_t kRegionDefaultDtype = 8;  // no dtype was given
// The region is entered around a call that only makes what runs later, when the region is left: a decorated class,
// generator function or coroutine function.
inline constexpr std::uint8_t kRegionRunsLater = 16;
// The region is outermost in its thread and has the cache on, while another thread is in a region that has it off.
inline constexpr std::uint8_t kRegionCacheOffElsewhere = 32;
// The region is of a script whose autocast pass is off, or was not run; set beside kRegionAskedEnabled.
inline constexpr std::uint8_t kRegionScriptOff = 64;
struct SiteDefinition {
  std::uint32_t stack;  // 0 for pass-throughs and traced calls, which are not counted by stack
  std::uint32_t module;
  std::uint32_t call_site;  // cause autocast; script, and its backward, where the node is known; else 0
  std::uint32_t op;         // other causes: the operator that converted, when known; else 0
  std::uint32_t region;
  // Cause backward: the site of the cast in the forward pass whose gradient is cast; 0 = not known. It is defined
  // before.
  std::uint32_t forward_site;
  Role role;
  Cause cause;
  WhyNotCached why;
  Phase phase;
  std::uint8_t from;    // c10::ScalarType
  std::uint8_t to;      // c10::ScalarType
  std::uint8_t device;  // c10::DeviceType of the source
  std::uint8_t flags;   // kSite…
};
inline constexpr std::uint8_t kSitePassThrough = 1;  // counts passes by (call site, region) only
inline constexpr std::uint8_t kSiteTraced = 2;       // counts calls on FakeTensors by (call site, region) only
inline constexpr std::uint8_t kSiteNoCast = kSitePassThrough | kSiteTraced;
inline constexpr std::uint8_t kSiteBaked = 8;  // eager autocast's cast, repeated by a graph that was traced in a region
inline constexpr std::uint8_t kSiteCompiled = 16;  // a cast of a torch.compile graph: counted when the graph runs
// The cast was made while torch.jit.trace recorded code, or ran it again to check the trace: it says nothing about what
// the job does again and again.
inline constexpr std::uint8_t kSiteTracing = 32;
inline constexpr std::uint8_t kSiteParameter = 4;  // the source is a torch.nn.Parameter, or a view of one
// An operator as a line of code, or a backward node, called it in a deep step.
struct OperatorUseDefinition {
  std::uint32_t stack;
  std::uint32_t module;
  std::uint32_t op;
  std::uint32_t region;
  std::uint32_t node;  // string: backward node that called it ("MmBackward0"); 0 = none
  Phase phase;
  std::uint8_t device;      // c10::DeviceType of the first tensor
  std::uint8_t computed;    // c10::ScalarType that it computed in, after autocast's casts; 0xff = no float
  std::uint8_t result;      // c10::ScalarType of the first tensor that it gave back; 0xff = none
  std::uint16_t flags;      // kUse…
  std::uint16_t operands;   // how many Operand follow
  std::uint32_t arguments;  // string: names of its schema's arguments, a comma between them; 0 = not known
  // Operand operands[operands], tensors only, in the order of the schema; at most kMostOperands
};
struct Operand {
  std::uint8_t argument;  // position in the schema
  std::uint8_t dtype;     // c10::ScalarType as given, before any cast
  Role role;
  std::uint8_t flags;  // kOperand…
  // c10::ScalarType in which the operator's autocast kernel passed it on; 0xff = no such kernel ran
  std::uint8_t entered = 0xff;
};
inline constexpr std::uint32_t kMostOperands = 8;
inline constexpr std::uint8_t kOperandScalar = 1;  // 0-dim: takes no part in promotion among tensors with dimensions
inline constexpr std::uint8_t kOperandRequiresGrad = 2;
inline constexpr std::uint8_t kOperandNumber = 4;        // a Python number
inline constexpr std::uint8_t kOperandBoxes = 8;         // its name in the schema says that it holds places in an image
inline constexpr std::uint8_t kOperandElsewhere = 16;    // on another kind of device than the first tensor
inline constexpr std::uint16_t kUseEligible = 1;         // has a kernel on the Autocast key of its device
inline constexpr std::uint16_t kUseSiblingEligible = 2;  // it has none, but its functional out-of-place form has
inline constexpr std::uint16_t kUseView = 4;             // its result is a view of an argument's data
inline constexpr std::uint16_t kUseWrites = 8;           // it writes to an argument
inline constexpr std::uint16_t kUseConverts = 16;        // it is a conversion: to, _to_copy, type_as, …
inline constexpr std::uint16_t kUseReduces = 32;         // its result has one element, an argument has more
inline constexpr std::uint16_t kUseGradMode = 64;        // grad mode was on
inline constexpr std::uint16_t kUseOthersOpen = 128;     // no region here, but an enabled one is open in another thread
inline constexpr std::uint16_t kUseScript = 512;         // TorchScript's interpreter called it
inline constexpr std::uint16_t kUseCompiled = 1024;      // it is part of a graph of torch.compile
inline constexpr std::uint16_t kUseTraced = 2048;        // beside kUseScript: the code was traced, not scripted
inline constexpr std::uint16_t kUseTracing = 4096;  // it ran while torch.jit.trace recorded code, or checked the trace
// Grad mode was off, and no thread of the process had called backward yet: code that builds a model, or tries it out.
inline constexpr std::uint16_t kUseBeforeTraining = 8192;
inline constexpr std::uint16_t kUseElsewhere = 256;  // it has an Autocast kernel for another device, not for its own
// A flow in a thread's deep step: a result of `from` was an argument of `to`.
struct FlowDefinition {
  std::uint32_t from;     // operator use
  std::uint32_t to;       // operator use
  std::uint8_t argument;  // position in the schema of `to`
  std::uint8_t cast_to;   // c10::ScalarType that autocast cast it to on its way into the kernel; 0xff = not cast
  std::uint8_t reserved[2];
};
struct FactDefinition {
  FactKind kind;
  std::uint16_t detail;
  std::uint32_t subject;  // site, operator use or region, as the kind says; 0 = none
  std::uint32_t stack;
  std::uint32_t text;  // string
};
// Work that a GPU did for a cast or an operator, in a step whose kernels were timed.
struct KernelDefinition {
  std::uint32_t site;    // the cast that launched it; 0 = no cast did
  std::uint32_t use;     // operator use within which it was launched; 0 = none, or not known
  std::uint32_t op;      // operator, also where it has no use (one without floats); 0 = launched outside any
  std::uint32_t name;    // string: CUPTI's name for it (a mangled symbol), "Memcpy DtoD", "Memset"
  std::uint32_t origin;  // string: the graph that launched it, "0/1 forward (train.py:12)"; 0 = none
  std::uint16_t device;  // CUDA's number
  GpuWork work;
  std::uint8_t flags;  // kKernel…
};
inline constexpr std::uint8_t kKernelReplayed = 1;  // a CUDA graph's replay; site, use and op are those of its capture
// The operator that launched it was not known any more when the record came.
inline constexpr std::uint8_t kKernelUnplaced = 2;

// A call of cuBLAS or cuBLASLt in a deep step. Column-major, as in cuBLAS: C (m × n) = A (m × k) · B (k × n). n = 1 for
// a product with a vector (cublasSgemv_v2), which Tensor Cores never compute.
struct MatmulDefinition {
  std::uint32_t use;       // operator use within which it was called; 0 = none
  std::uint32_t op;        // operator; 0 = called outside any
  std::uint32_t function;  // string: "cublasGemmEx"
  std::uint32_t m, n, k;   // 0 = this use had too many different ones to list each
  std::uint32_t batch;
  std::uint32_t lda, ldb, ldc;  // elements
  std::uint8_t a, b, c;         // c10::ScalarType; 0xff = one that PyTorch does not have
  MatmulCompute compute;
  // log2 of the bytes that its address and columns are aligned to, at most 8. Without sizes: the smallest of the use,
  // for each
  std::uint8_t align_a, align_b, align_c;
  std::uint8_t flags;  // kMatmul…
};
inline constexpr std::uint8_t kMatmulTransposeA = 1;
inline constexpr std::uint8_t kMatmulTransposeB = 2;
inline constexpr std::uint8_t kMatmulPedantic = 4;  // CUBLAS_PEDANTIC_MATH, or a _PEDANTIC compute type
// Partial sums of a split product may be added up in the dtype of the result (allow_…_reduced_precision_reduction).
inline constexpr std::uint8_t kMatmulReducedReduction = 8;
inline constexpr std::uint8_t kMatmulEpilogue = 16;  // bias, activation, … are part of the call
struct ThreadDefinition {
  std::uint32_t lane;
  std::uint32_t tid;
  std::uint32_t name;  // string: the kernel's name of the thread
};
// "command_line", "cwd", "host", "torch_version", "python_version", "rank", "local_rank", "world_size", "notice",
// "policy_rule_met"; "deep" and "gpu": the settings of these names. Those that are not plain:
//   "command_line" the words, with a zero byte between two; with blanks between them in older segments
//   "gpu_device"   "0 NVIDIA H100 80GB HBM3, compute capability 9.0"
//   "gpu_timed_by" "CUPTI 13.0": it times the kernels; "CUDA events": only casts were timed, in some steps;
//                  "none: REASON"
//   "gpu_seat"     "FROM TO WHO": another client had the seat from FROM to TO, in ns since the segment's begin; TO =
//   "-"
//                  while it has it. Told again when it is over: of several with the same FROM the last one counts.
//   "gpu_math"     "allow_tf32=0 …": settings that decide what matrix products compute in
// server/ingest/validation/attribute_names.cc has the names that older agents say instead.
struct AttributeDefinition {
  std::uint32_t key;    // string
  std::uint32_t value;  // string
};

#define CASTSCOPE_KIND_OF(kind, number, Type) \
  constexpr DefinitionKind kind_of(const Type&) { return DefinitionKind::kind; }
CASTSCOPE_DEFINITION_KINDS(CASTSCOPE_KIND_OF)
#undef CASTSCOPE_KIND_OF

static_assert(sizeof(DefinitionHeader) == 16);
static_assert(sizeof(SiteDefinition) == 32 && sizeof(RegionDefinition) == 20);
static_assert(sizeof(OperatorUseDefinition) == 32 && sizeof(Operand) == 5);
static_assert(sizeof(FlowDefinition) == 12 && sizeof(FactDefinition) == 16);
static_assert(sizeof(KernelDefinition) == 24 && sizeof(MatmulDefinition) == 48);

}  // namespace castscope::lanes
