/* Inside of libcastscope.so. Nothing here but C and libc: the library is mapped into every process of the job, most of
 * which have nothing to do with PyTorch. */
#ifndef CASTSCOPE_PRELOAD_PRELOAD_H
#define CASTSCOPE_PRELOAD_PRELOAD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/interposed/interface.h"
#include "agent/lanes/control.h"
#include "agent/lanes/outside.h"
#include "agent/lanes/roll.h"

#define CASTSCOPE_API __attribute__((visibility("default")))

/* environment.c: reads `environ` itself, since bash brings a getenv of its own that is not ready this early. */
const char* environment_get(const char* name);
/* Adds NAME=VALUE for this process and its children; `assignment` is kept, not copied. */
bool environment_add(const char* assignment);

void environment_give(const char* assignments);

/* injected.c */
bool injected_begin(void);  /* takes the settings of a process that was running before this library came */
void injected_leave(void);  /* at the end of one that was not forked: removes the folder of a run that nobody records */
bool run_is_injected(void); /* … and this is one */

/* run_directory.c */
bool run_is_off(void);            /* CASTSCOPE_OFF, or no place for a run directory */
bool run_is_switched_off(void);   /* CASTSCOPE_OFF: somebody wants this process to be left alone */
const char* run_directory(void);  /* "" before run_begin() */
const char* run_named(void);      /* the same as it is named where the recorder runs */
void run_begin(void);             /* takes CASTSCOPE_RUN, or makes one up for this process tree */
bool run_is_bare(void);           /* made up here: no one waits for the job, so a relay has to be started */
bool run_may_be_over(void);       /* the folder is gone, as after the end of a `castscope run`: nobody reads it */
bool run_make_directory(void);    /* false: there is none and none can be made */
bool run_has_directory(void);     /* does not make one */
void run_note_process(void);      /* <pid>.attached, for the relay to know whom to wait for */
void run_note_unobserved(void);   /* <pid>.unobserved, of a process that has PyTorch, and no agent */
void run_forget_process(void);    /* the end of a forked child: a job may have very many of them */
void run_note_replacement(void);  /* <pid>.replaced, by the image that follows an attached one through exec */
bool run_claim(const char* name); /* creates <run directory>/<name>; false when it was there */

/* roll.c: agent/lanes/roll.h */
void roll_begin(void); /* once, by a process that has PyTorch: takes the roll of its run, and calls that it is there */
bool roll_is_read(void); /* somebody records the run, and has not finished */
void roll_call(uint32_t kind, uint32_t segment, uint64_t start_ticks);
char (*roll_sentences(void))[CASTSCOPE_ROLL_SENTENCE_BYTES]; /* of a roll that is read */

bool roll_finds_recorder(int* pid); /* whether CASTSCOPE_ROLL leads to the roll of this run: its recorder's pid here */

/* outside.c: agent/lanes/outside.h */
bool outside_tell(uint32_t kind); /* false: nobody hears it */

/* say.c */
void say_prepare(void); /* call it while the process may still write to the run directory */
void say(const char* sentence);
void say_in_each_process(const char* sentence); /* it is in the report once */
bool log_is_on(void);                           /* CASTSCOPE_LOG=debug */
void log_line(const char* text);                /* on stderr, with the process's number, each time */

/* refuse.c: what becomes of a process that has PyTorch and cannot be observed, nor a policy be carried out in it */
bool policy_is_asked_for(void);                        /* by `--enforce` */
void unobserved(const char* why, const char* way_out); /* says so; `way_out` may be NULL */
void end_without_policy(void); /* ends the process, unless it may go without; it has been said why */

/* originals.c */
extern void* castscope_originals[CASTSCOPE_HOOK_COUNT];
bool torch_find(char path[PATH_MAX], char key[80]); /* the loaded libtorch_cpu, and the agent that fits it */
void originals_find(const char* torch_path);        /* fills castscope_originals */
void* original_find_anywhere(const char* symbol);   /* in any loaded object but this one */
void* original_for_caller(const char* symbol, const void* return_address);
const char* hook_symbol(int hook);

/* control.c: agent/lanes/control.h */
extern struct castscope_control* castscope_control; /* hidden; never NULL */
extern void* castscope_armed[CASTSCOPE_HOOK_COUNT]; /* where slots lead to while nothing is watched; NULL: originals */
bool control_arms(void);                            /* CASTSCOPE_ARMED: watch only when somebody asks for it */
bool control_begin(bool armed);                     /* makes the page; false: it cannot be made */
void control_arm(void);                             /* puts castscope_armed, or the originals, into the slots */
void control_refuse(void);                          /* for good: every slot leads to PyTorch */
void control_child_begins(void);
void control_forget_process(void);
bool control_asks_to_watch(int hook); /* here, in this thread, which is about to call the function of this hook */

/* agent.c */
void agent_load(void);   /* once per process; afterwards every slot leads to the agent or to PyTorch */
void agent_attach(void); /* of a process that is armed */
void agent_exit(int status);
bool agent_watches(void);

/* agent_file.c */
void preload_folder(char folder[PATH_MAX]); /* where this library lies */
/* Loads the first agent for this PyTorch that can be loaded, from the folders of CASTSCOPE_AGENTS and this library's.
 * Returns NULL where there is none: `why` then says what is wrong with the last one tried, "" = there is none. */
#define CASTSCOPE_PROBLEM_BYTES (PATH_MAX + 1024)
void* agent_file_load(const char* key, char why[CASTSCOPE_PROBLEM_BYTES], const char** way_out);

/* seal.c */
bool agent_is_whole(const char* path);

/* relay.c */
void relay_start(void);
void relay_wait_for(void); /* at the end of a process whose end may be the relay's, too: until the run file is there */

/* entry.c: where the exported entry points jump to; initially to stubs that come back by castscope_resolve. */
extern void* volatile castscope_slots[CASTSCOPE_HOOK_COUNT];
extern const void* const castscope_stubs[CASTSCOPE_HOOK_COUNT];
extern void* const castscope_entries[CASTSCOPE_HOOK_COUNT];
void slots_take_originals(void);
void armed_slots(void* slots[CASTSCOPE_HOOK_COUNT]); /* fills in the functions that look at the control page */

#endif
