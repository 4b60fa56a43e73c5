/* The exported entry points. Each is one indirect tail jump, so that the callee sees the caller's return address,
 * stack and registers as if nothing stood between. Over time, a slot leads first to its stub, then to PyTorch's own
 * function, then to the agent's.
 *
 * A stub does not know its function's signature: it keeps every register that can carry an argument (rdi … r9, rax for
 * the count of vector registers, r10 for the static chain, xmm0–7), asks castscope_resolve where to go, and jumps
 * there. */
#include "agent/preload/preload.h"

#ifndef __x86_64__
#error "castscope knows the calling convention of x86-64 Linux only"
#endif

/* clang-format off */
#define ENTRY(name, symbol, loads)                       \
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

/* r11 is the only register that nobody hands an argument in; the word is castscope_control->wanted. */
#define ARMED(name)                                      \
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
  ".data\n"                                              \
  ".globl castscope_past_" #name "\n"                    \
  ".hidden castscope_past_" #name "\n"                   \
  "castscope_past_" #name ": .quad 0\n"                  \
  ".text\n" /* where the compiler believes to be */

#define STUB_ADDRESS(name, symbol, loads) ".quad castscope_stub_" #name "\n"

__asm__(
    ".data\n"
    ".p2align 6\n"
    ".globl castscope_slots\n"
    ".hidden castscope_slots\n"
    "castscope_slots:\n"
    CASTSCOPE_HOOKS(ENTRY)
    ".section .data.rel.ro, \"aw\"\n"
    ".p2align 3\n"
    ".globl castscope_stubs\n"
    ".hidden castscope_stubs\n"
    "castscope_stubs:\n"
    CASTSCOPE_HOOKS(STUB_ADDRESS)
    ".text\n"

    /* initModule: torch._C calls it when it is imported. The target is never cached, since the name is a common one
     * and another library may have its own: it depends on the caller. r11 = 0 tells this stub apart. */
    ".p2align 4\n"
    ".globl initModule\n"
    ".type initModule, @function\n"
    "initModule:\n"
    "  endbr64\n"
    "  xor %r11d, %r11d\n"
    "  jmp castscope_enter_resolve\n"
    ".size initModule, . - initModule\n"

    ".p2align 4\n"
    "castscope_enter_resolve:\n"
    ".cfi_startproc\n"
    "  push %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset 6, -16\n"
    "  mov %rsp, %rbp\n"
    ".cfi_def_cfa_register 6\n"
    "  and $-16, %rsp\n"
    "  sub $192, %rsp\n"
    "  mov %rdi, 0(%rsp)\n"
    "  mov %rsi, 8(%rsp)\n"
    "  mov %rdx, 16(%rsp)\n"
    "  mov %rcx, 24(%rsp)\n"
    "  mov %r8, 32(%rsp)\n"
    "  mov %r9, 40(%rsp)\n"
    "  mov %rax, 48(%rsp)\n"
    "  mov %r10, 56(%rsp)\n"
    "  movaps %xmm0, 64(%rsp)\n"
    "  movaps %xmm1, 80(%rsp)\n"
    "  movaps %xmm2, 96(%rsp)\n"
    "  movaps %xmm3, 112(%rsp)\n"
    "  movaps %xmm4, 128(%rsp)\n"
    "  movaps %xmm5, 144(%rsp)\n"
    "  movaps %xmm6, 160(%rsp)\n"
    "  movaps %xmm7, 176(%rsp)\n"
    "  mov %r11, %rdi\n"
    "  mov 8(%rbp), %rsi\n" /* the return address */
    "  call castscope_resolve\n"
    "  mov %rax, %r11\n"
    "  mov 0(%rsp), %rdi\n"
    "  mov 8(%rsp), %rsi\n"
    "  mov 16(%rsp), %rdx\n"
    "  mov 24(%rsp), %rcx\n"
    "  mov 32(%rsp), %r8\n"
    "  mov 40(%rsp), %r9\n"
    "  mov 48(%rsp), %rax\n"
    "  mov 56(%rsp), %r10\n"
    "  movaps 64(%rsp), %xmm0\n"
    "  movaps 80(%rsp), %xmm1\n"
    "  movaps 96(%rsp), %xmm2\n"
    "  movaps 112(%rsp), %xmm3\n"
    "  movaps 128(%rsp), %xmm4\n"
    "  movaps 144(%rsp), %xmm5\n"
    "  movaps 160(%rsp), %xmm6\n"
    "  movaps 176(%rsp), %xmm7\n"
    "  leave\n"
    ".cfi_def_cfa 7, 8\n"
    "  jmp *%r11\n"
    ".cfi_endproc\n"

    /* What these two slots hold while nothing is watched: one look at the control page, and on to PyTorch. */
    ARMED(INCREMENT_NESTING)
    ARMED(CACHED_CAST));
