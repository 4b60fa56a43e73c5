/* Sentences that a process could not leave as files: it gave up the right to the run directory, changed its root, or
 * has no descriptor left. Each process maps <run directory>/said-unfiled when its agent starts, and its forked children
 * inherit the mapping. A slot is claimed by its first byte, and the sentence follows, with an end. The roll
 * (agent/lanes/roll.h) has such slots, too: it stays when the run directory is removed, and these stay when castscope
 * is killed. C and C++. */
#ifndef CASTSCOPE_PRELOAD_UNFILED_H
#define CASTSCOPE_PRELOAD_UNFILED_H

#include "agent/lanes/roll.h"

#define CASTSCOPE_UNFILED "said-unfiled"
#define CASTSCOPE_UNFILED_SLOTS CASTSCOPE_ROLL_SENTENCES
#define CASTSCOPE_UNFILED_SLOT_BYTES CASTSCOPE_ROLL_SENTENCE_BYTES

#endif
