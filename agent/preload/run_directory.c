/* The run directory, and the small files by which the processes of a run find each other. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/interposed/launchers.h"
#include "agent/lanes/descriptor.h"
#include "agent/preload/preload.h"

#define RUN "CASTSCOPE_RUN="
#define ONE_RANK "CASTSCOPE_ONE_RANK"
#define SECRET "CASTSCOPE_SECRET="
static char assignment[PATH_MAX + sizeof(RUN)];
static char directory[PATH_MAX];
static size_t root_length; /* of what leads to the recorder's file systems, where these are not ours */
static bool off, switched_off;

bool run_is_off(void) { return off; }
bool run_is_switched_off(void) { return switched_off; }
const char* run_directory(void) { return directory; }
const char* run_named(void) { return directory + root_length; }

/* A run that `castscope run` did not start is named "bare-…" (below). */
bool run_is_bare(void) {
  const char* name = strrchr(directory, '/');
  return name != NULL && strncmp(name, "/bare-", 6) == 0;
}

/* It was made as "<base>/run-…", and the base stays. */
bool run_may_be_over(void) {
  const char* name = strrchr(directory, '/');
  if (name == NULL || name == directory || strncmp(name, "/run-", 5) != 0) return false;
  char base[PATH_MAX];
  memcpy(base, directory, (size_t)(name - directory));
  base[name - directory] = '\0';
  return access(base, F_OK) == 0;
}

/* Whether the folder is ours, real, and closed to others: the run directory holds the job's command line and file
 * names. */
static bool is_private_folder(const char* path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 022) == 0;
}

/* Whether our folder of run directories is there, or can be made. Anybody may have made one of its name first. */
static bool has_room_for_us(const char* base) {
  char path[PATH_MAX];
  struct stat info;
  int n = snprintf(path, sizeof(path), "%s/castscope-%u", base, (unsigned)getuid());
  if (n < 0 || (size_t)n >= sizeof(path)) return false;
  if (lstat(path, &info) != 0) return errno == ENOENT && access(base, W_OK | X_OK) == 0;
  return is_private_folder(path) && access(path, W_OK | X_OK) == 0;
}

/* In the order of server/cli/job/run_directory.cc. */
static const char* writable_base(void) {
  const char* temporary = environment_get("TMPDIR");
  const char* bases[] = {"/dev/shm", temporary != NULL && temporary[0] == '/' ? temporary : "/tmp", "/tmp"};
  for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
    if (has_room_for_us(bases[i])) return bases[i];
  return bases[1]; /* where it fails, and the job is told so */
}

/* A process in another mount namespace does not see the folder under its name, but through its recorder, if it may look
 * at that. Where pids are others, a segment would have a name by which the recorder finds another process. */
static void look_through_recorder(void) {
  int recorder = 0;
  if (access(directory, F_OK) == 0 || errno != ENOENT || !roll_finds_recorder(&recorder)) return;
  char path[PATH_MAX];
  int root = snprintf(path, sizeof(path), "/proc/%d/root", recorder);
  if (snprintf(path + root, sizeof(path) - (size_t)root, "%s", directory) >= (int)(sizeof(path) - (size_t)root)) return;
  if (!is_private_folder(path)) return;
  strcpy(directory, path);
  root_length = (size_t)root;
}

/* Where the system gives no random bits, the recorder believes its own user and root alone. */
static void make_secret(void) {
  static char secret[sizeof(SECRET) + CASTSCOPE_SECRET_LENGTH] = SECRET;
  unsigned char bits[CASTSCOPE_SECRET_LENGTH / 2];
  int error = errno;
  bool made = syscall(SYS_getrandom, bits, sizeof(bits), 0) == (long)sizeof(bits);
  errno = error;
  if (!made) return;
  for (size_t i = 0; i < sizeof(bits); i++) snprintf(secret + strlen(SECRET) + 2 * i, 3, "%02x", bits[i]);
  environment_add(secret);
}

void run_begin(void) {
  const char* value = environment_get("CASTSCOPE_OFF");
  if (value != NULL && value[0] != '\0' && strcmp(value, "0") != 0) {
    off = switched_off = true;
    return;
  }
  value = environment_get("CASTSCOPE_RUN");
  if (value == NULL || value[0] != '/') {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    /* Seconds and pid alone could meet twice in a container that restarts its pids. */
    int n = snprintf(assignment, sizeof(assignment), RUN "%s/castscope-%u/bare-%lld-%09ld-%d", writable_base(),
                     (unsigned)getuid(), (long long)now.tv_sec, now.tv_nsec, (int)getpid());
    off = n < 0 || (size_t)n >= sizeof(assignment) || !environment_add(assignment);
    value = assignment + strlen(RUN);
    if (environment_get("CASTSCOPE_SECRET") == NULL) make_secret();
    static const char one_rank[] = ONE_RANK "=1";
    if (castscope_told(environment_get, CASTSCOPE_LOCAL_WORLD_SIZE) != NULL) environment_add(one_rank);
  }
  if (strlen(value) >= sizeof(directory)) off = true;
  if (off) return;
  strcpy(directory, value);
  look_through_recorder();
}

