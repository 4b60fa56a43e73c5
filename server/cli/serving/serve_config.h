// What `castscope serve` is told: its file (docs/serve.schema.json) and, before that, its command line.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "server/admission/tokens.h"

namespace castscope::cli {

// How long finished runs are kept. 0 = as long as there is room.
struct Retention {
  std::uint64_t days = 0;   // since the run's end
  std::uint64_t bytes = 0;  // of all files of runs in the folder; the oldest go first
};

struct ServeConfig {
  std::string listen = "127.0.0.1:7390";
  std::string folder = ".";
  std::string web = {};                                             // address of the viewer; "" = none
  std::string metrics = {};                                         // address of /metrics; "" = none
  std::string certificate = {}, key = {}, client_authorities = {};  // files
  std::string tokens = {};                                          // a file of tokens with roles
  std::string token = {}, token_file = {};                          // the one token of senders, or its file
  std::string keep = "window", fsync = "commit", log_format = "text";
  Retention retention = {};
  admission::Quotas quotas = {};
  // Where the settings of a file stand in it, as "FILE:LINE:COLUMN", by their keys there.
  std::map<std::string, std::string> places = {};

  // The status, with the setting's place in the file if it is an error about one that a file gave.
  absl::Status at(const std::string& key, const absl::Status& status) const;
  // The command line gives this setting: "--listen", "--cert".
  void forget_place(const std::string& option);
};

// Reads the text of such a file. Relative paths in it count from the file's folder.
absl::StatusOr<ServeConfig> parse_serve_config(const std::string& text, const std::string& file);
absl::StatusOr<ServeConfig> read_serve_config(const std::string& file);

}  // namespace castscope::cli
