// The closed lists: why a conversion happened, what was cast, what a fact says. Each is written once, here; the agent's
// enumerators, the collector's checks, the words in run files and reports and their number follow from it. Numbers
// stand in segments and run files: add at the end, never change one or give it again.
//
// A list is a macro that hands each of its values to another one:
//   VALUE(enumerator, number, "word in run files and reports", "what it means")
#pragma once

#include <cstddef>
#include <cstdint>

namespace castscope::lanes {

// Why a conversion between floating dtypes happened.
#define CASTSCOPE_CAUSES(VALUE)                                                                                    \
  VALUE(kUnknown, 0, "unknown", "It is not known.")                                                                \
  VALUE(kAutocast, 1, "autocast",                                                                                  \
        "at::autocast::cached_cast: what autocast's cast policies do to an operator's arguments.")                 \
  VALUE(kUserTo, 2, "user_to", ".to(), .half(), .float(), .bfloat16(), .type(), … called from Python code.")       \
  VALUE(kDtypeArgument, 3, "dtype_argument",                                                                       \
        "A kernel on an Autocast key that only sets the operator's dtype argument (fp32_set_opt_dtype, "           \
        "fp32_append_dtype): the operator then converts by itself.")                                               \
  VALUE(kCustomCast, 4, "custom_cast",                                                                             \
        "A cast made in Python on behalf of autocast: torch.library.register_autocast, "                           \
        "custom_fwd(cast_inputs=…).")                                                                              \
  VALUE(kPromotion, 5, "promotion",                                                                                \
        "TensorIterator brings operands of different dtypes to a common one (bf16 + fp32).")                       \
  VALUE(kBackward, 6, "backward",                                                                                  \
        "Made by the autograd engine or a backward node, chiefly ToCopyBackward0 of a cast in forward.")           \
  VALUE(kScript, 7, "script", "TorchScript's _autocast_to_reduced_precision and _autocast_to_full_precision.")     \
  VALUE(kOperator, 8, "operator",                                                                                  \
        "An operator converts inside its own implementation, for a reason of its own. So do the operators that "   \
        "PyTorch wrote in Python (torch/_refs, torch/_decomp, _prims_common), which forward-mode AD runs for "     \
        "torch.func.jvp.")                                                                                         \
  VALUE(kFsdp, 9, "fsdp",                                                                                          \
        "FSDP's mixed-precision policy: parameters, inputs, buffers and outputs of a wrapped module.")             \
  VALUE(kCompiled, 10, "compiled",                                                                                 \
        "Autocast's, carried out by a graph of torch.compile. (What decompositions convert in such a graph is an " \
        "operator's; what its backward graph does is backward's.)")                                                \
  VALUE(kReflatten, 11, "reflatten",                                                                               \
        "Autocast's kernel for cuDNN's RNN (_cudnn_rnn): it copies all weights into one buffer at every call, in " \
        "float16 also where the region's dtype is bfloat16. There is no cache.")                                   \
  VALUE(kAnnotation, 12, "annotation",                                                                             \
        "The package castscope's, for an annotation in the source or a function that a policy names: "             \
        "half_function, float_function, promote_function, force_fp32, never_cast and their like, where autocast "  \
        "is on. The operator of such a site is the annotated function, its argument that function's. "             \
        "castscope.amp keeps copies of weights for them.")                                                         \
  VALUE(kPytorch, 13, "pytorch",                                                                                   \
        "Python code of PyTorch's own: GradScaler, torch.testing, the check of a trace, optimizers. What it was "  \
        "told to convert (Module.half()) is user_to.")

// The role of the cast tensor for the operator that consumes it. docs/life-of-a-cast.md has the deciding rule.
#define CASTSCOPE_ROLES(VALUE)                                                                                   \
  VALUE(kUnknown, 0, "unknown", "It is not known.")                                                              \
  VALUE(kInput, 1, "input", "Data that came into the computation: no gradient history, not a parameter.")        \
  VALUE(kWeight, 2, "weight",                                                                                    \
        "A torch.nn.Parameter, or what stands in a weight's place: by the argument's name, or a leaf that "      \
        "requires grad as second factor of a matrix product; in TorchScript also a constant of the graph, such " \
        "as a frozen model's weights and buffers.")                                                              \
  VALUE(kBuffer, 3, "buffer", "A registered buffer of the innermost module.")                                    \
  VALUE(kActivation, 4, "activation", "A result of earlier operators.")                                          \
  VALUE(kGradient, 5, "gradient", "A gradient, in backward.")

#define CASTSCOPE_PHASES(VALUE)                                                                               \
  VALUE(kUnknown, 0, "unknown", "It is not known.")                                                           \
  VALUE(kForward, 1, "forward", "An autocast region is open in this thread, and it is not running backward.") \
  VALUE(kBackward, 2, "backward", "The thread runs an autograd graph task.")                                  \
  VALUE(kOther, 3, "other", "Outside any region and backward: optimizer, data preparation.")

// Why a cast was not kept in the autocast cache: the first that holds, in the order of PyTorch's own test.
#define CASTSCOPE_REASONS_NOT_TO_CACHE(VALUE)                                                                      \
  VALUE(kNone, 0, "none", "It was kept, or served from the cache.")                                                \
  VALUE(kInferenceMode, 1, "inference_mode", "torch.inference_mode() is on.")                                      \
  VALUE(kCacheDisabled, 2, "cache_disabled", "autocast(cache_enabled=False).")                                     \
  VALUE(kOtherDtype, 3, "other_dtype",                                                                             \
        "It is cast to another dtype than the region's, as float32-policy operators do.")                          \
  VALUE(kNotFp32, 4, "not_fp32", "The source is not float32.")                                                     \
  VALUE(kNoRequiresGrad, 5, "no_requires_grad", "The source does not require grad: frozen weights, plain inputs.") \
  VALUE(kNotLeaf, 6, "not_leaf", "The source is a result of other operators.")                                     \
  VALUE(kView, 7, "view", "The source is a view, such as w.t().")                                                  \
  VALUE(kCudaGraph, 8, "cuda_graph", "The source is kept by CUDA graph trees (at::caching::is_cached_tensor).")    \
  VALUE(kNotAutocast, 9, "not_autocast", "Another cause than cached_cast: there is no cache.")                     \
  VALUE(kScript, 10, "script", "A graph of TorchScript, which casts at each use.")

#define CASTSCOPE_REGION_KINDS(VALUE)                                                                             \
  VALUE(kNone, 0, "none", "There is no region.")                                                                  \
  VALUE(kContext, 1, "context", "autocast.__enter__: a with statement, a decorator, _enter_autocast.")            \
  VALUE(kRaw, 2, "raw", "torch.set_autocast_enabled without a context manager.")                                  \
  VALUE(kInherited, 3, "inherited", "The thread got its state from elsewhere, as autograd's threads do.")         \
  VALUE(kScript, 4, "script",                                                                                     \
        "Of scripted code: it is not a state of a thread. TorchScript's interpreter enters it, its casts are in " \
        "the graph.")

// The kinds of facts. A fact is something that was seen and is not a cast. It has a place, a stack, and is counted.
//    FACT(enumerator, number, "word", what its subject is, "what it means")
#define CASTSCOPE_FACT_KINDS(FACT)                                                                                 \
  FACT(kUnknown, 0, "unknown", kNothing, "It is not known.")                                                       \
  FACT(kStaleHit, 1, "stale_hit", kSite,                                                                           \
       "The cache served a copy of what the source no longer is; detail: Staleness.")                              \
  FACT(kLostGrad, 2, "lost_grad", kSite,                                                                           \
       "The copy served has no graph, though grad mode is on and the source needs one.")                           \
  FACT(kError, 3, "error", kOperatorUse,                                                                           \
       "An exception was made; subject: the operator that it came from, where that is known; text: its message; "  \
       "detail: ErrorKind.")                                                                                       \
  FACT(kUnscale, 4, "unscale", kNothing,                                                                           \
       "GradScaler unscaled an optimizer's gradients; detail 1: some were not finite, 2: a GPU knows, 3: not "     \
       "stepped.")                                                                                                 \
  FACT(kUpdate, 5, "update", kNothing, "GradScaler updated its scale.")                                            \
  FACT(kOptimizerStep, 6, "optimizer_step", kNothing,                                                              \
       "text: the optimizer's class; detail 1: within GradScaler.step.")                                           \
  FACT(kBackward, 7, "backward", kRegion,                                                                          \
       "Tensor.backward or autograd.backward or grad was called; subject: the region in force; detail 1: "         \
       "gradients were asked for (autograd.grad), none were accumulated; text: a sign that the loss is scaled by " \
       "hand, as the first call there shows it ('the loss is a product', 'gradients of the loss are given').")     \
  FACT(kRegionLeaked, 8, "region_leaked", kRegion,                                                                 \
       "Operators ran in a region whose opener, a coroutine or a generator, was suspended: it was left open "      \
       "across an await or a yield; stack: of the first of them, text: its name; counted when the region is "      \
       "left.")                                                                                                    \
  FACT(kRegionNeverLeft, 9, "region_never_left", kRegion,                                                          \
       "Its thread or the process ended without leaving it; stack: where it was entered; detail 1: it was left "   \
       "and autocast stays as in it, since its object was entered again within it and forgot what to go back to.") \
  FACT(kScale, 10, "scale", kNothing, "GradScaler scaled a loss; deep steps only.")                                \
  FACT(kClip, 11, "clip", kNothing, "Gradients were clipped; deep steps only.")                                    \
  FACT(kScriptRefused, 12, "script_refused", kNothing,                                                             \
       "TorchScript's autocast pass raised; stack: the region in the script, text: the message.")                  \
  FACT(kScriptIgnoresDtype, 13, "script_ignores_dtype", kNothing,                                                  \
       "stack: a script's region whose dtype is not a constant; detail: c10::ScalarType taken instead.")           \
  FACT(kScriptIgnoresDisable, 14, "script_ignores_disable", kSite,                                                 \
       "A cast in a script's region with autocast off; text: that region, 'file:line'.")                           \
  FACT(kTraceDropsDisable, 15, "trace_drops_disable", kSite,                                                       \
       "A cast of what was traced in a region with autocast off; text: that region, 'file:line'; detail 1: as "    \
       "the source has it.")                                                                                       \
  FACT(kTraceDropsRegion, 16, "trace_drops_region", kNothing,                                                      \
       "Scripted code was called in a region while tracing; stack: the call that traces; text: that region.")      \
  FACT(kCompiled, 17, "compiled", kNothing,                                                                        \
       "stack: the call that compiles; text: '0/1 forward (train.py:12)', the compile id and the code.")           \
  FACT(kRecompiled, 18, "recompiled", kNothing,                                                                    \
       "The same, for a guard that failed; text: '0/1 forward (train.py:12): GUARD'.")                             \
  FACT(kCompileCastsBackward, 19, "compile_casts_backward", kNothing,                                              \
       "A compiled backward pass runs outside of autocast, which casts in it; stack: the operator in it, text: "   \
       "its name, detail: c10::ScalarType.")                                                                       \
  FACT(kCompileStateUnguarded, 20, "compile_state_unguarded", kNothing,                                            \
       "Compiled code runs whose region has no dtype of its own, and the default is another by now; stack: that "  \
       "region, detail: c10::ScalarType that it was compiled with.")                                               \
  FACT(kCompileBypassesCache, 21, "compile_bypasses_cache", kNothing,                                              \
       "stack: the call that compiles; text: PyTorch's reason.")                                                   \
  FACT(kCompileSkipsRounding, 22, "compile_skips_rounding", kNothing,                                              \
       "stack: the line whose results a fused kernel keeps in float32; counted by values.")                        \
  FACT(kExportDropsRegion, 23, "export_drops_region", kRegion,                                                     \
       "stack: the call that exports within the region; detail 1: it decomposes.")                                 \
  FACT(kScriptDropsDecorator, 24, "script_drops_decorator", kNothing,                                              \
       "A decorated method was scripted: PyTorch drops the decorator. stack: the method; text: the decorator, as " \
       "far as it is known.")                                                                                      \
  FACT(kScriptStopsAtPython, 25, "script_stops_at_python", kOperatorUse,                                           \
       "Python code that a script calls in a region of its own runs outside of it; subject: an operator that it "  \
       "calls, stack: the region in the script.")                                                                  \
  FACT(kArgumentArrived, 26, "argument_arrived", kNothing,                                                         \
       "An argument arrived at a function that castscope annotates, or at an operator some of whose arguments "    \
       "are never cast; text: function, argument and annotation, a tab between them; detail: c10::ScalarType "     \
       "that arrived in bits 0-7, kArrivedKept in bit 8, kArrivedHeldOff in bit 9, the dtype that it was cast to " \
       "in bits 10-15, all of them set when it was not.")                                                          \
  FACT(kScriptLeavesArgument, 27, "script_leaves_argument", kNothing,                                              \
       "An operator of a script raised whose other arguments TorchScript's pass casts; text: its name and those "  \
       "that are left as they come, 'aten::conv2d bias: Optional[Tensor]'.")                                       \
  FACT(kMetric, 28, "metric", kNothing, "The job told a number of its step by castscope.metric; text: its name.")  \
  FACT(kOlderCopy, 29, "older_copy", kSite,                                                                        \
       "The cache served a copy that was made before castscope began to watch: who made it is not known.")

// How the source of a cached copy differs from what was cast.
#define CASTSCOPE_STALENESSES(VALUE)                                                      \
  VALUE(kNone, 0, "none", "It does not.")                                                 \
  VALUE(kSameValues, 1, "same_values", "It was written to, with the values that it had.") \
  VALUE(kVersion, 2, "version", "Its version counter was raised, and the values differ.") \
  VALUE(kMoved, 3, "moved", "It looks at other memory (p.data = …).")                     \
  VALUE(kUnversioned, 4, "unversioned",                                                   \
        "The values differ and no version counter says so: fused optimizers, NumPy views, writes to .data.")

// The kinds of work that a GPU did.
#define CASTSCOPE_GPU_WORKS(VALUE)                  \
  VALUE(kUnknown, 0, "unknown", "It is not known.") \
  VALUE(kKernel, 1, "kernel", "A kernel ran.")      \
  VALUE(kCopy, 2, "copy", "Memory was copied.")     \
  VALUE(kSet, 3, "set", "Memory was set.")          \
  VALUE(kCastByEvents, 4, "cast_by_events",         \
        "A launch of a cast, timed by CUDA events: its time is at most that. Nothing else of its step is known.")

// The format that a matrix product computes in, and adds up in.
#define CASTSCOPE_MATMUL_COMPUTES(VALUE)                                                   \
  VALUE(kUnknown, 0, "unknown", "It is not known.")                                        \
  VALUE(kFp16, 1, "fp16", "fp16, added up in fp16.")                                       \
  VALUE(kFp32, 2, "fp32", "Inputs as they are (fp32, bf16, fp16, fp8), added up in fp32.") \
  VALUE(kTf32, 3, "tf32", "fp32 inputs rounded to TF32's 10 bits, added up in fp32.")      \
  VALUE(kFastFp16, 4, "fast_fp16", "fp32 inputs rounded to fp16.")                         \
  VALUE(kFastBf16, 5, "fast_bf16", "fp32 inputs rounded to bf16.")                         \
  VALUE(kBf16x9, 6, "bf16x9", "fp32 emulated by nine products of bf16.")                   \
  VALUE(kFp64, 7, "fp64", "fp64.")                                                         \
  VALUE(kInt32, 8, "int32", "int32.")

// ---- The enumeration of each list, and the number of its values, follow from the lists.

#define CASTSCOPE_ENUMERATOR(value, number, ...) value = number,
#define CASTSCOPE_ONE(...) +1
#define CASTSCOPE_CLOSED_LIST(Name, Type, LIST)                          \
  enum class Name : Type { LIST(CASTSCOPE_ENUMERATOR) };                 \
  constexpr std::size_t count_of(Name) { return 0 LIST(CASTSCOPE_ONE); } \
  static_assert(                                                         \
      [] {                                                               \
        constexpr std::size_t numbers[] = {LIST(CASTSCOPE_NUMBER)};      \
        for (std::size_t i = 0; i < count_of(Name{}); ++i)               \
          if (numbers[i] != i) return false;                             \
        return true;                                                     \
      }(),                                                               \
      "the numbers of a closed list are 0, 1, 2, … in their order")
#define CASTSCOPE_NUMBER(value, number, ...) number,

CASTSCOPE_CLOSED_LIST(Cause, std::uint8_t, CASTSCOPE_CAUSES);
CASTSCOPE_CLOSED_LIST(Role, std::uint8_t, CASTSCOPE_ROLES);
CASTSCOPE_CLOSED_LIST(Phase, std::uint8_t, CASTSCOPE_PHASES);
CASTSCOPE_CLOSED_LIST(WhyNotCached, std::uint8_t, CASTSCOPE_REASONS_NOT_TO_CACHE);
CASTSCOPE_CLOSED_LIST(RegionKind, std::uint8_t, CASTSCOPE_REGION_KINDS);
CASTSCOPE_CLOSED_LIST(FactKind, std::uint16_t, CASTSCOPE_FACT_KINDS);
CASTSCOPE_CLOSED_LIST(Staleness, std::uint16_t, CASTSCOPE_STALENESSES);
CASTSCOPE_CLOSED_LIST(GpuWork, std::uint8_t, CASTSCOPE_GPU_WORKS);
CASTSCOPE_CLOSED_LIST(MatmulCompute, std::uint8_t, CASTSCOPE_MATMUL_COMPUTES);

// Whether the list has a number that came from elsewhere.
template <typename List>
constexpr bool is_listed(List value) {
  return static_cast<std::size_t>(value) < count_of(value);
}

// The kind of thing that is the subject of a fact.
enum class FactSubject : std::uint8_t { kNothing, kSite, kOperatorUse, kRegion };
constexpr FactSubject subject_of(FactKind kind) {
#define CASTSCOPE_SUBJECT(value, number, word, subject, meaning) FactSubject::subject,
  constexpr FactSubject subjects[] = {CASTSCOPE_FACT_KINDS(CASTSCOPE_SUBJECT)};
#undef CASTSCOPE_SUBJECT
  return is_listed(kind) ? subjects[static_cast<std::size_t>(kind)] : FactSubject::kNothing;
}

}  // namespace castscope::lanes
