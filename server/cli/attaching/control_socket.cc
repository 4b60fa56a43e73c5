#include "server/cli/attaching/control_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/lanes/control.h"

namespace castscope::cli {
namespace {

constexpr char kName[] = "control";
constexpr std::size_t kMostBytes = 64 << 10;  // of an answer: more than a thousand processes
constexpr std::uint32_t kMostDeepSteps = 1'000'000;
constexpr timeval kPatience{1, 0};  // with a peer that says or takes nothing

// A path in an address has 107 bytes at most; through the folder's descriptor every path is short enough.
sockaddr_un address_in(int folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = absl::StrCat("/proc/self/fd/", folder, "/", kName);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

int open_folder(const std::string& directory) {
  return open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

absl::Status failed(const std::string& directory) {
  return absl::UnavailableError(absl::StrCat(directory, "/", kName, ": ", strerror(errno)));
}

void send_all(int connection, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Up to the first line end, or the end of what comes; nullopt: the peer said nothing for as long as kPatience.
std::optional<std::string> receive(int connection, bool one_line) {
  std::string text;
  char buffer[1024];
  while (text.size() < kMostBytes && !(one_line && absl::StrContains(text, '\n'))) {
    const ssize_t n = recv(connection, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EAGAIN) return std::nullopt;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

void be_patient(int connection) {
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
}

std::string stands_still(const std::string& directory) {
  return absl::StrCat("nobody who records the run answers at ", directory, "/", kName,
                      ": the castscope there is stopped, or the machine is very busy");
}

absl::StatusOr<std::vector<ControlState>> states_in(const std::string& answer) {
  std::vector<ControlState> states;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(answer, '\n', absl::SkipEmpty()))) {
    const auto state = state_of(line);
    if (!state.has_value()) return absl::DataLossError("the run's answer is not understood: are there two castscopes?");
    states.push_back(*state);
  }
  return states;
}

std::string error(const std::string& sentence) { return absl::StrCat("error ", sentence, "\n"); }

bool carry_out(const ControlPage& page, const std::string& verb, std::uint32_t steps) {
  if (verb == "attach") return page.want(CASTSCOPE_WANTED_AT_REGION);
  if (verb == "attach-at-once") return page.want(CASTSCOPE_WANTED_AT_ONCE);
  if (verb == "detach") return page.want(CASTSCOPE_WANTED_AWAY);
  if (verb == "detach-at-once") return page.want(CASTSCOPE_WANTED_AWAY_AT_ONCE);
  if (verb == "deep") return page.want_deep_steps(steps);
  return verb == "status";
}

}  // namespace

std::string refusal_of(uid_t peer, uid_t own) {
  if (peer == own) return "";
  return absl::StrCat("this run belongs to user ", own, ", and user ", peer, " may not ask for anything in it");
}

std::string answer_to(const std::string& directory, const std::string& request) {
  const std::vector<std::string> words = absl::StrSplit(request, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  pid_t pid = 0;
  std::uint32_t steps = 0;
  const bool deep = !words.empty() && words[0] == "deep";
  const std::size_t count = deep ? 3 : 2;
  if (words.size() != count || !absl::SimpleAtoi(words[1], &pid) || pid < 0)
    return error(absl::StrCat("`", absl::StrJoin(words, " ").substr(0, 80), "` is no request"));
  if (deep && (!absl::SimpleAtoi(words[2], &steps) || steps == 0 || steps > kMostDeepSteps))
    return error(absl::StrCat("`", words[2].substr(0, 40), "` is no number of steps from 1 to ", kMostDeepSteps));
  std::string answer;
  for (const ControlPage& page : ControlPage::all(directory, pid)) {
    if (!carry_out(page, words[0], steps)) return error(absl::StrCat("`", words[0], "` cannot be carried out"));
    if (const auto state = page.read()) absl::StrAppend(&answer, line_of(*state), "\n");
  }
  if (answer.empty() && pid != 0) return error(absl::StrCat("no process ", pid, " of this run has PyTorch"));
  return answer;
}

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::start(const std::string& directory) {
  const int folder = open_folder(directory);
  if (folder < 0) return failed(directory);
  const absl::Cleanup close_folder = [folder] { close(folder); };
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listening < 0) return failed(directory);
  unlinkat(folder, kName, 0);  // of a relay that was killed
  const sockaddr_un address = address_in(folder);
  const bool bound = bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                     fchmodat(folder, kName, 0600, 0) == 0 && listen(listening, 16) == 0;
  const int wake = bound ? eventfd(0, EFD_CLOEXEC) : -1;
  if (wake < 0) {
    const absl::Status problem = failed(directory);
    close(listening);
    return problem;
  }
  return std::unique_ptr<ControlServer>(new ControlServer(directory, listening, wake));
}

ControlServer::ControlServer(std::string directory, int listening, int wake)
    : directory_(std::move(directory)), listening_(listening), wake_(wake), thread_([this] { serve(); }) {}

ControlServer::~ControlServer() {
  const std::uint64_t one = 1;
  const ssize_t ignored = write(wake_, &one, sizeof one);
  (void)ignored;
  thread_.join();
  unlink(absl::StrCat(directory_, "/", kName).c_str());
  close(listening_);
  close(wake_);
}

void ControlServer::serve() {
  for (;;) {
    pollfd waits[] = {{listening_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR) return;
    if (waits[1].revents != 0) return;
    if (waits[0].revents == 0) continue;
    const int connection = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    answer(connection);
    close(connection);
  }
}

void ControlServer::answer(int connection) {
  be_patient(connection);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  if (const std::string refusal = refusal_of(peer.uid, geteuid()); !refusal.empty())
    return send_all(connection, error(refusal));
  const std::string request = receive(connection, true).value_or("");
  const std::string answer = answer_to(directory_, request);
  if (absl::StartsWith(request, "attach") && !answer.empty() && !absl::StartsWith(answer, "error "))
    was_asked_to_attach_ = true;
  send_all(connection, answer);
}

absl::StatusOr<std::vector<ControlState>> ask_run(const std::string& directory, const std::string& request) {
  const int folder = open_folder(directory);
  if (folder < 0) return absl::NotFoundError(absl::StrCat(directory, " is not there"));
  const absl::Cleanup close_folder = [folder] { close(folder); };
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return failed(directory);
  const absl::Cleanup close_connection = [connection] { close(connection); };
  be_patient(connection);  // with a full queue, too
  const sockaddr_un address = address_in(folder);
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EAGAIN) return absl::UnavailableError(stands_still(directory));
    return absl::NotFoundError(absl::StrCat("nobody answers at ", directory, "/", kName, " (", strerror(errno), ")"));
  }
  send_all(connection, absl::StrCat(request, "\n"));
  std::optional<std::string> answer = receive(connection, false);
  if (!answer.has_value())  // requests are taken in their order, also those of askers who no longer wait
    return absl::DeadlineExceededError(absl::StrCat(stands_still(directory), "; the request holds once it goes on"));
  if (!absl::StartsWith(*answer, "error ")) return states_in(*answer);
  while (answer->back() == '\n') answer->pop_back();
  return absl::FailedPreconditionError(answer->substr(std::string_view("error ").size()));
}

bool takes_requests(const std::string& directory) {
  return access(absl::StrCat(directory, "/", kName).c_str(), F_OK) == 0;
}

}  // namespace castscope::cli
