/* The machine code of the exported entry points (agent/preload/entry.c), as text for the assembler.
 *
 * CASTSCOPE_ENTRY(name, symbol, loads)  the function `symbol`, which jumps to where castscope_slot_<name> leads, that
 *                                       slot, and castscope_stub_<name>, to which it leads at first
 * CASTSCOPE_ENTRY_OF_NO_SLOT(symbol)    the function `symbol`, which resolves at each call
 * CASTSCOPE_ENTER_RESOLVE               what these stubs jump to: it keeps every register that can carry an argument,
 *                                       calls castscope_resolve(address of the slot, return address), where the address
 *                                       is 0 for a function without a slot, and jumps to what that returns
 * CASTSCOPE_ARMED_ENTRY(name)           castscope_armed_<name>, which a slot may hold: where the word at 8 of
 *                                       castscope_control is 0, it jumps to castscope_past_<name>, else it resolves */
#ifndef CASTSCOPE_MACHINE_ENTRY_H
#define CASTSCOPE_MACHINE_ENTRY_H

/* clang-format off */
#define CASTSCOPE_PAST_ARMED_ENTRY(name)                 \
  ".data\n"                                              \
  ".p2align 3\n"                                         \
  ".globl castscope_past_" #name "\n"                    \
  ".hidden castscope_past_" #name "\n"                   \
  "castscope_past_" #name ": .quad 0\n"                  \
  ".text\n" /* where the compiler believes to be */
/* clang-format on */

#if defined(__x86_64__)
#include "agent/machine/entry_x86_64.h"
#elif defined(__aarch64__)
#include "agent/machine/entry_aarch64.h"
#else
#error "castscope knows the calling conventions of x86-64 and 64-bit ARM Linux only"
#endif

#endif
