/* The entry points in the machine code of x86-64 Linux: see agent/machine/entry.h. The stub keeps rdi … r9, rax for the
 * count of vector registers, r10 for the static chain, and xmm0–7. */
#ifndef CASTSCOPE_MACHINE_ENTRY_X86_64_H
#define CASTSCOPE_MACHINE_ENTRY_X86_64_H

/* clang-format off */
#define CASTSCOPE_ENTRY(name, symbol, loads)             \
  ".text\n"                                              \
  ".p2align 4\n"                                         \
  ".globl " #symbol "\n"                                 \
  ".type " #symbol ", @function\n"                       \
  ".hidden castscope_entry_" #name "\n"                  \
  #symbol ":\n"                                          \
  "castscope_entry_" #name ":\n"                         \
  "  endbr64\n"                                          \
  "  jmp *castscope_slot_" #name "(%rip)\n"              \
  ".size " #symbol ", . - " #symbol "\n"                 \
  ".p2align 4\n"                                         \
  "castscope_stub_" #name ":\n"                          \
  "  endbr64\n"                                          \
  "  lea castscope_slot_" #name "(%rip), %r11\n"         \
  "  jmp castscope_enter_resolve\n"                      \
  ".data\n"                                              \
  "castscope_slot_" #name ": .quad castscope_stub_" #name "\n"

/* r11 = 0 tells it apart. */
#define CASTSCOPE_ENTRY_OF_NO_SLOT(symbol)               \
  ".p2align 4\n"                                         \
  ".globl " #symbol "\n"                                 \
  ".type " #symbol ", @function\n"                       \
  #symbol ":\n"                                          \
  "  endbr64\n"                                          \
  "  xor %r11d, %r11d\n"                                 \
  "  jmp castscope_enter_resolve\n"                      \
  ".size " #symbol ", . - " #symbol "\n"

#define CASTSCOPE_ENTER_RESOLVE                          \
  ".p2align 4\n"                                         \
  "castscope_enter_resolve:\n"                           \
  ".cfi_startproc\n"                                     \
  "  push %rbp\n"                                        \
  ".cfi_def_cfa_offset 16\n"                             \
  ".cfi_offset 6, -16\n"                                 \
  "  mov %rsp, %rbp\n"                                   \
  ".cfi_def_cfa_register 6\n"                            \
  "  and $-16, %rsp\n"                                   \
  "  sub $192, %rsp\n"                                   \
  "  mov %rdi, 0(%rsp)\n"                                \
  "  mov %rsi, 8(%rsp)\n"                                \
  "  mov %rdx, 16(%rsp)\n"                               \
  "  mov %rcx, 24(%rsp)\n"                               \
  "  mov %r8, 32(%rsp)\n"                                \
  "  mov %r9, 40(%rsp)\n"                                \
  "  mov %rax, 48(%rsp)\n"                               \
  "  mov %r10, 56(%rsp)\n"                               \
  "  movaps %xmm0, 64(%rsp)\n"                           \
  "  movaps %xmm1, 80(%rsp)\n"                           \
  "  movaps %xmm2, 96(%rsp)\n"                           \
  "  movaps %xmm3, 112(%rsp)\n"                          \
  "  movaps %xmm4, 128(%rsp)\n"                          \
  "  movaps %xmm5, 144(%rsp)\n"                          \
  "  movaps %xmm6, 160(%rsp)\n"                          \
  "  movaps %xmm7, 176(%rsp)\n"                          \
  "  mov %r11, %rdi\n"                                   \
  "  mov 8(%rbp), %rsi\n" /* the return address */       \
  "  call castscope_resolve\n"                           \
  "  mov %rax, %r11\n"                                   \
  "  mov 0(%rsp), %rdi\n"                                \
  "  mov 8(%rsp), %rsi\n"                                \
  "  mov 16(%rsp), %rdx\n"                               \
  "  mov 24(%rsp), %rcx\n"                               \
  "  mov 32(%rsp), %r8\n"                                \
  "  mov 40(%rsp), %r9\n"                                \
  "  mov 48(%rsp), %rax\n"                               \
  "  mov 56(%rsp), %r10\n"                               \
  "  movaps 64(%rsp), %xmm0\n"                           \
  "  movaps 80(%rsp), %xmm1\n"                           \
  "  movaps 96(%rsp), %xmm2\n"                           \
  "  movaps 112(%rsp), %xmm3\n"                          \
  "  movaps 128(%rsp), %xmm4\n"                          \
  "  movaps 144(%rsp), %xmm5\n"                          \
  "  movaps 160(%rsp), %xmm6\n"                          \
  "  movaps 176(%rsp), %xmm7\n"                          \
  "  leave\n"                                            \
  ".cfi_def_cfa 7, 8\n"                                  \
  "  jmp *%r11\n"                                        \
  ".cfi_endproc\n"

/* r11 is the only register that nobody hands an argument in. */
#define CASTSCOPE_ARMED_ENTRY(name)                      \
  ".text\n"                                              \
  ".p2align 4\n"                                         \
  ".globl castscope_armed_" #name "\n"                   \
  ".hidden castscope_armed_" #name "\n"                  \
  "castscope_armed_" #name ":\n"                         \
  "  endbr64\n"                                          \
  "  mov castscope_control(%rip), %r11\n"                \
  "  cmpl $0, 8(%r11)\n"                                 \
  "  lea castscope_slot_" #name "(%rip), %r11\n"         \
  "  jne castscope_enter_resolve\n"                      \
  "  jmp *castscope_past_" #name "(%rip)\n"              \
  CASTSCOPE_PAST_ARMED_ENTRY(name)
/* clang-format on */

#endif
