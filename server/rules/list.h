// The list of rules: one line each. RULE(cache_grows) stands for `extern const Rule cache_grows`, defined in
// cache_grows.cc.
#define CASTSCOPE_RULES(RULE)     \
  RULE(cache_grows)               \
  RULE(cache_never_cleared)       \
  RULE(weight_cast_repeatedly)    \
  RULE(cast_dominates_time)       \
  RULE(cast_undoes_float)         \
  RULE(dtype_double_cast)         \
  RULE(dtype_overflow)            \
  RULE(dtype_ping_pong)           \
  RULE(dtype_position_loss)       \
  RULE(dtype_silent_upcast)       \
  RULE(op_inplace_or_out_skipped) \
  RULE(region_redundant)
