/* The end of an agent's file, after all that the loader reads: whether the file is whole. A file that lost its end, as
 * after a full disk or a loss of power, would kill the job with SIGBUS when its pages are touched. castscope writes the
 * seal, and the preload library checks it before it loads the agent. C and C++. */
#ifndef CASTSCOPE_INTERPOSED_SEAL_H
#define CASTSCOPE_INTERPOSED_SEAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/hash/fnv1a.h"

#define CASTSCOPE_SEAL_MARK 0x314c414553545343ull /* "CSTSEAL1" */

struct castscope_seal {
  uint64_t mark;
  uint64_t bytes; /* of the file before the seal */
  uint64_t hash;  /* of these bytes */
};

/* Goes on from `hash`, at first CASTSCOPE_FNV1A_START, by words of 8 bytes: one agent takes 0.3 ms. All pieces but the
 * last have a multiple of 8 bytes. */
static inline uint64_t castscope_seal_hash(uint64_t hash, const void* bytes, size_t count) {
  const char* at = (const char*)bytes;
  for (; count > 0;) {
    uint64_t word = 0;
    size_t size = count < sizeof(word) ? count : sizeof(word);
    memcpy(&word, at, size);
    hash = castscope_fnv1a_step(hash, word);
    at += size;
    count -= size;
  }
  return hash;
}

#endif
