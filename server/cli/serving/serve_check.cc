#include "server/cli/serving/serve_check.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/cli/serving/tokens_file.h"
#include "server/cli/version.h"
#include "server/ingest/listening/address.h"
#include "server/ingest/listening/certificates.h"
#include "server/web/http/listener.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// The kernel makes what is in /proc and /sys, and lets nobody make a folder there, whatever their modes say.
bool is_the_kernels(const fs::path& folder) {
  struct statfs about {};
  return statfs(folder.c_str(), &about) == 0 && (about.f_type == PROC_SUPER_MAGIC || about.f_type == SYSFS_MAGIC);
}

absl::Status check_folder(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error)) {
    if (!fs::is_directory(folder, error)) return absl::InvalidArgumentError(absl::StrCat(folder, " is not a folder"));
    if (access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(folder, " cannot be written: choose another --folder"));
  }
  fs::path above = fs::absolute(folder, error).lexically_normal();
  while (!fs::exists(above, error) && above.has_relative_path()) above = above.parent_path();
  const auto cannot_be_made = [&](const std::string& why) {
    return absl::PermissionDeniedError(absl::StrCat(folder, " cannot be made: ", why));
  };
  if (!fs::is_directory(above, error)) return cannot_be_made(absl::StrCat(above.string(), " is not a folder"));
  if (access(above.c_str(), W_OK | X_OK) != 0)
    return cannot_be_made(absl::StrCat(above.string(), " cannot be written: ", std::strerror(errno)));
  if (is_the_kernels(above)) return cannot_be_made(absl::StrCat("nobody can make a folder in ", above.string()));
  return absl::OkStatus();
}

// A host and a port; "" and 0 for what has none, such as a Unix socket.
struct Where {
  std::string host = {};
  std::string port = {};
};

Where where_relays_connect(const std::string& address) {
  Where where;
  if (!ingest::split_address(address, &where.host, &where.port)) return {};
  if (where.host == "localhost") where.host = "127.0.0.1";
  return where;
}

bool is_taken(const Where& one, const Where& other) {
  const auto is_any = [](const Where& where) { return where.host == "0.0.0.0" || where.host == "::"; };
  if (one.port.empty() || one.port == "0" || one.port != other.port) return false;
  return one.host == other.host || is_any(one) || is_any(other);
}

absl::Status shared(const std::string& address, const char* with) {
  return absl::InvalidArgumentError(absl::StrCat(address, " is the address of \"", with, "\", too: give another port"));
}

// The pages, which are for this machine alone, and which need ports of their own.
absl::Status check_pages(const ServeConfig& config) {
  const Where relays = where_relays_connect(config.listen);
  Where web;
  if (!config.web.empty()) {
    const auto place = web::check_address(config.web, web::kViewer);
    if (!place.ok()) return config.at("web", place.status());
    web = where_relays_connect(*place);
    if (is_taken(web, relays)) return config.at("web", shared(config.web, "listen"));
  }
  if (config.metrics.empty()) return absl::OkStatus();
  const auto place = web::check_address(config.metrics, web::kMetrics);
  if (!place.ok()) return config.at("metrics", place.status());
  const Where metrics = where_relays_connect(*place);
  if (is_taken(metrics, relays)) return config.at("metrics", shared(config.metrics, "listen"));
  if (is_taken(metrics, web)) return config.at("metrics", shared(config.metrics, "web"));
  return absl::OkStatus();
}

// A socket may lie in the folder of the runs, which is made before anybody listens.
bool comes_with_the_folder(const ServeConfig& config) {
  const std::string socket = ingest::socket_path(config.listen);
  std::error_code error;
  if (socket.empty() || fs::exists(config.folder, error)) return false;
  const auto whole = [&error](const fs::path& path) { return (fs::absolute(path, error) / "").lexically_normal(); };
  return whole(fs::path(socket).parent_path()) == whole(config.folder);
}

}  // namespace

ingest::Options listen_options(const ServeConfig& config, std::shared_ptr<admission::Door> door) {
  ingest::Options options;
  options.address = config.listen;
  options.door = std::move(door);
  options.version = kVersion;
  options.certificate_file = config.certificate;
  options.key_file = config.key;
  options.client_authorities_file = config.client_authorities;
  return options;
}

absl::Status check(const ServeConfig& config) {
  absl::StatusOr<admission::Tokens> tokens = TokensFile(config).read();
  if (!tokens.ok()) return config.at("tokens", tokens.status());
  ingest::Options options =
      listen_options(config, std::make_shared<admission::Door>(*std::move(tokens), admission::Door::Told()));
  options.address.clear();  // what is wrong without any address is wrong with TLS
  if (absl::Status status = ingest::check_listener(options); !status.ok()) return config.at("tls", status);
  if (!options.certificate_file.empty())
    if (auto tls = ingest::Certificates::read(options); !tls.ok()) return config.at("tls", tls.status());
  options.address = config.listen;
  if (!comes_with_the_folder(config))
    if (absl::Status status = ingest::check_listener(options); !status.ok()) return config.at("listen", status);
  if (absl::Status status = check_pages(config); !status.ok()) return status;
  return config.at("folder", check_folder(config.folder));
}

}  // namespace castscope::cli
