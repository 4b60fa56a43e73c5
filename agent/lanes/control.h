/* The control page of a process, `<run directory>/<pid>.control`: by it castscope asks a running process to watch, to
 * let go, or for deep steps. The process makes the file, maps it, and looks at it where a thread enters its outermost
 * autocast region; no thread waits for it, and no lock is shared. Whoever records the run writes into it, for people
 * who ask at the run's socket (server/cli/attaching). C and C++. */
#ifndef CASTSCOPE_LANES_CONTROL_H
#define CASTSCOPE_LANES_CONTROL_H

#include <stdint.h>

#define CASTSCOPE_CONTROL_MAGIC 0x314c4f52544e4f43ull /* "CONTROL1" */

enum castscope_wanted {
  CASTSCOPE_WANTED_AWAY = 0,         /* let go, before the next outermost region; where a thread is in none */
  CASTSCOPE_WANTED_AT_REGION = 1,    /* watch, from the next outermost region on */
  CASTSCOPE_WANTED_AT_ONCE = 2,      /* watch, from the next cast on, within whatever regions are open */
  CASTSCOPE_WANTED_AWAY_AT_ONCE = 3, /* let go at the next optimizer step, within whatever regions are open */
};

enum castscope_control_state {
  CASTSCOPE_CONTROL_ARMED = 0,   /* nothing is recorded, and the hooks are PyTorch's own functions */
  CASTSCOPE_CONTROL_WATCHES = 1, /* it is recorded */
  CASTSCOPE_CONTROL_REFUSES = 2, /* it cannot be recorded: the process has said why */
  CASTSCOPE_CONTROL_HOLDS = 3,   /* it is recorded, and does not let go: a policy is carried out in it */
};

/* Each word has one writer, and is read and written whole. */
struct castscope_control {
  uint64_t magic; /* written last: a page without it is not ready */
  /* by castscope */
  uint32_t wanted;     /* enum castscope_wanted */
  uint32_t deep_asked; /* deep steps that were asked for so far */
  /* by the process */
  uint32_t state;      /* enum castscope_control_state */
  uint32_t deep_begun; /* of deep_asked: so many have begun */
  uint32_t deep_first; /* number of the first step of the last request; the others follow it */
  uint32_t spans;      /* how often it has begun to watch */
};

#define CASTSCOPE_CONTROL_BYTES 4096

static inline int castscope_wants_away(const struct castscope_control* page) {
  const uint32_t wanted = __atomic_load_n(&page->wanted, __ATOMIC_ACQUIRE);
  return wanted == CASTSCOPE_WANTED_AWAY || wanted == CASTSCOPE_WANTED_AWAY_AT_ONCE;
}

#endif
