/* The interface that preload and agent share: the list of interposed functions, and the table through which the agent
 * takes them. C and C++. A change here changes CASTSCOPE_PRELOAD_ABI: both sides refuse another number. */
#ifndef CASTSCOPE_PRELOAD_INTERFACE_H
#define CASTSCOPE_PRELOAD_INTERFACE_H

#include <stdint.h>

#define CASTSCOPE_PRELOAD_ABI 13

/* X(enumerator, mangled name, may it load the agent in a process that never calls initModule?)
 * Every name is exported by libtorch_cpu, or by libc10 below it, and reached through the PLT, from inside too (checked
 * on 1.13.1, 2.6.0, 2.13.0, 2.14.1 with `readelf -rW`). A name that a PyTorch lacks is never called there and does no
 * harm. OLD_STRING: the name in wheels up to 2.6, which have the std::string of before C++11. */
#define CASTSCOPE_HOOKS(X)                                                                                                                            \
  X(CACHED_CAST, _ZN2at8autocast11cached_castEN3c1010ScalarTypeERKNS_6TensorENS1_10DeviceTypeE, 1)                                                    \
  X(CLEAR_CACHE, _ZN2at8autocast11clear_cacheEv, 0)                                                                                                   \
  X(INCREMENT_NESTING, _ZN2at8autocast17increment_nestingEv, 1)                                                                                       \
  X(DECREMENT_NESTING, _ZN2at8autocast17decrement_nestingEv, 0)                                                                                       \
  X(SET_AUTOCAST_ENABLED, _ZN2at8autocast20set_autocast_enabledEN3c1010DeviceTypeEb, 1)                                                               \
  X(SET_AUTOCAST_CACHE_ENABLED, _ZN2at8autocast26set_autocast_cache_enabledEb, 0)                                                                     \
  X(PRIVATEUSE1_BACKEND, _ZN3c1023get_privateuse1_backendB5cxx11Eb, 0)                                                                                \
  X(ENGINE_EXECUTE, _ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_,                                 \
    0)                                                                                                                                                \
  X(TO_COPY,                                                                                                                                          \
    _ZN2at4_ops8_to_copy4callERKNS_6TensorESt8optionalIN3c1010ScalarTypeEES5_INS6_6LayoutEES5_INS6_6DeviceEES5_IbEbS5_INS6_12MemoryFormatEE,          \
    0)                                                                                                                                                \
  X(TO_COPY_KERNEL,                                                                                                                                   \
    _ZN2at6native8_to_copyERKNS_6TensorESt8optionalIN3c1010ScalarTypeEES4_INS5_6LayoutEES4_INS5_6DeviceEES4_IbEbS4_INS5_12MemoryFormatEE,             \
    0)                                                                                                                                                \
  X(TO_DTYPE, _ZN2at4_ops8to_dtype4callERKNS_6TensorEN3c1010ScalarTypeEbbSt8optionalINS5_12MemoryFormatEE, 0)                                         \
  X(TO_DTYPE_LAYOUT,                                                                                                                                  \
    _ZN2at4_ops15to_dtype_layout4callERKNS_6TensorESt8optionalIN3c1010ScalarTypeEES5_INS6_6LayoutEES5_INS6_6DeviceEES5_IbEbbS5_INS6_12MemoryFormatEE, \
    0)                                                                                                                                                \
  X(TO_DEVICE,                                                                                                                                        \
    _ZN2at4_ops9to_device4callERKNS_6TensorEN3c106DeviceENS5_10ScalarTypeEbbSt8optionalINS5_12MemoryFormatEE, 0)                                      \
  X(TO_OTHER, _ZN2at4_ops8to_other4callERKNS_6TensorES4_bbSt8optionalIN3c1012MemoryFormatEE, 0)                                                       \
  X(FOREACH_COPY, _ZN2at4_ops14_foreach_copy_4callEN3c108ArrayRefINS_6TensorEEES5_b, 0)                                                               \
  X(AMP_UPDATE_SCALE, _ZN2at4_ops18_amp_update_scale_4callERNS_6TensorES3_RKS2_ddl, 0)                                                                \
  X(AMP_UNSCALE, _ZN2at4_ops42_amp_foreach_non_finite_check_and_unscale_4callEN3c108ArrayRefINS_6TensorEEERS4_RKS4_,                                  \
    0)                                                                                                                                                \
  X(FOLD_CONSTANT, _ZN5torch3jit26runNodeIfInputsAreConstantEPKNS0_4NodeEbPNS0_7AliasDbE, 0)                                                          \
  X(JIT_AUTOCAST, _ZN5torch3jit8AutocastERKSt10shared_ptrINS0_5GraphEE, 1)                                                                            \
  X(JIT_INSERT_GRAPH, _ZN5torch3jit11insertGraphERNS0_5GraphES2_N3c108ArrayRefIPNS0_5ValueEEE, 0)                                                     \
  X(JIT_RUN, _ZN5torch3jit16InterpreterState3runERSt6vectorIN3c106IValueESaIS4_EE, 0)                                                                 \
  X(JIT_PLAN, _ZN5torch3jit13GraphExecutor10getPlanForERSt6vectorIN3c106IValueESaIS4_EESt8optionalImE, 0)                                             \
  X(RECORD_FUNCTION, _ZN2at14RecordFunctionC1ENS_11RecordScopeE, 0)                                                                                   \
  X(STEP_CALLBACKS, _ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE, 0)                                                                         \
  X(ERROR_COMPLETE, _ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE, 0)                                      \
  X(ERROR_BASE, _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE, 0)                                          \
  X(PRIVATEUSE1_BACKEND_OLD_STRING, _ZN3c1023get_privateuse1_backendEb, 0)                                                                            \
  X(ERROR_COMPLETE_OLD_STRING, _ZN3c105ErrorC1ENS_14SourceLocationESs, 0)                                                                             \
  X(ERROR_BASE_OLD_STRING, _ZN3c105ErrorC2ENS_14SourceLocationESs, 0)

