// Runs a program some of whose system calls come out otherwise, as a file says at that moment:
//
//   system_calls STATE COMMAND…
//
// STATE holds three numbers of 64 bits: how many ms each fsync and fdatasync takes longer, the errno with which they
// fail (0 = they do not), and by how many seconds the wall clock is off. The program has the process number, the
// signals and the exit status of COMMAND: it becomes COMMAND, and a process of its own answers those system calls by
// seccomp's user notification. A library under LD_PRELOAD could not do this to castscope, which is linked statically.
// A program that the kernel gives a vDSO reads the clock without a system call, so COMMAND is not told of its vDSO;
// what COMMAND starts in turn is, and has the right time. Ends with 125 where the kernel does not allow all of this.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>

namespace castscope {
namespace {

constexpr int kCannot = 125;

struct State {
  std::atomic<std::int64_t> sync_ms, sync_errno, clock_seconds;
};

State* map_state(const char* path) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const at = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return at == MAP_FAILED ? nullptr : static_cast<State*>(at);
}

// The calls that are answered; everything else goes its way. A clock that is not the wall clock is left alone.
int install_filter() {
  auto load = [](std::uint32_t offset) { return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); };
  auto answer_if = [](std::uint32_t number, std::uint8_t how_far) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, how_far, 0);
  };
  sock_filter program[] = {
      load(offsetof(seccomp_data, nr)),
#ifdef __NR_time
      answer_if(__NR_time, 7),
#else
      answer_if(__NR_gettimeofday, 7),
#endif
      answer_if(__NR_gettimeofday, 6),
      answer_if(__NR_fsync, 5),
      answer_if(__NR_fdatasync, 4),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 0, 2),
      load(offsetof(seccomp_data, args[0])),
      answer_if(CLOCK_REALTIME, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
  };
  sock_fprog filter{.len = std::size(program), .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
}

bool send_descriptor(int socket, int descriptor) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &data, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  return sendmsg(socket, &message, 0) == 1;
}

int receive_descriptor(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data, message.msg_iovlen = 1;
  message.msg_control = control, message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, 0) != 1 || CMSG_FIRSTHDR(&message) == nullptr) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
  return descriptor;
}

// Where the stack of a program that was just started begins: the 28th word of /proc/PID/stat. The 2nd is in brackets.
std::uint64_t stack_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream words(text.substr(text.rfind(')') + 1));
  std::string word;
  for (int number = 3; number <= 28; ++number) words >> word;
  return std::stoull(word);
}

// The kernel's table of what a program should know (auxv) lies behind its arguments and its environment.
void hide_vdso(pid_t pid) {
  auto at = stack_of(pid);
  auto next = [&] {
    const long word = ptrace(PTRACE_PEEKDATA, pid, at, nullptr);
    at += sizeof word;
    return word;
  };
  next();  // how many arguments there are
  for (int lists = 0; lists < 2; ++lists)
    while (next() != 0) continue;
  for (long kind = next(); kind != AT_NULL; next(), kind = next())
    if (kind == AT_SYSINFO_EHDR) ptrace(PTRACE_POKEDATA, pid, at - sizeof kind, static_cast<long>(AT_IGNORE));
}

// Waits until the process that is traced becomes COMMAND, and lets it go.
bool let_start(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
      hide_vdso(pid);
      return ptrace(PTRACE_DETACH, pid, nullptr, nullptr) == 0;
    }
    ptrace(PTRACE_CONT, pid, nullptr, static_cast<long>(WSTOPSIG(status)));
  }
  return false;
}

template <typename T>
bool write_to(pid_t pid, std::uint64_t at, const T& value) {
  if (at == 0) return true;
  iovec here{const_cast<T*>(&value), sizeof value}, there{reinterpret_cast<void*>(at), sizeof value};
  return process_vm_writev(static_cast<pid_t>(pid), &here, 1, &there, 1, 0) == sizeof value;
}

// The wall clock as STATE has it. False where it cannot be told.
bool tell_time(const seccomp_notif& call, std::int64_t shift, __s64* result) {
  const auto pid = static_cast<pid_t>(call.pid);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec += shift;
  *result = 0;
  if (call.data.nr == __NR_clock_gettime) return write_to(pid, call.data.args[1], now);
  if (call.data.nr == __NR_gettimeofday)
    return write_to(pid, call.data.args[0], timeval{now.tv_sec, now.tv_nsec / 1000});
  *result = now.tv_sec;
  return write_to(pid, call.data.args[0], now.tv_sec);
}

void answer(int listener, const State& state, const seccomp_notif& call) {
  seccomp_notif_resp response{};
  response.id = call.id;
  if (call.data.nr == __NR_fsync || call.data.nr == __NR_fdatasync) {
    std::this_thread::sleep_for(std::chrono::milliseconds(state.sync_ms.load()));
    response.error = -static_cast<int>(state.sync_errno.load());
    if (response.error == 0) response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else if (!tell_time(call, state.clock_seconds.load(), &response.val)) {
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  }
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);  // it fails where a signal interrupted the call
}

// Answers until the last process that asks is gone.
void answer_all(int listener, const State& state) {
  pollfd asked{listener, POLLIN, 0};
  while (poll(&asked, 1, -1) >= 0 && (asked.revents & POLLIN) != 0) {
    seccomp_notif call{};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
    const bool waits = call.data.nr == __NR_fsync || call.data.nr == __NR_fdatasync;
    if (waits)
      std::thread(answer, listener, std::cref(state), call).detach();
    else
      answer(listener, state, call);
  }
}

// The process that answers. It keeps none of COMMAND's pipes open, and is not its child.
[[noreturn]] void serve(int socket, pid_t pid, const State& state) {
  if (fork() != 0) _exit(0);
  setsid();
  const int nothing = open("/dev/null", O_RDWR);
  for (const int standard : {0, 1, 2}) dup2(nothing, standard);
  const int listener = receive_descriptor(socket);
  if (listener < 0 || ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXEC) != 0) _exit(1);
  if (write(socket, "", 1) != 1) _exit(1);
  close(socket);
  if (let_start(pid)) answer_all(listener, state);
  _exit(0);
}

int become(char** command, const State& state) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return kCannot;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  const pid_t pid = getpid(), child = fork();
  if (child == 0) {
    close(sockets[0]);
    serve(sockets[1], pid, state);
  }
  close(sockets[1]);
  waitpid(child, nullptr, 0);
  const int listener = install_filter();
  char byte = 0;
  if (listener < 0 || !send_descriptor(sockets[0], listener) || read(sockets[0], &byte, 1) != 1) return kCannot;
  close(listener);
  execvp(command[0], command);
  return kCannot;
}

}  // namespace
}  // namespace castscope

int main(int argc, char** argv) {
  castscope::State* const state = argc > 2 ? castscope::map_state(argv[1]) : nullptr;
  const int status = state == nullptr ? castscope::kCannot : castscope::become(argv + 2, *state);
  std::fprintf(stderr, "system_calls: cannot run %s: %s\n", argc > 2 ? argv[2] : "nothing", std::strerror(errno));
  return status;
}
