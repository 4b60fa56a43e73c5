/* Loads the agent that fits the PyTorch in this process, once. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/preload/preload.h"

CASTSCOPE_API __thread void* castscope_thread __attribute__((tls_model("initial-exec")));

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static bool tried;       /* set when loading is over, with or without success */
static pthread_t loader; /* the thread that loads it: the agent itself may get here meanwhile */
static bool loader_at_work;
static bool armed;    /* PyTorch is there, and the agent waits to be asked for */
static bool orphaned; /* forked while another thread, which does not exist here, was loading */
static pid_t owner;   /* a vfork child shares our memory, but not this number */
static bool forked;
static castscope_agent_exit_fn on_exit_function;
static castscope_agent_attach_fn on_attach_function;
static castscope_agent_step_fn on_step_function;
static castscope_agent_rule_met_fn on_rule_met_function;
static castscope_agent_metric_fn on_metric_function;
static castscope_agent_compared_fn on_compared_function;
static castscope_agent_annotated_fn on_annotated_function;
static castscope_agent_annotated_end_fn on_annotated_end_function;
static castscope_agent_arrived_fn on_arrived_function;
static struct rule {
  struct rule* next;
  char text[];
} * rules_met; /* rules that were met before the agent was loaded */
static pthread_mutex_t rules_lock = PTHREAD_MUTEX_INITIALIZER;

static char torch_path[PATH_MAX];
static struct castscope_preload table;

/* musl has neither. A process there can be preloaded, but never has PyTorch. */
#pragma weak on_exit
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void*) __attribute__((weak));
extern void* __dso_handle;

void agent_exit(int status) {
  if (owner != getpid()) return;
  if (on_exit_function != NULL) {
    on_exit_function(status & 0xff); /* exit() takes any number, but a parent sees only the last byte */
    relay_wait_for();
    if (forked) run_forget_process();
  }
  if (forked)
    control_forget_process();
  else
    injected_leave();
}

static void at_exit(int status, void* unused) {
  (void)unused;
  agent_exit(status);
}

static void in_child(void) {
  owner = getpid();
  forked = true;
  if (on_exit_function != NULL) run_note_process();
  control_child_begins();
  if (loader_at_work && !pthread_equal(loader, pthread_self())) {
    /* Stay without an agent. */
    pthread_mutex_init(&loading, NULL);
    orphaned = true;
    loader_at_work = false;
    tried = true;
    slots_take_originals();
  }
}

static bool agent_is_there(void) { return on_exit_function != NULL; }

bool agent_watches(void) {
  return on_exit_function != NULL &&
         __atomic_load_n(&castscope_control->state, __ATOMIC_RELAXED) != CASTSCOPE_CONTROL_ARMED;
}
CASTSCOPE_API int castscope_attached(void) { return agent_watches(); }
CASTSCOPE_API void castscope_step(void) {
  if (on_step_function != NULL) on_step_function();
}

CASTSCOPE_API void castscope_metric(const char* name, double value) {
  if (on_metric_function != NULL) on_metric_function(name, value);
}

CASTSCOPE_API void castscope_compared(const char* comparison) {
  if (on_compared_function != NULL) on_compared_function(comparison);
}

CASTSCOPE_API void castscope_annotated(const char* function, const char* argument, uint32_t position,
                                       const void* tensor, int to, int flags) {
  if (on_annotated_function != NULL) on_annotated_function(function, argument, position, tensor, to, flags);
}

CASTSCOPE_API void castscope_annotated_end(void) {
  if (on_annotated_end_function != NULL) on_annotated_end_function();
}

CASTSCOPE_API void castscope_arrived(const char* text, int detail) {
  if (on_arrived_function != NULL) on_arrived_function(text, detail);
}

CASTSCOPE_API void castscope_rule_met(const char* rule) {
  pthread_mutex_lock(&rules_lock);
  if (on_rule_met_function != NULL) {
    on_rule_met_function(rule);
  } else {
    struct rule* kept = malloc(sizeof *kept + strlen(rule) + 1);
    if (kept != NULL) {
      strcpy(kept->text, rule);
      kept->next = rules_met;
      rules_met = kept;
    }
  }
  pthread_mutex_unlock(&rules_lock);
}

