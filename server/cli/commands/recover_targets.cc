#include "server/cli/commands/recover_targets.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/fail.h"
#include "server/cli/leftovers/leftovers.h"
#include "server/report/text/words.h"

namespace castscope::cli {
namespace {

// A name without a folder is that of a run directory in the place where they are made.
RunDirectory named(const std::string& name) {
  if (name.find('/') == std::string::npos) {
    for (const RunDirectory& directory : RunDirectory::all())
      if (directory.id() == name) return directory;
  }
  return RunDirectory(name);
}

bool is_called(const std::string& path, const std::string& name) {
  return path == name || std::filesystem::path(path).filename() == name;
}

// Reads a file that a relay left in the spool, or that somebody moved elsewhere, and adds it to the files that can be
// sent, or to the damaged ones.
absl::Status add_file(const std::string& path, LeftOver& to) {
  absl::StatusOr<relay::Waiting> one = relay::look_into(path);
  if (one.ok())
    to.spools.push_back(*std::move(one));
  else if (absl::IsDataLoss(one.status()))
    to.damaged.push_back({.path = path, .why = std::string(one.status().message())});
  else
    return one.status();
  return absl::OkStatus();
}

// A name is that of a file in the spool or elsewhere, or of the run whose it is, or else of a run directory.
absl::Status add_named(const std::string& name, const InSpool& spool, LeftOver& to) {
  for (const std::string& path : spool.paths())
    if (is_called(path, name)) return add_file(path, to);
  std::error_code error;
  if (std::filesystem::is_regular_file(name, error)) return add_file(name, to);
  RunDirectory directory = named(name);
  const std::size_t before = to.spools.size();
  std::ranges::copy_if(spool.waiting, std::back_inserter(to.spools),
                       [&](const relay::Waiting& one) { return one.run_id == name && !directory.check().ok(); });
  if (to.spools.size() == before) to.directories.push_back(std::move(directory));
  return absl::OkStatus();
}

}  // namespace

LeftOver everything(bool to_be_deleted) {
  LeftOver all{.directories = leftovers(), .spools = {}, .damaged = {}};
  InSpool spool = in_spool();
  const std::vector<RunDirectory> empty = empty_ones();
  if (to_be_deleted) all.directories.insert(all.directories.end(), empty.begin(), empty.end());
  if (all.directories.empty() && spool.paths().empty()) say("there is nothing to recover");
  for (const std::string& path : spool.in_use)
    say(absl::StrCat(report::on_one_line(path),
                     " is left alone: another castscope sends it, or records the job that it belongs to"));
  if (!to_be_deleted && !empty.empty())
    say(absl::StrCat(report::counted(empty.size(), "run directory holds", "run directories hold"),
                     " nothing that could be recovered: `castscope recover --discard --all` deletes such, too"));
  all.spools = std::move(spool.waiting);
  all.damaged = std::move(spool.damaged);
  return all;
}

absl::StatusOr<LeftOver> all_named(const std::vector<std::string>& names) {
  LeftOver all;
  const InSpool spool = in_spool();
  for (const std::string& name : names)
    if (absl::Status status = add_named(name, spool, all); !status.ok()) return status;
  return all;
}

}  // namespace castscope::cli
