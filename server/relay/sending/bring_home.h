// Sends what a relay left in its spool to the collector, as that relay: the collector takes each message once, whatever
// had arrived before.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/relay/sending/spool.h"

namespace grpc {
class Channel;
}

namespace castscope::relay {

// What is known of a spool without sending it.
struct Waiting {
  std::string path;
  std::string run_id, run_file_name;
  std::int64_t begin_realtime_ns = 0;  // of the run
  std::uint64_t bytes = 0;
  Destination destination;
  std::string damage;  // a sentence where a part of it cannot be read
};
absl::StatusOr<Waiting> look_into(const std::string& path);

// When a collector last took something of those who send to it side by side. One of them may have to wait for another
// one, such as where a quota lets one run in at a time.
using LastTaken = std::atomic<std::chrono::steady_clock::time_point>;

struct BringHomeOptions {
  std::shared_ptr<grpc::Channel> channel;
  std::string token = {};
  std::chrono::milliseconds patience{5000};    // without any progress, here or of the others
  std::shared_ptr<LastTaken> last_taken = {};  // null: there are no others
  std::function<bool()> stopped = {};          // asked several times a second; empty = never
};

struct Homecoming {
  bool sent = false;      // the collector has taken what could be read; false: that is no message, so nobody was asked
  std::string rest = {};  // the file that has what cannot be read; "" = there is none
};
// Removes the file when the collector has all of it that can be read. The error says why it is still there.
absl::StatusOr<Homecoming> bring_home(const std::string& path, const BringHomeOptions& options);

}  // namespace castscope::relay
