// Removes finished runs that are older than they are to be kept, or take more room than they may.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "server/cli/serving/serve_config.h"
#include "server/store/read/run_heading.h"

namespace castscope::cli {

struct RemovedRun {
  std::string run_id, stem;
  std::uint64_t bytes = 0;
};

// Whose run a file held when it was last read: the name of the token by which the run was begun; "" = there was none,
// or the file does not say it.
struct FileSender {
  std::filesystem::file_time_type written{};
  std::string sender;
};
// By run file: each is read for it once.
using SendersOfFiles = std::map<std::string, FileSender>;

// Removes what is too old, and then, while all takes too much, the oldest runs of the sender whose runs take most. A
// sender whose runs take no more than an equal share of the bytes loses none for their size: what one sends in great
// numbers, or leaves open, removes nothing of another's. A run that goes on, or ended less than two minutes ago and may
// go on, one that another castscope writes, and files that no collector made stay, whatever their age and size.
// `now_ns`: since 1970. `senders` is what the last call knew, and knows what this one does afterwards;
// `read_heading` is asked for the senders of other files. A file is opened before it is removed.
std::vector<RemovedRun> remove_what_is_over(const std::string& folder, const Retention& kept, std::int64_t now_ns,
                                            SendersOfFiles& senders, const store::ReadHeading& read_heading);

}  // namespace castscope::cli
