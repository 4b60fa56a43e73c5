// The list of rules: one line each. RULE(cache_grows) stands for `extern const Rule cache_grows`, defined in
// cache_grows.cc.
#define CASTSCOPE_RULES(RULE) \
  RULE(cache_blocks_swap)     \
  RULE(cache_cleared_midway)  \
  RULE(cache_grows)           \
  RULE(cache_holds_input)     \
  RULE(cache_in_cudagraph)    \
  RULE(cache_lost_grad)       \
  RULE(cache_never_cleared)   \
  RULE(cache_setting_lost)    \
  RULE(cache_stale_weight)    \
  RULE(cache_wrong_dtype)     \
  RULE(weight_cast_repeatedly)