struct castscope_control;

enum castscope_hook {
#define CASTSCOPE_HOOK_ENUM(name, symbol, loads) CASTSCOPE_HOOK_##name,
  CASTSCOPE_HOOKS(CASTSCOPE_HOOK_ENUM)
#undef CASTSCOPE_HOOK_ENUM
      CASTSCOPE_HOOK_COUNT
};

/* Given to the agent once, by its entry point. Everything in it lives as long as the process. */
struct castscope_preload {
  uint32_t abi; /* CASTSCOPE_PRELOAD_ABI */
  uint32_t hook_count;
  /* slots[i]: where the exported entry point i jumps to (an indirect tail jump, so that the return address is the
   * caller's). The agent stores its function there; storing originals[i] back lets go of it. Any thread may be in a
   * jump meanwhile. */
  void* volatile* slots;
  /* originals[i]: PyTorch's own function, NULL when this PyTorch has none. */
  void* const* originals;
  /* Address of one thread-local pointer of the calling thread; its offset from the thread pointer is the same in all
   * threads. (The symbol castscope_thread, initial-exec TLS of the preload library.) */
  void* thread_slot;
  const char* run_directory; /* where segments go; never NULL */
  const char* torch_library; /* path of libtorch_cpu.so */
  /* Says one sentence on stderr, once per process tree and text; never throws, never blocks for long. */
  void (*say)(const char* sentence);
  /* Writes one line of the agent's log to stderr; never throws, never blocks long. NULL unless CASTSCOPE_LOG=debug. */
  void (*log)(const char* text);
  /* Tells whoever records the run what becomes of this process's record (enum castscope_call_kind in
   * agent/lanes/roll.h). Never throws, never blocks. */
  void (*call)(uint32_t kind, uint32_t segment, uint64_t start_ticks);
  /* CASTSCOPE_REFUSAL_BYTES for the agent that does not start: why, in words that a colon may follow, with an end.
   * Preload says what becomes of the process then. */
  char* refusal;
  /* *control: the control page of this process (agent/lanes/control.h); another one in a forked child. Never NULL. */
  struct castscope_control* const* control;
  /* armed[i]: what slots[i] holds while nothing is watched, NULL: originals[i]. */
  void* const* armed;
  /* entries[i]: the exported entry point i, for a process that was running before the preload library came: PyTorch's
   * calls lead there only where the agent writes it into the tables of loaded objects. NULL in any other process. */
  void* const* entries;
};
#define CASTSCOPE_REFUSAL_BYTES 512

