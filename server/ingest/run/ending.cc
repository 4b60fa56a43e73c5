#include "server/ingest/run/ending.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace castscope::ingest {
namespace {

constexpr int kLastSignal = 64;  // of Linux: SIGRTMAX

std::string in_words(const store::RelayState& ending) {
  std::string text = absl::StrCat("exit code ", ending.exit_status, ", signal ", ending.signal, " and ",
                                  ending.still_running, " processes that still ran");
  if (ending.expected_ranks > 0)
    absl::StrAppend(&text, ", and ", ending.seen_ranks, " of ", ending.expected_ranks, " ranks");
  return text;
}

}  // namespace

bool tells_possible_end(const v1::Goodbye& goodbye) {
  return goodbye.exit_code() >= -1 && goodbye.exit_code() <= 255 && goodbye.signal() >= 0 &&
         goodbye.signal() <= kLastSignal;
}

store::RelayState ending_of(const v1::Goodbye& goodbye) {
  store::RelayState ending{.relay = "",
                           .acknowledged = goodbye.sequence(),
                           .said_goodbye = true,
                           .still_running = goodbye.still_running(),
                           .expected_ranks = goodbye.expected_ranks(),
                           .seen_ranks = goodbye.seen_ranks()};
  if (tells_possible_end(goodbye)) ending.exit_status = goodbye.exit_code(), ending.signal = goodbye.signal();
  return ending;
}

store::IncompleteReason missing_reason(const v1::Missing& missing) {
  switch (missing.incomplete_reason()) {
    case v1::MISSING_REASON_RUN_DIRECTORY_LOST:
      return store::IncompleteReason::kRunDirectoryLost;
    case v1::MISSING_REASON_PROCESS_MISSING:
      return store::IncompleteReason::kProcessMissing;
    case v1::MISSING_REASON_PROCESS_UNRECORDED:
      return store::IncompleteReason::kProcessUnrecorded;
    default:
      return store::IncompleteReason::kUnknown;
  }
}

std::string other_goodbye(const v1::Goodbye& goodbye, const store::RelayState& said) {
  store::RelayState now = ending_of(goodbye);
  now.relay = said.relay;
  if (now == said) return "";
  if (now.acknowledged != said.acknowledged)
    return absl::StrCat("with message ", now.acknowledged, ", and said it with message ", said.acknowledged, " before");
  return absl::StrCat("with ", in_words(now), ", and said it with ", in_words(said), " before");
}

store::RelayState end_of_job(const std::vector<store::RelayState>& relays) {
  const auto gravity = [](const store::RelayState& one) {
    return one.signal > 0 ? 3 : one.exit_status > 0 ? 2 : one.exit_status == 0 ? 1 : 0;
  };
  const auto gravest = std::ranges::max_element(relays, {}, gravity);
  return gravest == relays.end() ? store::RelayState() : *gravest;
}

std::string what_is_unseen(const std::vector<store::RelayState>& relays) {
  std::vector<std::string> silent;
  std::uint64_t still_running = 0;
  for (const store::RelayState& relay : relays) {
    if (!relay.said_goodbye) silent.push_back(relay.relay);
    still_running += relay.still_running;
  }
  if (!silent.empty())
    return absl::StrCat(silent.size() == 1 ? "relay " : "the relays ", absl::StrJoin(silent, ", "),
                        " did not say goodbye: what came after the last message is not known");
  if (still_running == 0) return "";
  return absl::StrCat(still_running, still_running == 1 ? " process" : " processes",
                      " of the job still ran when the relay said goodbye: what was done after that is not in the file");
}

}  // namespace castscope::ingest
