/* A process that was running when `castscope attach` brought this library into it. Its environment says nothing of
 * castscope; what the library would read there lies in the run directory, in the file `injected` beside the link by
 * which the library was loaded. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/lanes/descriptor.h"
#include "agent/preload/preload.h"

static char settings[4 * PATH_MAX];
static bool injected;

bool run_is_injected(void) { return injected; }

/* The folder by whose name the library was loaded, which need not be the one that it lies in. */
static bool path_beside_library(const char* name, char path[PATH_MAX]) {
  Dl_info own;
  if (dladdr((void*)path_beside_library, &own) == 0 || own.dli_fname == NULL) return false;
  const char* slash = strrchr(own.dli_fname, '/');
  if (slash == NULL) return false;
  int n = snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - own.dli_fname), own.dli_fname, name);
  return n > 0 && n < PATH_MAX;
}

bool injected_begin(void) {
  char path[PATH_MAX];
  int error = errno;
  if (path_beside_library("injected", path)) {
    int fd = castscope_open(path, O_RDONLY | O_NONBLOCK);
    if (fd >= 0) {
      ssize_t n = read(fd, settings, sizeof(settings) - 2); /* the last two bytes stay 0 */
      injected = n > 0;
      close(fd);
    }
  }
  if (injected) environment_give(settings);
  errno = error;
  return injected;
}

/* Called in the process by the one who brought the library, in a thread that holds the GIL and is about to run Python
 * code. Returns whether somebody can ask for it to be watched. */
CASTSCOPE_API int castscope_attach_here(void) {
  if (!injected) return 0;
  agent_load();
  uint32_t state = __atomic_load_n(&castscope_control->state, __ATOMIC_ACQUIRE);
  return state != CASTSCOPE_CONTROL_REFUSES && castscope_control->magic == CASTSCOPE_CONTROL_MAGIC;
}

/* The socket is there as long as somebody records the run. Of what nobody records any more, the one who did has taken
 * what there was; nobody else would remove the folder, which `castscope attach` made. */
void injected_leave(void) {
  char path[PATH_MAX + NAME_MAX + 2];
  int error = errno;
  snprintf(path, sizeof(path), "%s/control", run_directory());
  DIR* folder = injected && run_has_directory() && access(path, F_OK) != 0 ? opendir(run_directory()) : NULL;
  if (folder != NULL) {
    for (struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
      snprintf(path, sizeof(path), "%s/%s", run_directory(), entry->d_name);
      unlink(path); /* fails for a folder, such as "." */
    }
    closedir(folder);
    rmdir(run_directory());
  }
  errno = error;
}
