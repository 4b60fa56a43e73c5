/* The roll of the run (agent/lanes/roll.h), as a process of the job sees it. It is mapped once, and forked children
 * inherit it: it can be reached whatever becomes of the run directory, of descriptors and of rights. */
#include "agent/lanes/roll.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/lanes/descriptor.h"
#include "agent/preload/preload.h"

#define BARE_ROLL_WANTS_FREE (1 << 20)
static struct castscope_roll* roll;

/* Where pids are those of another namespace, the path may lead to anything: it is looked at before it is opened. */
static bool is_roll(const struct stat* info, unsigned long long device, unsigned long long inode) {
  return S_ISREG(info->st_mode) && info->st_dev == device && info->st_ino == inode &&
         info->st_size == (off_t)sizeof(struct castscope_roll);
}

/* Takes CASTSCOPE_ROLL apart; returns false where there is none, or it is the roll of another run. */
static bool find_roll(int* recorder, char path[64], struct stat* info) {
  const char* name = environment_get("CASTSCOPE_ROLL");
  int descriptor = 0, length = 0;
  unsigned long long device = 0, inode = 0;
  if (name == NULL || sscanf(name, "%d:%d:%llu:%llu:%n", recorder, &descriptor, &device, &inode, &length) != 4)
    return false;
  if (length == 0 || strcmp(name + length, run_named()) != 0) return false;
  snprintf(path, 64, "/proc/%d/fd/%d", *recorder, descriptor);
  return stat(path, info) == 0 && is_roll(info, device, inode);
}

/* Where /proc is that of another pid namespace than ours, it has us under another number. */
bool roll_finds_recorder(int* pid) {
  char path[64], self[16] = "", number[16];
  struct stat info;
  snprintf(number, sizeof(number), "%d", (int)getpid());
  return find_roll(pid, path, &info) && readlink("/proc/self", self, sizeof(self) - 1) > 0 && strcmp(self, number) == 0;
}

static struct castscope_roll* map_roll(void) {
  char path[64];
  struct stat named, info;
  int recorder = 0;
  if (!find_roll(&recorder, path, &named)) return NULL;
  int fd = castscope_open_with(path, O_RDWR | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return NULL;
  void* memory = MAP_FAILED;
  if (fstat(fd, &info) == 0 && is_roll(&info, named.st_dev, named.st_ino))
    memory = mmap(NULL, sizeof(struct castscope_roll), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) return NULL;
  struct castscope_roll* found = memory;
  return found->magic == CASTSCOPE_ROLL_MAGIC ? found : NULL;
}

/* The segments come first: where there is little room, a run has no roll. */
static bool has_room(int fd) {
  struct statvfs fs;
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < sizeof(struct castscope_roll)) return false;
  if (fstatvfs(fd, &fs) != 0) return false;
  return fs.f_blocks == 0 || fs.f_bavail * fs.f_frsize >= BARE_ROLL_WANTS_FREE;
}

/* Each process makes it if it is not there: what they all write first is the same. */
static struct castscope_roll* map_bare_roll(void) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof(path), "%s/" CASTSCOPE_BARE_ROLL, run_directory());
  if (environment_get("CASTSCOPE_ROLL") != NULL || !run_make_directory()) return NULL;
  int fd = castscope_open(path, O_RDWR | O_CREAT);
  if (fd < 0) return NULL;
  struct castscope_roll* made = MAP_FAILED;
  if (has_room(fd) && posix_fallocate(fd, 0, sizeof(struct castscope_roll)) == 0)
    made = mmap(NULL, sizeof(struct castscope_roll), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (made == MAP_FAILED) return NULL;
  __atomic_store_n(&made->magic, CASTSCOPE_ROLL_MAGIC, __ATOMIC_RELEASE);
  return made;
}

void roll_begin(void) {
  int error = errno;
  roll = run_is_bare() ? map_bare_roll() : map_roll();
  if (roll_is_read()) __atomic_fetch_add(&roll->with_torch, 1, __ATOMIC_RELAXED);
  errno = error;
}

bool roll_is_read(void) { return roll != NULL && __atomic_load_n(&roll->closed, __ATOMIC_ACQUIRE) == 0; }

char (*roll_sentences(void))[CASTSCOPE_ROLL_SENTENCE_BYTES] { return roll->sentences; }

/* The slots are taken in turn, so that the first one tried is nearly always free. */
void roll_call(uint32_t kind, uint32_t segment, uint64_t start_ticks) {
  if (!roll_is_read()) return;
  for (int tried = 0; tried < CASTSCOPE_ROLL_CALLS; tried++) {
    uint32_t number = __atomic_fetch_add(&roll->next, 1, __ATOMIC_RELAXED) % CASTSCOPE_ROLL_CALLS;
    struct castscope_call* call = &roll->calls[number];
    uint32_t before = CASTSCOPE_CALL_FREE;
    if (!__atomic_compare_exchange_n(&call->state, &before, CASTSCOPE_CALL_CLAIMED, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
      continue;
    call->kind = kind;
    call->pid = (int32_t)getpid();
    call->segment = segment;
    call->start_ticks = start_ticks;
    __atomic_store_n(&call->state, CASTSCOPE_CALL_FILLED, __ATOMIC_RELEASE);
    return;
  }
  __atomic_fetch_add(&roll->lost, 1, __ATOMIC_RELAXED);
}
