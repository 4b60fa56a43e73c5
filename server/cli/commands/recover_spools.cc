#include "server/cli/commands/recover_spools.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/fail.h"
#include "server/report/text/words.h"

namespace castscope::cli {
namespace {

using report::on_one_line;

std::string how_it_went(const relay::Waiting& one, const absl::StatusOr<relay::Homecoming>& home) {
  if (!home.ok()) return absl::StrCat(title(one), " is still there: ", home.status().message());
  const std::string rest =
      home->rest.empty() ? "" : absl::StrCat(", and what cannot be read is in ", on_one_line(home->rest));
  if (!home->sent && one.damage.empty())
    return absl::StrCat(on_one_line(one.path), " held no message for a collector: it was deleted");
  if (!home->sent)
    return absl::StrCat(on_one_line(one.damage), ": no message comes before, so nothing was sent to a collector",
                        rest.empty() ? ", and the file was deleted" : rest);
  if (!one.damage.empty())
    return absl::StrCat(on_one_line(one.damage), ": the collector has taken what comes before", rest);
  return absl::StrCat("the collector has taken what waited in ", on_one_line(one.path));
}

int discard(const std::string& path, const std::string& title) {
  std::error_code error;
  std::filesystem::remove(path, error);
  say(error ? absl::StrCat(on_one_line(path), " cannot be deleted: ", error.message())
            : absl::StrCat("deleted ", title));
  return error ? kIncompleteData : 0;
}

}  // namespace

SentSpools send_spools(const std::vector<relay::Waiting>& all, const CollectorAddress& collector) {
  SentSpools result;
  std::atomic<std::size_t> done = 0;
  const auto progress = say_while_it_lasts(
      [&] { return absl::StrCat("sending what waits: ", done.load(), " of ", all.size(), " done"); });
  send_home(all, collector, done, [&](const relay::Waiting& one, const absl::StatusOr<relay::Homecoming>& home) {
    say(how_it_went(one, home));
    result.all &= home.ok();
    result.whole &= one.damage.empty();
  });
  return result;
}

int say_damaged(const std::vector<DamagedSpool>& all) {
  for (const DamagedSpool& one : all)
    say(absl::StrCat(on_one_line(one.why), ": it cannot be sent; `castscope recover --discard ", on_one_line(one.path),
                     "` deletes it"));
  return all.empty() ? 0 : kIncompleteData;
}

int discard_spools(const std::vector<relay::Waiting>& all, const std::vector<DamagedSpool>& damaged) {
  int status = 0;
  for (const relay::Waiting& one : all) status = std::max(status, discard(one.path, title(one)));
  for (const DamagedSpool& one : damaged) status = std::max(status, discard(one.path, on_one_line(one.path)));
  return status;
}

}  // namespace castscope::cli
