/* The roll of a run: the processes of a job call here that they have PyTorch, that they have begun a segment, that they
 * cannot be recorded. `castscope run` makes it, in memory that belongs to no folder, and tells the job by
 * CASTSCOPE_ROLL where to find it: so it learns of a process whose files it never sees, because somebody removed them,
 * or the whole run directory, and it can say what is missing. C and C++.
 *
 * CASTSCOPE_ROLL=PID:FD:DEVICE:INODE:RUN-DIRECTORY names it: /proc/PID/fd/FD is the memory, if device and inode are
 * these, and if CASTSCOPE_RUN is that run directory. Its size is sealed, so that touching it is never a SIGBUS.
 *
 * Under a bare LD_PRELOAD nobody is there before the first process, which makes the roll as the file
 * <run directory>/roll: it tells of segments that were removed, and of the directory as long as it is mapped. */
#ifndef CASTSCOPE_LANES_ROLL_H
#define CASTSCOPE_LANES_ROLL_H

#include <stdint.h>

#define CASTSCOPE_ROLL_MAGIC 0x314c4c4f52534143u /* "CASROLL1" */
#define CASTSCOPE_BARE_ROLL "roll"
#define CASTSCOPE_ROLL_CALLS 1024
#define CASTSCOPE_ROLL_SENTENCES 8
#define CASTSCOPE_ROLL_SENTENCE_BYTES 512

enum castscope_call_kind {
  CASTSCOPE_CALL_SEGMENT = 1,   /* it has begun the segment <pid>-<segment>.lanes: there are casts in it */
  CASTSCOPE_CALL_UNRECORDED = 2 /* from here on it is not recorded */
};

/* A slot is free, then claimed by a process, then filled; the reader makes it free again. */
enum castscope_call_state { CASTSCOPE_CALL_FREE = 0, CASTSCOPE_CALL_CLAIMED = 1, CASTSCOPE_CALL_FILLED = 2 };

struct castscope_call {
  uint32_t state, kind;
  int32_t pid;
  uint32_t segment;
  uint64_t start_ticks; /* of the process; 0 = not known */
};

struct castscope_roll {
  uint64_t magic;
  uint32_t closed;     /* the run is over: nobody reads what comes now */
  uint32_t with_torch; /* how many processes have loaded PyTorch */
  uint32_t lost;       /* calls that found no free slot */
  uint32_t next;       /* where to look for a free slot first */
  struct castscope_call calls[CASTSCOPE_ROLL_CALLS];
  /* Each is claimed by its first byte; the sentence follows, with an end. */
  char sentences[CASTSCOPE_ROLL_SENTENCES][CASTSCOPE_ROLL_SENTENCE_BYTES];
};

#endif
