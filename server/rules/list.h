// The list of rules: one line each. RULE(cache_grows) stands for `extern const Rule cache_grows`, defined in
// cache_grows.cc.
#define CASTSCOPE_RULES(RULE) \
  RULE(cache_grows)           \
  RULE(cache_never_cleared)   \
  RULE(weight_cast_repeatedly)
