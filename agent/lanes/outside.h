/* What a process tells the recorder of its run that reaches neither the run directory nor the roll: it has other file
 * systems, or another user's rights. It sends one datagram to a socket of the kernel's abstract namespace, which has no
 * file, and which every process of the same network namespace can reach. The kernel adds the sender's pid and user.
 *
 * The recorder believes its own user and root. Whoever is another user by now shows that he is of the job by
 * CASTSCOPE_SECRET, 128 random bits in hexadecimal in the environment of the job's processes, which no other user can
 * read: the run directory is no secret, since it stands in command lines. C and C++. */
#ifndef CASTSCOPE_LANES_OUTSIDE_H
#define CASTSCOPE_LANES_OUTSIDE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/hash/fnv1a.h"

#define CASTSCOPE_OUTSIDE_MAGIC 0x3254554f52534143u /* "CASROUT2" */
#define CASTSCOPE_SECRET_LENGTH 32

enum castscope_outside_kind {
  CASTSCOPE_OUTSIDE_NOT_THERE = 1,     /* the run directory is not in its file systems */
  CASTSCOPE_OUTSIDE_NOT_PERMITTED = 2, /* it may not use the run directory */
  CASTSCOPE_OUTSIDE_OWN_RUN = 3        /* it is recorded, as a run of its own */
};

struct castscope_outside {
  uint64_t magic;
  uint32_t kind;
  char secret[CASTSCOPE_SECRET_LENGTH + 1]; /* with its end; "" where it has none */
  char run_directory[PATH_MAX]; /* with its end, which is the datagram's: the socket's name has only a hash of it */
};

/* Returns the length of the address. */
static inline socklen_t castscope_outside_address(struct sockaddr_un* address, const char* run_directory) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  const uint64_t hash = castscope_fnv1a(CASTSCOPE_FNV1A_START, run_directory, strlen(run_directory));
  const int length =
      snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "castscope-run-%016llx", (unsigned long long)hash);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

#endif