static void pass_rules_on(castscope_agent_rule_met_fn function) {
  pthread_mutex_lock(&rules_lock);
  on_rule_met_function = function;
  for (struct rule* rule = rules_met; function != NULL && rule != NULL; rule = rule->next) function(rule->text);
  pthread_mutex_unlock(&rules_lock);
}

static void no_agent(const char* key) {
  char why[PATH_MAX + 256];
  snprintf(why, sizeof(why), "there is no agent for the PyTorch in %s (build %s)", torch_path, key);
  unobserved(why, "`castscope doctor` tells how to get one");
}

static void no_directory(void) {
  char why[PATH_MAX + 256];
  snprintf(why, sizeof(why), "the run directory %s cannot be made, or is open to other users", run_directory());
  unobserved(why, "remove it, or set TMPDIR to a folder of yours");
}

static void no_such_run(void) {
  char why[PATH_MAX + 256];
  snprintf(why, sizeof(why), "CASTSCOPE_RUN names %s, which is not there", run_directory());
  unobserved(why, "unset it to have a run of its own");
}

static void not_permitted(void) {
  char why[PATH_MAX + 256];
  snprintf(why, sizeof(why), "the run directory %s belongs to another user", run_directory());
  unobserved(why, "unset CASTSCOPE_RUN for processes of this user, so that they have a run of their own");
}

/* Whoever reads the roll says that the directory was removed while the job is recorded; whoever hears us says that we
 * do not reach it. Under a bare LD_PRELOAD nobody reads what that one says. */
static void no_way_in(void) {
  const bool named = access(run_directory(), F_OK) == 0;
  const bool permitted = named || errno == ENOENT;
  const bool heard = !roll_is_read() &&
                     outside_tell(permitted && !named ? CASTSCOPE_OUTSIDE_NOT_THERE : CASTSCOPE_OUTSIDE_NOT_PERMITTED);
  if (!permitted && run_is_bare())
    not_permitted();
  else if (named || run_is_bare())
    no_directory();
  else if (policy_is_asked_for() || (!heard && !roll_is_read() && !run_may_be_over()))
    no_such_run();
}

static bool start(void* agent) {
  castscope_agent_start_fn start_function = (castscope_agent_start_fn)dlsym(agent, CASTSCOPE_AGENT_START);
  castscope_agent_exit_fn exit_function = (castscope_agent_exit_fn)dlsym(agent, CASTSCOPE_AGENT_EXIT);
  if (start_function == NULL || exit_function == NULL) {
    unobserved("what is named like a castscope agent is none", "`castscope doctor` names its file");
    return false;
  }
  static char refusal[CASTSCOPE_REFUSAL_BYTES];
  table = (struct castscope_preload){.abi = CASTSCOPE_PRELOAD_ABI,
                                     .hook_count = CASTSCOPE_HOOK_COUNT,
                                     .slots = castscope_slots,
                                     .originals = castscope_originals,
                                     .thread_slot = &castscope_thread,
                                     .run_directory = run_directory(),
                                     .torch_library = torch_path,
                                     .say = say,
                                     .log = log_is_on() ? log_line : NULL,
                                     .call = roll_call,
                                     .refusal = refusal,
                                     .control = &castscope_control,
                                     .armed = castscope_armed,
                                     .entries = run_is_injected() ? castscope_entries : NULL};
  if (start_function(&table) != 0) {
    unobserved(refusal[0] != '\0' ? refusal : "preload library and agent are of different versions", NULL);
    return false;
  }
  on_step_function = (castscope_agent_step_fn)dlsym(agent, CASTSCOPE_AGENT_STEP);
  on_metric_function = (castscope_agent_metric_fn)dlsym(agent, CASTSCOPE_AGENT_METRIC);
  on_compared_function = (castscope_agent_compared_fn)dlsym(agent, CASTSCOPE_AGENT_COMPARED);
  on_annotated_end_function = (castscope_agent_annotated_end_fn)dlsym(agent, CASTSCOPE_AGENT_ANNOTATED_END);
  on_annotated_function = (castscope_agent_annotated_fn)dlsym(agent, CASTSCOPE_AGENT_ANNOTATED);
  on_arrived_function = (castscope_agent_arrived_fn)dlsym(agent, CASTSCOPE_AGENT_ARRIVED);
  pass_rules_on((castscope_agent_rule_met_fn)dlsym(agent, CASTSCOPE_AGENT_RULE_MET));
  on_attach_function = (castscope_agent_attach_fn)dlsym(agent, CASTSCOPE_AGENT_ATTACH);
  on_exit_function = exit_function;
  return true;
}

