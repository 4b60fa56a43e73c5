#include "server/cli/serving/serve_config.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/config/json_members.h"
#include "server/config/nearest.h"
#include "server/config/settings_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using config::Members;
using config::PlacedJson;

constexpr std::array<std::string_view, 13> kKeys = {"$schema",    "listen",    "folder",     "web",  "metrics",
                                                    "tls",        "tokens",    "token_file", "keep", "fsync",
                                                    "log_format", "retention", "quotas"};
constexpr std::array<std::string_view, 3> kTlsKeys = {"certificate", "key", "client_authorities"};
constexpr std::array<std::string_view, 2> kRetentionKeys = {"days", "bytes"};
constexpr std::array<std::string_view, 2> kKeep = {"all", "window"}, kFsync = {"commit", "checkpoint"},
                                          kFormats = {"text", "json"};

class Reader {
 public:
  Reader(const PlacedJson& json, const std::string& file)
      : json_(json), folder_(fs::path(file).parent_path()), members_(json, "", kKeys) {}

  absl::StatusOr<ServeConfig> read() {
    text("listen", &config_.listen);
    path(members_, "folder", &config_.folder);
    text("web", &config_.web);
    text("metrics", &config_.metrics);
    path(members_, "tokens", &config_.tokens);
    path(members_, "token_file", &config_.token_file);
    word("keep", kKeep, &config_.keep);
    word("fsync", kFsync, &config_.fsync);
    word("log_format", kFormats, &config_.log_format);
    absl::Status status = members_.status();
    if (status.ok() && members_.has("tls")) status = tls();
    if (status.ok() && members_.has("retention")) status = retention();
    if (status.ok() && members_.has("quotas")) config_.quotas = admission::quotas_at(json_, "/quotas", &status);
    if (!status.ok()) return status;
    return config_;
  }

 private:
  std::optional<std::string> plain_text(Members& members, std::string_view key) {
    std::optional<std::string> value = members.text(key);
    if (!value) return value;
    config_.places[std::string(key)] = json_.place(members.pointer_of(key));
    if (value->find('\0') == std::string::npos) return value;
    members.complain(key, "this has a NUL in it, which no path and no address can have");
    return std::nullopt;
  }
  void text(std::string_view key, std::string* to) {
    if (auto value = plain_text(members_, key)) *to = *std::move(value);
  }
  void path(Members& members, std::string_view key, std::string* to) {
    if (auto value = plain_text(members, key)) *to = (folder_ / *value).lexically_normal().string();
  }
  void word(std::string_view key, std::span<const std::string_view> known, std::string* to) {
    const auto value = members_.text(key);
    if (!value) return;
    if (std::ranges::find(known, *value) == known.end())
      return members_.complain(key, absl::StrCat("this must be \"", std::string(known[0]), "\" or \"",
                                                 std::string(known[1]), "\"", config::meant(*value, known)));
    *to = *value;
  }
  absl::Status tls() {
    config_.places["tls"] = json_.place("/tls");
    Members members(json_, "/tls", kTlsKeys);
    path(members, "certificate", &config_.certificate);
    path(members, "key", &config_.key);
    path(members, "client_authorities", &config_.client_authorities);
    return members.status();
  }
  absl::Status retention() {
    Members members(json_, "/retention", kRetentionKeys);
    config_.retention.days = members.number("days").value_or(0);
    config_.retention.bytes = members.bytes("bytes").value_or(0);
    return members.status();
  }

  const PlacedJson& json_;
  const fs::path folder_;
  Members members_;
  ServeConfig config_;
};

}  // namespace

absl::Status ServeConfig::at(const std::string& key, const absl::Status& status) const {
  const auto place = places.find(key);
  if (status.ok() || place == places.end()) return status;
  return {status.code(), absl::StrCat(place->second, ": ", status.message())};
}

void ServeConfig::forget_place(const std::string& option) {
  const bool is_of_tls = option == "--cert" || option == "--key" || option == "--client-ca";
  places.erase(is_of_tls ? "tls" : option.substr(std::min(option.size(), sizeof "--" - 1)));
}

absl::StatusOr<ServeConfig> parse_serve_config(const std::string& text, const std::string& file) {
  absl::StatusOr<PlacedJson> json = PlacedJson::parse(text, file);
  if (!json.ok()) return json.status();
  return Reader(*json, file).read();
}

absl::StatusOr<ServeConfig> read_serve_config(const std::string& file) {
  absl::StatusOr<std::string> text = config::read_text(file, "the collector's settings");
  return text.ok() ? parse_serve_config(*text, file) : text.status();
}

}  // namespace castscope::cli
