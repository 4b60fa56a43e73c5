/* The entry points in the machine code of 64-bit ARM Linux: see agent/machine/entry.h. The stub keeps x0–x7, x8 for the
 * place of a result, and q0–q7. Vectors of SVE are no arguments of the interposed functions.
 *
 * x16 may be changed between a call and the function that it reaches. A jump by it may land at `bti c`, which `hint
 * #34` is; older processors pass over it. The slot is loaded with acquire: what the agent set up before it stored its
 * function there is seen by that function in each thread. */
#ifndef CASTSCOPE_MACHINE_ENTRY_AARCH64_H
#define CASTSCOPE_MACHINE_ENTRY_AARCH64_H

/* clang-format off */
#define CASTSCOPE_SLOT_INTO_X16(name)                    \
  "  adrp x16, castscope_slot_" #name "\n"               \
  "  add x16, x16, :lo12:castscope_slot_" #name "\n"

#define CASTSCOPE_ENTRY(name, symbol, loads)             \
  ".text\n"                                              \
  ".p2align 4\n"                                         \
  ".globl " #symbol "\n"                                 \
  ".type " #symbol ", %function\n"                       \
  ".hidden castscope_entry_" #name "\n"                  \
  #symbol ":\n"                                          \
  "castscope_entry_" #name ":\n"                         \
  "  hint #34\n"                                         \
  CASTSCOPE_SLOT_INTO_X16(name)                          \
  "  ldar x16, [x16]\n"                                  \
  "  br x16\n"                                           \
  ".size " #symbol ", . - " #symbol "\n"                 \
  ".p2align 4\n"                                         \
  "castscope_stub_" #name ":\n"                          \
  "  hint #34\n"                                         \
  CASTSCOPE_SLOT_INTO_X16(name)                          \
  "  b castscope_enter_resolve\n"                        \
  ".data\n"                                              \
  "castscope_slot_" #name ": .quad castscope_stub_" #name "\n"

/* x16 = 0 tells it apart. */
#define CASTSCOPE_ENTRY_OF_NO_SLOT(symbol)               \
  ".p2align 4\n"                                         \
  ".globl " #symbol "\n"                                 \
  ".type " #symbol ", %function\n"                       \
  #symbol ":\n"                                          \
  "  hint #34\n"                                         \
  "  mov x16, xzr\n"                                     \
  "  b castscope_enter_resolve\n"                        \
  ".size " #symbol ", . - " #symbol "\n"

#define CASTSCOPE_ENTER_RESOLVE                          \
  ".p2align 4\n"                                         \
  "castscope_enter_resolve:\n"                           \
  ".cfi_startproc\n"                                     \
  "  stp x29, x30, [sp, #-224]!\n"                       \
  ".cfi_def_cfa_offset 224\n"                            \
  ".cfi_offset 29, -224\n"                               \
  ".cfi_offset 30, -216\n"                               \
  "  mov x29, sp\n"                                      \
  "  stp x0, x1, [sp, #16]\n"                            \
  "  stp x2, x3, [sp, #32]\n"                            \
  "  stp x4, x5, [sp, #48]\n"                            \
  "  stp x6, x7, [sp, #64]\n"                            \
  "  str x8, [sp, #80]\n"                                \
  "  stp q0, q1, [sp, #96]\n"                            \
  "  stp q2, q3, [sp, #128]\n"                           \
  "  stp q4, q5, [sp, #160]\n"                           \
  "  stp q6, q7, [sp, #192]\n"                           \
  "  mov x0, x16\n"                                      \
  "  mov x1, x30\n" /* the return address */             \
  "  bl castscope_resolve\n"                             \
  "  mov x16, x0\n"                                      \
  "  ldp x0, x1, [sp, #16]\n"                            \
  "  ldp x2, x3, [sp, #32]\n"                            \
  "  ldp x4, x5, [sp, #48]\n"                            \
  "  ldp x6, x7, [sp, #64]\n"                            \
  "  ldr x8, [sp, #80]\n"                                \
  "  ldp q0, q1, [sp, #96]\n"                            \
  "  ldp q2, q3, [sp, #128]\n"                           \
  "  ldp q4, q5, [sp, #160]\n"                           \
  "  ldp q6, q7, [sp, #192]\n"                           \
  "  ldp x29, x30, [sp], #224\n"                         \
  ".cfi_restore 29\n"                                    \
  ".cfi_restore 30\n"                                    \
  ".cfi_def_cfa_offset 0\n"                              \
  "  br x16\n"                                           \
  ".cfi_endproc\n"

/* x17 may be changed as x16 may. */
#define CASTSCOPE_ARMED_ENTRY(name)                      \
  ".text\n"                                              \
  ".p2align 4\n"                                         \
  ".globl castscope_armed_" #name "\n"                   \
  ".hidden castscope_armed_" #name "\n"                  \
  "castscope_armed_" #name ":\n"                         \
  "  hint #34\n"                                         \
  "  adrp x16, castscope_control\n"                      \
  "  ldr x16, [x16, :lo12:castscope_control]\n"          \
  "  ldr w17, [x16, #8]\n"                               \
  CASTSCOPE_SLOT_INTO_X16(name)                          \
  "  cbnz w17, castscope_enter_resolve\n"                \
  "  adrp x16, castscope_past_" #name "\n"               \
  "  ldr x16, [x16, :lo12:castscope_past_" #name "]\n"   \
  "  br x16\n"                                           \
  CASTSCOPE_PAST_ARMED_ENTRY(name)
/* clang-format on */

#endif