/* Returns false where this process cannot be recorded, and has said why, or the recorder says it. */
static bool watch(const char* key) {
  if (!run_make_directory()) {
    no_way_in();
    return false;
  }
  char why[CASTSCOPE_PROBLEM_BYTES];
  const char* way_out = NULL;
  void* agent = agent_file_load(key, why, &way_out);
  if (agent != NULL) {
    say_prepare();
    return start(agent);
  }
  why[0] != '\0' ? unobserved(why, way_out) : no_agent(key);
  return false;
}

static char torch_key[80];

/* Returns false when the process runs on unobserved, as it was said. */
static bool begin_to_watch(void) {
  if (!watch(torch_key)) {
    roll_call(CASTSCOPE_CALL_UNRECORDED, 0, 0);
    run_note_unobserved();
    end_without_policy();
    return false;
  }
  if (on_exit != NULL) on_exit(at_exit, NULL);
  run_note_process();
  return true;
}

/* The agent is loaded when somebody asks for it: until then nothing of it is in the process. */
static void arm(void) {
  if (!run_make_directory() || !control_begin(true)) {
    unobserved("nobody could attach to this process, since the run directory takes no file", NULL);
    return;
  }
  control_arm();
  armed = true;
}

static void load(void) {
  if (!torch_find(torch_path, torch_key)) return;
  originals_find(torch_path);
  slots_take_originals();
  if (run_is_switched_off()) return;
  if (run_is_off()) {
    unobserved("the path of the run directory is too long", "set TMPDIR to a folder with a shorter one");
    end_without_policy();
    return;
  }
  roll_begin();
  if (control_arms()) {
    arm();
  } else if (run_make_directory() && control_begin(false)) {
    armed_slots(castscope_armed); /* for a detach */
  }
  if (armed && run_is_injected()) { /* the agent puts itself in the way of calls that are bound */
    armed = false;
    if (!begin_to_watch()) {
      control_refuse();
      return;
    }
  }
  if (!armed && !agent_is_there() && !begin_to_watch()) {
    control_refuse();
    return;
  }
  if (run_is_bare()) relay_start();
}

/* Nearly all such children only make room for another program, so that it matters at an import of torch alone. */
static void orphan_loads(void) {
  if (!policy_is_asked_for() || run_is_switched_off()) return;
  unobserved("this process was forked while another thread was importing torch", NULL);
  end_without_policy();
}

void agent_load(void) {
  if (__atomic_load_n(&tried, __ATOMIC_ACQUIRE)) {
    if (orphaned) orphan_loads();
    return;
  }
  if (loader_at_work && pthread_equal(loader, pthread_self())) return;
  pthread_mutex_lock(&loading);
  if (!tried) {
    int error = errno;
    loader = pthread_self();
    __atomic_store_n(&loader_at_work, true, __ATOMIC_RELEASE);
    owner = getpid();
    if (__register_atfork != NULL) __register_atfork(NULL, NULL, in_child, &__dso_handle);
    load();
    loader_at_work = false;
    __atomic_store_n(&tried, true, __ATOMIC_RELEASE);
    errno = error;
  }
  pthread_mutex_unlock(&loading);
}

/* Called in a thread of the job that is about to call a function of PyTorch's: where an agent is loaded otherwise. */
void agent_attach(void) {
  if (loader_at_work && pthread_equal(loader, pthread_self())) return;
  pthread_mutex_lock(&loading);
  int error = errno;
  loader = pthread_self();
  __atomic_store_n(&loader_at_work, true, __ATOMIC_RELEASE);
  if (on_attach_function != NULL) {
    on_attach_function();
  } else if (armed) {
    armed = false;
    if (!begin_to_watch()) control_refuse();
  }
  loader_at_work = false;
  errno = error;
  pthread_mutex_unlock(&loading);
}
