/* Tells the recorder of the run that this process does not reach the run directory (agent/lanes/outside.h). */
#include "agent/lanes/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/preload/preload.h"

/* The job's own descriptors 0, 1 and 2 may be closed: what it writes there must not come here. */
static int datagram_socket(void) {
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || fd > 2) return fd;
  int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  close(fd);
  return higher;
}

bool outside_tell(uint32_t kind) {
  int error = errno;
  struct castscope_outside message = {.magic = CASTSCOPE_OUTSIDE_MAGIC, .kind = kind};
  struct sockaddr_un address;
  socklen_t length = castscope_outside_address(&address, run_named());
  strcpy(message.run_directory, run_named());
  const char* secret = environment_get("CASTSCOPE_SECRET");
  if (secret != NULL && strlen(secret) < sizeof(message.secret)) strcpy(message.secret, secret);
  size_t bytes = offsetof(struct castscope_outside, run_directory) + strlen(message.run_directory) + 1;
  int fd = datagram_socket();
  ssize_t sent = -1;
  if (fd >= 0) {
    sent = sendto(fd, &message, bytes, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr*)&address, length);
    close(fd);
  }
  errno = error;
  return sent == (ssize_t)bytes;
}
