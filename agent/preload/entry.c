/* The exported entry points. Each is one indirect tail jump, so that the callee sees the caller's return address,
 * stack and registers as if nothing stood between. Over time, a slot leads first to its stub, then to PyTorch's own
 * function, then to the agent's.
 *
 * A stub does not know its function's signature: it keeps every register that can carry an argument, asks
 * castscope_resolve where to go, and jumps there. The machine code is in agent/machine/entry.h. */
#include "agent/machine/entry.h"

#include "agent/preload/preload.h"

#define STUB_ADDRESS(name, symbol, loads) ".quad castscope_stub_" #name "\n"

/* clang-format off */
__asm__(
    ".data\n"
    ".p2align 6\n"
    ".globl castscope_slots\n"
    ".hidden castscope_slots\n"
    "castscope_slots:\n"
    CASTSCOPE_HOOKS(CASTSCOPE_ENTRY)
    ".section .data.rel.ro, \"aw\"\n"
    ".p2align 3\n"
    ".globl castscope_stubs\n"
    ".hidden castscope_stubs\n"
    "castscope_stubs:\n"
    CASTSCOPE_HOOKS(STUB_ADDRESS)
    ".text\n"
    /* torch._C calls initModule when it is imported. The target is never cached, since the name is a common one and
     * another library may have its own: it depends on the caller. */
    CASTSCOPE_ENTRY_OF_NO_SLOT(initModule)
    CASTSCOPE_ENTER_RESOLVE

    /* What these two slots hold while nothing is watched: one look at the control page, and on to PyTorch. */
    CASTSCOPE_ARMED_ENTRY(INCREMENT_NESTING)
    CASTSCOPE_ARMED_ENTRY(CACHED_CAST));
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
  const void* target = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  if (castscope_armed[hook] != NULL && target == castscope_armed[hook]) {
    if (control_asks_to_watch(hook)) agent_attach();
    target = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    return target == castscope_armed[hook] ? castscope_originals[hook] : target;
  }
  if (loads_agent[hook]) agent_load();
  target = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  if (target != castscope_stubs[hook]) return target;
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
  return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

void slots_take_originals(void) {
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; i++) {
    void* expected = (void*)castscope_stubs[i];
    if (castscope_originals[i] != NULL)
      __atomic_compare_exchange_n(&castscope_slots[i], &expected, castscope_originals[i], false, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST);
  }
}
