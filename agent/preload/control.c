/* The control page of this process (agent/lanes/control.h), and what follows from it while nothing is watched: then two
 * entry points look at the page, one comparison each, and all others lead to PyTorch's own functions. */
#include "agent/lanes/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "agent/lanes/descriptor.h"
#include "agent/preload/preload.h"

_Static_assert(offsetof(struct castscope_control, wanted) == 8, "entry.c reads the word there");

/* Of a process that has no page of its own: nobody can ask it for anything. */
static struct castscope_control nobodys = {.wanted = CASTSCOPE_WANTED_AT_REGION, .state = CASTSCOPE_CONTROL_WATCHES};
struct castscope_control* castscope_control = &nobodys;

/* Where entry points lead to while nothing is watched; NULL: to PyTorch's own. */
void* castscope_armed[CASTSCOPE_HOOK_COUNT];

bool control_arms(void) {
  const char* value = environment_get("CASTSCOPE_ARMED");
  return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0 && !policy_is_asked_for();
}

/* Where memory is as short as that, it is for what the process records. */
#define ROOM_FOR_RECORDS (256u << 10)

static bool room_is_short(void) {
  struct statfs info;
  return statfs(run_directory(), &info) == 0 && (uint64_t)info.f_bavail * (uint64_t)info.f_bsize < ROOM_FOR_RECORDS;
}

static void path_of_page(char path[PATH_MAX + 64]) {
  snprintf(path, PATH_MAX + 64, "%s/%d.control", run_directory(), (int)getpid());
}

/* Only system calls: a forked child comes here with locks held by threads that it does not have. */
static bool make_page(uint32_t wanted, uint32_t state) {
  char path[PATH_MAX + 64];
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < CASTSCOPE_CONTROL_BYTES) return false; /* a signal */
  if (state != CASTSCOPE_CONTROL_ARMED && room_is_short()) return false;
  path_of_page(path);
  unlink(path); /* of an earlier process of this number */
  int fd = castscope_open(path, O_RDWR | O_CREAT | O_EXCL);
  if (fd < 0) return false;
  void* page = MAP_FAILED;
  /* Its room is reserved now: later a full /dev/shm would be a SIGBUS. */
  if (posix_fallocate(fd, 0, CASTSCOPE_CONTROL_BYTES) == 0)
    page = mmap(NULL, CASTSCOPE_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED) {
    unlink(path);
    return false;
  }
  struct castscope_control* made = page;
  made->wanted = wanted;
  made->state = state;
  __atomic_store_n(&made->magic, CASTSCOPE_CONTROL_MAGIC, __ATOMIC_RELEASE);
  castscope_control = made;
  return true;
}

bool control_begin(bool armed) {
  int error = errno;
  bool made = make_page(armed ? CASTSCOPE_WANTED_AWAY : CASTSCOPE_WANTED_AT_REGION, armed ? CASTSCOPE_CONTROL_ARMED
                                                                                    : policy_is_asked_for()
                                                                                        ? CASTSCOPE_CONTROL_HOLDS
                                                                                        : CASTSCOPE_CONTROL_WATCHES);
  errno = error;
  return made;
}

/* The parent's page is not this process's: what is asked there is not meant for it, but what holds there at the fork
 * holds here. */
void control_child_begins(void) {
  if (castscope_control == &nobodys) return;
  int error = errno;
  const struct castscope_control* parents = castscope_control;
  uint32_t state = __atomic_load_n(&parents->state, __ATOMIC_RELAXED);
  nobodys = (struct castscope_control){
      .wanted = state == CASTSCOPE_CONTROL_ARMED ? CASTSCOPE_WANTED_AWAY : CASTSCOPE_WANTED_AT_REGION, .state = state};
  castscope_control = &nobodys;
  make_page(nobodys.wanted, state);
  errno = error;
}

void control_forget_process(void) {
  char path[PATH_MAX + 64];
  path_of_page(path);
  if (castscope_control != &nobodys) unlink(path);
}

static void put_slot(int hook, void* function) { __atomic_store_n(&castscope_slots[hook], function, __ATOMIC_RELEASE); }

void control_arm(void) {
  armed_slots(castscope_armed);
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; i++)
    if (castscope_originals[i] != NULL)
      put_slot(i, castscope_armed[i] != NULL ? castscope_armed[i] : castscope_originals[i]);
}

void control_refuse(void) {
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; i++)
    if (castscope_originals[i] != NULL) put_slot(i, castscope_originals[i]);
  __atomic_store_n(&castscope_control->state, CASTSCOPE_CONTROL_REFUSES, __ATOMIC_RELEASE);
}

/* autocast counts how many regions of a thread are open, and gives the number out only where it changes it. */
static bool in_no_region(void) {
  int (*enter)(void) = (int (*)(void))castscope_originals[CASTSCOPE_HOOK_INCREMENT_NESTING];
  int (*leave)(void) = (int (*)(void))castscope_originals[CASTSCOPE_HOOK_DECREMENT_NESTING];
  if (enter == NULL || leave == NULL) return true;
  enter();
  return leave() == 0;
}

bool control_asks_to_watch(int hook) {
  switch (__atomic_load_n(&castscope_control->wanted, __ATOMIC_ACQUIRE)) {
    case CASTSCOPE_WANTED_AT_REGION:
      return hook == CASTSCOPE_HOOK_INCREMENT_NESTING && in_no_region();
    case CASTSCOPE_WANTED_AT_ONCE:
      return true;
    default:
      return false;
  }
}
