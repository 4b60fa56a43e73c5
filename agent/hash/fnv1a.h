/* FNV-1a with 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): it keeps no secrets, and it is the same on every
 * machine. Its values stand in files and in names of files, so nothing here may ever change. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The start value that the description of FNV-1a gives. */
#define CASTSCOPE_FNV1A_START 14695981039346656037ull
/* The same start value without its last digit, by a slip: hashes of policies, of sources and of sentences begin with it
 * for good. */
#define CASTSCOPE_FNV1A_SHORT_START 1469598103934665603ull

static inline uint64_t castscope_fnv1a_step(uint64_t hash, uint64_t word) { return (hash ^ word) * 1099511628211ull; }

/* Goes on from `hash`: a start value, or the hash of the bytes before these. */
static inline uint64_t castscope_fnv1a(uint64_t hash, const void* bytes, size_t count) {
  const unsigned char* at = (const unsigned char*)bytes;
  for (size_t i = 0; i < count; i++) hash = castscope_fnv1a_step(hash, at[i]);
  return hash;
}
