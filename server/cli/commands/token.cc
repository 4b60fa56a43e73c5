// castscope token: makes a token for senders or viewers of a collector, and its entry in the collector's file.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/admission/digest.h"
#include "server/admission/random_token.h"
#include "server/admission/tokens.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"

namespace castscope::cli {
namespace {

struct TokenOptions {
  std::string name, file, until;
  std::vector<std::string> may = {"send"};
};

std::string day_problem(const std::string& day) {
  return admission::end_of_day(day) ? "" : absl::StrCat("\"", day, "\" is not a day, such as 2027-01-31");
}

absl::Status write_secret(const std::string& path, const std::string& token) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const std::string line = token + "\n";
  const bool written = file >= 0 && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  if (file >= 0) close(file);
  if (written) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the token cannot be written into ", path, ": ", std::strerror(error),
                                             error == EEXIST ? "; a token is never overwritten" : ""));
}

int make_token(const TokenOptions& options) {
  const std::string file = options.file.empty() ? options.name + ".token" : options.file;
  const absl::StatusOr<std::string> token = admission::new_token();
  if (!token.ok()) return fail(token.status(), kUsage);
  nlohmann::ordered_json entry{{"name", options.name}, {"sha256", admission::digest_of(*token)}, {"may", options.may}};
  if (!options.until.empty()) entry["until"] = options.until;
  // What is printed has to be understood by the collector.
  const nlohmann::ordered_json whole{{"tokens", nlohmann::ordered_json::array({entry})}};
  if (auto tokens = admission::Tokens::parse(whole.dump(), "castscope token"); !tokens.ok())
    return fail(tokens.status(), kUsage);
  if (absl::Status status = write_secret(file, *token); !status.ok()) return fail(status, kUsage);
  say(absl::StrCat(
      "the token is in ", file,
      ", which only you can read: it is for --token-file of whoever uses it. "
      "The line on the standard output is its entry in the collector's file (`castscope serve --tokens`)"));
  return put(entry.dump() + "\n") ? 0 : kUsage;
}

}  // namespace

void add_token(CommandLine& line) {
  const Command command = line.subcommand("token", "Make a token for a collector");
  auto options = std::make_shared<TokenOptions>();
  command.option("NAME", options->name, "Whose token it is, for the collector's log").required().given();
  command.option("--may", options->may, "What it allows: to send runs, to see them, to administer the collector")
      .one_at_a_time()
      .one_of({"send", "see", "administer"});
  command.option("--until DAY", options->until, "The last day on which it is taken, in UTC").check(day_problem);
  command.option("-o,--output FILE", options->file, "Where the token goes (default: NAME.token)").given();
  command.footer(
      absl::StrCat("Examples:\n"
                   "  castscope token training >> entries\n"
                   "  castscope token dashboards --may see --until 2027-12-31\n\n"
                   "The collector's file, which `castscope serve --tokens` reads again when it changes:\n"
                   "  {\"tokens\": [\n"
                   "    {\"name\": \"training\", \"sha256\": \"…\", \"may\": [\"send\"]},\n"
                   "    {\"name\": \"dashboards\", \"sha256\": \"…\", \"may\": [\"see\"], \"until\": \"2027-12-31\"}\n"
                   "  ]}\n"
                   "It holds digests alone: who reads it learns no token.\n\n",
                   exit_statuses_of("token")));
  command.on_run([options] { return make_token(*options); });
}

}  // namespace castscope::cli
