// castscope serve: a collector for many runs, one file each.
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/recording/collector_access.h"
#include "server/cli/serving/daemon.h"
#include "server/cli/serving/serve_check.h"
#include "server/cli/serving/serve_config.h"
#include "server/config/amounts.h"

namespace castscope::cli {
namespace {

struct ServeOptions {
  ServeConfig given;
  std::string config_file;
  std::string keep_bytes;
  int keep_days = 0;
  bool check_config = false;
};

std::string folder_problem(const std::string& folder) {
  std::error_code error;
  if (folder.empty()) return "its value is empty";
  const bool is_other = std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error);
  return is_other ? absl::StrCat(folder, " is not a folder") : "";
}

std::string bytes_problem(const std::string& amount) {
  return config::parse_bytes(amount) ? ""
                                     : absl::StrCat("\"", amount, "\" is not an amount of bytes, such as \"500 GB\"");
}

// Reads the file of --config, and replaces each setting that the command line gives, too.
absl::StatusOr<ServeConfig> config_of(const ServeOptions& options, const Command& command) {
  ServeConfig config;
  if (!options.config_file.empty()) {
    absl::StatusOr<ServeConfig> read = read_serve_config(options.config_file);
    if (!read.ok()) return read;
    config = *std::move(read);
  }
  const auto take = [&](const char* name, const std::string& from, std::string* to) {
    if (command.count(name) == 0) return;
    *to = from;
    config.forget_place(name);
  };
  const ServeConfig& given = options.given;
  take("--listen", given.listen, &config.listen);
  take("--folder", given.folder, &config.folder);
  take("--web", given.web, &config.web);
  take("--metrics", given.metrics, &config.metrics);
  take("--cert", given.certificate, &config.certificate);
  take("--key", given.key, &config.key);
  take("--client-ca", given.client_authorities, &config.client_authorities);
  take("--tokens", given.tokens, &config.tokens);
  take("--token-file", given.token_file, &config.token_file);
  take("--keep", given.keep, &config.keep);
  take("--fsync", given.fsync, &config.fsync);
  take("--log-format", given.log_format, &config.log_format);
  if (options.keep_days > 0) config.retention.days = static_cast<std::uint64_t>(options.keep_days);
  if (!options.keep_bytes.empty()) config.retention.bytes = config::parse_bytes(options.keep_bytes).value_or(0);
  CollectorAddress access{
      .address = "", .token = given.token, .token_file = config.token_file, .tls = {}, .is_ours = true};
  if (absl::Status status = complete(access); !status.ok()) return config.at("token_file", status);
  config.token = access.token;
  return config;
}

int serve(const ServeOptions& options, const Command& command) {
  const absl::StatusOr<ServeConfig> config = config_of(options, command);
  if (!config.ok()) return fail(config.status(), kUsage);
  if (options.check_config) {
    if (const absl::Status status = check(*config); !status.ok()) return fail(status, kUsage);
    return put(absl::StrCat("the settings can be used: a collector on ", config->listen, ", into ", config->folder,
                            "\n"))
               ? 0
               : kUsage;
  }
  auto daemon = Daemon::start(*config);
  if (!daemon.ok()) return fail(daemon.status(), kUsage);
  // Only a person at a terminal gets the address with its token: logs are read by others.
  if (!(*daemon)->page().empty() && isatty(STDERR_FILENO) != 0)
    say(absl::StrCat("runs can be watched at ", (*daemon)->page()));
  (*daemon)->run_until_stopped();
  return 0;
}

}  // namespace

void add_serve(CommandLine& line) {
  const Command command = line.subcommand("serve", "Collect runs that come over the network");
  auto options = std::make_shared<ServeOptions>();
  ServeConfig& given = options->given;
  command
      .option("--config FILE", options->config_file,
              "A file with all settings (`castscope schema serve` has its form); what the command line says goes first")
      .existing_file();
  command.flag("--check-config", options->check_config, "Check the settings and the files that they name, and end");
  command
      .option("--listen ADDRESS", given.listen, "Where relays connect: HOST:PORT or unix:PATH; port 0 = any free one")
      .given()
      .shows_default();
  command.option("--folder FOLDER", given.folder, "Where the run files go").check(folder_problem).shows_default();
  command.option("--token TOKEN", given.token, "The token that relays must send (safer in the environment variable)")
      .from_variable("CASTSCOPE_TOKEN");
  command.option("--token-file FILE", given.token_file,
                 "A file whose first line is the token; CASTSCOPE_TOKEN_FILE names one, too");
  command
      .option("--tokens FILE", given.tokens,
              "Tokens of several senders and viewers, each with its name and what it may do (`castscope token` makes "
              "them). The file is read again when it changes")
      .existing_file();
  command.option("--cert FILE", given.certificate, "TLS certificate (PEM); a replaced one is taken within ten seconds")
      .existing_file();
  command.option("--key FILE", given.key, "Its key (PEM)").existing_file();
  command
      .option("--client-ca FILE", given.client_authorities,
              "Authorities (PEM): relays need a certificate of one of them")
      .existing_file();
  command
      .option("--keep", given.keep,
              "Which single events the run files keep: `all` of them, or those of a bounded `window`")
      .one_of({"all", "window"})
      .shows_default();
  command.option("--keep-days DAYS", options->keep_days, "Remove runs that ended so many days ago").range(1, 36500);
  command
      .option("--keep-bytes SIZE", options->keep_bytes,
              "Remove the oldest finished runs while all runs take more than this, such as 500GB")
      .check(bytes_problem);
  command
      .option(
          "--fsync", given.fsync,
          "When the disk must have it: before it is acknowledged (`commit`), or now and then (`checkpoint`). A power "
          "cut may then take what was acknowledged last; a crash of the collector takes nothing in either case")
      .one_of({"commit", "checkpoint"})
      .shows_default();
  command.flag_with_value("--web=ADDRESS", "127.0.0.1:0", given.web,
                          "Serve a page on which runs can be watched; --web=ADDRESS on this address of this machine");
  command.flag_with_value("--metrics=ADDRESS", "127.0.0.1:7392", given.metrics,
                          "Serve /metrics for Prometheus, /healthz and /readyz, on an address of this machine");
  command.option("--log-format", given.log_format, "Write the log for people, or a JSON object a line")
      .one_of({"text", "json"})
      .shows_default();
  command.footer(absl::StrCat(
      "Examples:\n"
      "  castscope serve --folder runs\n"
      "  castscope serve --folder runs --web=127.0.0.1:7391 --metrics\n"
      "  castscope serve --listen 0.0.0.0:7390 --cert cert.pem --key key.pem --tokens tokens.json\n"
      "  castscope serve --config serve.json --check-config\n\n"
      "Findings are logged as they come up, each one once, with run, rule, line and process. After ten findings of a "
      "rule\nin one run, further ones are only counted.\n\n"
      "Started again on its folder, a collector goes on with the runs that it had left open, and closes those that "
      "nobody\nsends any more. One folder has one collector.\n\n"
      "An address that other machines can reach is refused unless certificate and key are given, and tokens or "
      "--client-ca. If\n--web names a port, the page has the same address after a restart: its token is kept in the "
      "folder.\n\n",
      exit_statuses_of("serve")));
  command.on_run([options, command] { return serve(*options, command); });
}

}  // namespace castscope::cli