/* The agent's entry points, extern "C", default visibility. Called with the GIL held if Python is there. start: returns
 * 0 when the agent is watching; otherwise `refusal` has why not, and nothing was hooked. */
#define CASTSCOPE_AGENT_START "castscope_agent_start"
typedef int (*castscope_agent_start_fn)(const struct castscope_preload*);
/* exit: called by preload before exit/_exit/_Exit run; writes the end mark. `status` is the one given to exit. */
#define CASTSCOPE_AGENT_EXIT "castscope_agent_exit"
typedef void (*castscope_agent_exit_fn)(int status);
/* attach: the agent has let go, and watches again from here on; called where start is. */
#define CASTSCOPE_AGENT_ATTACH "castscope_agent_attach"
typedef void (*castscope_agent_attach_fn)(void);
/* step: castscope.step() from Python, through preload's exported `castscope_step`. */
#define CASTSCOPE_AGENT_STEP "castscope_agent_step"
typedef void (*castscope_agent_step_fn)(void);
/* metric: castscope.metric() from Python, through preload's exported `castscope_metric`. `name` is UTF-8. */
#define CASTSCOPE_AGENT_METRIC "castscope_agent_metric"
typedef void (*castscope_agent_metric_fn)(const char* name, double value);
/* rule_met: a rule of the policy that Python code carries out ("function models:attend"), through preload's exported
 * `castscope_rule_met`. */
#define CASTSCOPE_AGENT_RULE_MET "castscope_agent_rule_met"
typedef void (*castscope_agent_rule_met_fn)(const char* rule);
/* compared: castscope.compare() has compared modes; its table as JSON, through preload's exported `castscope_compared`.
 * server/report/modes/comparisons.h reads it. */
#define CASTSCOPE_AGENT_COMPARED "castscope_agent_compared"
typedef void (*castscope_agent_compared_fn)(const char* comparison);
/* annotated: the package castscope is about to cast an argument of an annotated function, or serves a copy again,
 * through preload's exported `castscope_annotated`; annotated_end: it has cast, through `castscope_annotated_end`.
 * `tensor` is the TensorImpl, `to` a c10::ScalarType. */
#define CASTSCOPE_ANNOTATED_SERVED 1 /* a copy is served again: nothing is cast */
#define CASTSCOPE_ANNOTATED_KEEPS 2  /* copies of weights are kept */
#define CASTSCOPE_AGENT_ANNOTATED "castscope_agent_annotated"
typedef void (*castscope_agent_annotated_fn)(const char* function, const char* argument, uint32_t position,
                                             const void* tensor, int to, int flags);
#define CASTSCOPE_AGENT_ANNOTATED_END "castscope_agent_annotated_end"
typedef void (*castscope_agent_annotated_end_fn)(void);
/* arrived: an argument arrived at something that the package castscope annotates, through preload's exported
 * `castscope_arrived`. `text` and `detail` are those of lanes::FactKind::kArgumentArrived. */
#define CASTSCOPE_AGENT_ARRIVED "castscope_agent_arrived"
typedef void (*castscope_agent_arrived_fn)(const char* text, int detail);

#endif