/* clang-format on */

void armed_slots(void* slots[CASTSCOPE_HOOK_COUNT]) {
  extern const char castscope_armed_INCREMENT_NESTING[], castscope_armed_CACHED_CAST[];
  extern void *castscope_past_INCREMENT_NESTING, *castscope_past_CACHED_CAST;
  castscope_past_INCREMENT_NESTING = castscope_originals[CASTSCOPE_HOOK_INCREMENT_NESTING];
  castscope_past_CACHED_CAST = castscope_originals[CASTSCOPE_HOOK_CACHED_CAST];
  slots[CASTSCOPE_HOOK_INCREMENT_NESTING] = (void*)castscope_armed_INCREMENT_NESTING;
  slots[CASTSCOPE_HOOK_CACHED_CAST] = (void*)castscope_armed_CACHED_CAST;
}

#define ENTRY_ADDRESS(name, symbol, loads) [CASTSCOPE_HOOK_##name] = (void*)castscope_entry_##name,
#define ENTRY_NAME(name, symbol, loads) extern const char castscope_entry_##name[];
CASTSCOPE_HOOKS(ENTRY_NAME)
void* const castscope_entries[CASTSCOPE_HOOK_COUNT] = {CASTSCOPE_HOOKS(ENTRY_ADDRESS)};

#define LOADS(name, symbol, loads) [CASTSCOPE_HOOK_##name] = loads,
static const bool loads_agent[CASTSCOPE_HOOK_COUNT] = {CASTSCOPE_HOOKS(LOADS)};

static void no_original(const char* symbol) {
  /* The caller calls a function that no loaded library has: without castscope it would not have linked. */
  say("a library calls a PyTorch function that cannot be found; please report this, and run without castscope");
  say(symbol);
  __builtin_trap();
}

/* Called by the stubs. Returns the address that this call goes to. */
__attribute__((used)) const void* castscope_resolve(void* volatile* slot, const void* return_address) {
  if (slot == NULL) {
    char path[PATH_MAX], key[80];
    if (torch_find(path, key)) agent_load();
    const void* target = original_for_caller("initModule", return_address);
    if (target == NULL) no_original("initModule");
    return target;
  }
  int hook = (int)(slot - castscope_slots);
  if (castscope_armed[hook] != NULL && *slot == castscope_armed[hook]) {
    if (control_asks_to_watch(hook)) agent_attach();
    return *slot == castscope_armed[hook] ? castscope_originals[hook] : *slot;
  }
  if (loads_agent[hook]) agent_load();
  if (*slot != castscope_stubs[hook]) return *slot;
  if (castscope_originals[hook] == NULL) {
    char path[PATH_MAX], key[80];
    if (torch_find(path, key)) originals_find(path);
  }
  void* original = castscope_originals[hook];
  if (original == NULL) original = original_find_anywhere(hook_symbol(hook));
  if (original == NULL) no_original(hook_symbol(hook));
  /* Replaces only the stub: the agent may have taken the slot meanwhile. */
  void* expected = (void*)castscope_stubs[hook];
  __atomic_compare_exchange_n(slot, &expected, original, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return *slot;
}

void slots_take_originals(void) {
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; i++) {
    void* expected = (void*)castscope_stubs[i];
    if (castscope_originals[i] != NULL)
      __atomic_compare_exchange_n(&castscope_slots[i], &expected, castscope_originals[i], false, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST);
  }
}
