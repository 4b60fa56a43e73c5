// Everything that depends on the PyTorch version, apart from the inline reads in tensor_facts.h: the dispatcher's
// tables, and RecordFunction. No torch header is needed to include this.
//
// Sources: aten/src/ATen/core/dispatch/{Dispatcher,OperatorEntry}.h, boxing/{KernelFunction,BoxedKernel}.h,
// record_function.h of the PyTorch that the agent is built against.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/memory/own_memory.h"
#include "agent/torch/attention.h"

namespace castscope::agent {

// One native function that is the kernel (or the only wrapper of a kernel) of an operator on an Autocast key.
struct AutocastKernel {
  std::uintptr_t function;
  memory::OwnString op;  // "aten::linear", "aten::norm.ScalarOpt_dim"
};
// All autocast kernels that the dispatcher knows at this moment, over all Autocast keys. Functions that serve several
// operators are left out: they do not name an operator.
memory::OwnVector<AutocastKernel> autocast_kernels();

// The functor of the kernel that an operator has on a c10::DispatchKey; nullptr when there is no kernel, or it is not a
// functor.
const void* kernel_in_force(std::string_view op, std::uint16_t dispatch_key);

// Names of an operator's arguments in the order of its schema; empty when it is unknown.
std::vector<std::string> argument_names(std::string_view op);

// The dispatcher's name for a generated class at::_ops::NAME: "add_Tensor" → "aten::add.Tensor". The overload is split
// off where such a schema exists; "" when none does.
std::string operator_of_symbol(std::string_view name);
// Whether autocast may set this operator's dtype argument (fp32_set_opt_dtype, fp32_append_dtype): it has a kernel on
// an Autocast key, in this or another overload, and an argument of that name.
bool sets_dtype_argument(std::string_view op);

// The operator whose RecordFunction event encloses the present call in this thread, and the places of `tensor` (a
// TensorImpl*) among its arguments. Only while recording is on.
struct EnclosingOperator {
  std::string op;                        // "" = none
  std::vector<std::uint32_t> positions;  // several when the tensor was passed more than once
};
EnclosingOperator enclosing_operator(const void* tensor);

// Called at the begin or end of a RecordFunction range of scope USER_SCOPE, with the range's name:
// "Optimizer.step#SGD.step".
using UserScope = void (*)(const char* name);

// Registers the callbacks, once, when the agent starts ("only during the program initialization", record_function.h).
// Operators are recorded from then on. False when the system has no means for it.
bool add_record_callbacks(UserScope user_scope_begin, UserScope user_scope_end);
// Operator recording costs some 0.7 us an operator. It ends by itself after so many operators since it was last asked
// for: the first steps of a job bring nearly all of its call sites. (disableCallback and reenableCallback are safe at
// any time, in a callback too.)
inline constexpr std::uint64_t kIdleOperators = 20'000;
void watch_operators();
void stop_watching_operators();  // for good
// Whether castscope hears of anything at all: switched off, no callback of its own is called.
void listen_to_records(bool on);
void watch_operators_in_child();  // in a forked child, before anything else here
inline bool operator_recording() { return (attention() & kLearning) != 0; }

// TORCH_VERSION of the headers that the agent was built with, for the report's attributes.
const char* compiled_torch_version();

// Whether PyTorch asks cuBLAS for TF32 in products of float32 (torch.backends.cuda.matmul). Any thread may call it: it
// reads single words, which the job's Python sets. PyTorch's own getter, allowTF32CuBLAS, warns, or throws where a job
// has set it by both the old and the new interface (since 2.9).
bool tf32_is_allowed();

// Threads that PyTorch uses for one operator on the CPU (torch.get_num_threads). In a thread that has run no parallel
// operator yet it sets the number for that thread, as PyTorch does at the first one.
int torch_thread_count();

}  // namespace castscope::agent