bool run_has_directory(void) { return !off && directory[0] != '\0' && is_private_folder(directory); }

/* The folder is not there, and yet somebody records its run: we have other file systems than he has, and a recorder of
 * our own has to have another run. Its name is the same in all processes that have these file systems. */
static void begin_own_run(const char* parent) {
  struct stat info;
  if (access(directory, F_OK) == 0 || errno != ENOENT || stat(parent, &info) != 0) return;
  char own[PATH_MAX];
  int length = snprintf(own, sizeof(own), "%s0%llu", directory, (unsigned long long)info.st_dev);
  if (length < 0 || (size_t)length >= sizeof(own)) return;
  if (is_private_folder(own) || outside_tell(CASTSCOPE_OUTSIDE_OWN_RUN)) strcpy(directory, own);
}

bool run_make_directory(void) {
  if (off || directory[0] == '\0') return false;
  if (is_private_folder(directory)) return true;
  /* It belongs to a `castscope run` that is over: nobody would read what is written. */
  if (!run_is_bare()) return false;
  char parent[PATH_MAX];
  strcpy(parent, directory);
  *strrchr(parent, '/') = '\0';
  if (mkdir(parent, 0700) != 0 && errno != EEXIST) return false;
  if (!is_private_folder(parent)) return false;
  begin_own_run(parent);
  return mkdir(directory, 0700) == 0 || is_private_folder(directory);
}

bool run_claim(const char* name) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof(path), "%s/%s", directory, name);
  int fd = castscope_open(path, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) return false;
  close(fd);
  return true;
}

void run_note_replacement(void) {
  char path[PATH_MAX + 64];
  if (off) return;
  snprintf(path, sizeof(path), "%s/%d.attached", directory, (int)getpid());
  bool before = access(path, F_OK) == 0;
  if (!before) { /* a forked child has no file of that name */
    snprintf(path, sizeof(path), "%s/%d-0.lanes", directory, (int)getpid());
    before = access(path, F_OK) == 0;
  }
  if (!before) return;
  snprintf(path, sizeof(path), "%s/%d.replaced", directory, (int)getpid());
  unlink(path); /* its time is what counts */
  int fd = castscope_open(path, O_WRONLY | O_CREAT | O_EXCL);
  if (fd >= 0) close(fd);
}

/* What the launcher tells, by which server/cli/job/ranks.h counts the ranks. Of a launcher around the whole run, this
 * is one rank, and the others are not to be waited for. */
static size_t rank_of_process(char* text, size_t room) {
  static const int told[] = {CASTSCOPE_RANK, CASTSCOPE_LOCAL_RANK, CASTSCOPE_GROUP_RANK, CASTSCOPE_LOCAL_WORLD_SIZE};
  size_t length = 0;
  const size_t count = environment_get(ONE_RANK) != NULL ? 3 : 4;
  for (size_t i = 0; i < count; i++) {
    const char* value = castscope_told(environment_get, told[i]);
    if (value == NULL || strlen(value) > 20) continue;
    int n = snprintf(text + length, room - length, "%s=%s\n", castscope_launchers[0][told[i]], value);
    if (n > 0 && (size_t)n < room - length) length += (size_t)n;
  }
  return length;
}

/* The file of an earlier process of this pid is replaced, since its time is what counts. */
static void note_with_rank(const char* kind) {
  char path[PATH_MAX + 64], rank[256];
  snprintf(path, sizeof(path), "%s/%d.%s", directory, (int)getpid(), kind);
  unlink(path);
  int fd = castscope_open(path, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) return;
  ssize_t ignored = write(fd, rank, rank_of_process(rank, sizeof(rank)));
  (void)ignored;
  close(fd);
}

/* A forked child runs this too, maybe before it has cast, and with locks held by threads that it does not have, so it
 * makes only system calls. */
void run_note_process(void) {
  int error = errno;
  char path[PATH_MAX + 64];
  snprintf(path, sizeof(path), "%s/%d.leaving", directory, (int)getpid());
  unlink(path); /* of an earlier process of this pid */
  note_with_rank("attached");
  errno = error;
}

void run_note_unobserved(void) {
  int error = errno;
  if (run_has_directory()) note_with_rank("unobserved");
  errno = error;
}

void run_forget_process(void) {
  int error = errno;
  char path[PATH_MAX + 64];
  snprintf(path, sizeof(path), "%s/%d.attached", directory, (int)getpid());
  unlink(path);
  errno = error;
}
