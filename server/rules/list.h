// The list of rules: one line each. RULE(cache_grows) stands for `extern const Rule cache_grows`, defined in
// cache_grows.cc.
#define CASTSCOPE_RULES(RULE)          \
  RULE(autograd_fn_undecorated)        \
  RULE(autograd_fn_wrong_dtype)        \
  RULE(checkpoint_recompute_differs)   \
  RULE(cache_grows)                    \
  RULE(cache_never_cleared)            \
  RULE(weight_cast_repeatedly)         \
  RULE(phase_dtype_drift)              \
  RULE(op_fp32_by_policy)              \
  RULE(policy_default_dtype)           \
  RULE(policy_device_differs)          \
  RULE(policy_protected_arg_cast)
