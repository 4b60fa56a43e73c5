/* CASTSCOPE_START(function): the machine code, as text for the assembler, with which a program without start files
 * begins. It calls the function, which does not return; the stack ends
 * there. */
#ifndef CASTSCOPE_MACHINE_START_H
#define CASTSCOPE_MACHINE_START_H

#if defined(__x86_64__)
#define CASTSCOPE_START(function) \
  ".text\n.globl _start\n_start:\n  xor %ebp, %ebp\n  and $-16, %rsp\n  call " #function "\n"
#elif defined(__aarch64__)
#define CASTSCOPE_START(function) ".text\n.globl _start\n_start:\n  mov x29, #0\n  mov x30, #0\n  bl " #function "\n"
#else
#error "castscope knows x86-64 and aarch64 only"
#endif

#endif
