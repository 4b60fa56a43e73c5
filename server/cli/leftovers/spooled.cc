#include "server/cli/leftovers/spooled.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/cli/leftovers/leftovers.h"
#include "server/cli/recording/spool_folder.h"
#include "server/relay/sending/connect.h"
#include "server/relay/sending/tls_probe.h"
#include "server/report/text/words.h"

namespace castscope::cli {
namespace {

constexpr std::size_t kSideBySide = 8;

absl::StatusOr<relay::Homecoming> send_one(const relay::Waiting& one, CollectorAddress collector,
                                           std::shared_ptr<relay::LastTaken> last_taken) {
  bool without_token = false;
  if (collector.address.empty()) {
    const bool has_token = !collector.token.empty();
    if (absl::Status status = keep_token_from_others(collector, one.destination); !status.ok()) return status;
    without_token = has_token && collector.token.empty();
    collector.address = one.destination.address;
    collector.tls = {.use = one.destination.tls,
                     .root_certificate_file = one.destination.root_certificate_file,
                     .certificate_file = one.destination.certificate_file,
                     .key_file = one.destination.key_file};
  }
  const auto channel = relay::connect(collector.address, collector.tls);
  if (!channel.ok()) return channel.status();
  auto home =
      relay::bring_home(one.path, {.channel = *channel, .token = collector.token, .last_taken = std::move(last_taken)});
  if (!absl::IsUnavailable(home.status())) return home;  // done, or it is not the connection
  std::string why = relay::why_tls_failed(collector.address, collector.tls, std::string(home.status().message()));
  if (without_token)
    absl::StrAppend(&why,
                    " (the run was sent there without a token, so the one that you give now was not given to that "
                    "collector; --collector ",
                    collector.address, " gives it)");
  return absl::UnavailableError(why);
}

}  // namespace

std::vector<std::string> InSpool::paths() const {
  std::vector<std::string> all = in_use;
  for (const relay::Waiting& one : waiting) all.push_back(one.path);
  for (const DamagedSpool& one : damaged) all.push_back(one.path);
  return all;
}

InSpool in_spool() {
  InSpool all;
  for (const std::string& path : spools()) {
    absl::StatusOr<relay::Waiting> one = relay::look_into(path);
    if (one.ok()) all.waiting.push_back(*std::move(one));
    if (absl::IsDataLoss(one.status())) all.damaged.push_back({path, std::string(one.status().message())});
    if (absl::IsAborted(one.status())) all.in_use.push_back(path);
  }
  return all;
}

bool is_of_run(const std::string& path, const std::string& run_id) {
  return std::filesystem::path(path).filename().string().starts_with(run_id + ".");
}

std::string told(const relay::Waiting& one, std::int64_t now) {
  std::string text = report::on_one_line(one.path) + "\n";
  const auto line = [&](const char* name, const std::string& value) {
    absl::StrAppendFormat(&text, "  %-9s %s\n", name, report::on_one_line(value));
  };
  line("began", moment(one.begin_realtime_ns / 1'000'000'000, now));
  line("run", one.run_file_name.empty() ? one.run_id : absl::StrCat(one.run_file_name, " (", one.run_id, ")"));
  line("size", absl::StrFormat("%.1f MB", static_cast<double>(one.bytes) / 1e6));
  line("goes to", absl::StrCat("the collector at ", one.destination.address));
  if (!one.damage.empty()) line("damaged", one.damage);
  return text;
}

std::string told(const DamagedSpool& one) {
  return absl::StrCat(report::on_one_line(one.path), "\n  damaged   ", report::on_one_line(one.why), "\n");
}

std::string title(const relay::Waiting& one) {
  return absl::StrCat(report::on_one_line(one.path), ": ",
                      absl::StrFormat("%.1f MB", static_cast<double>(one.bytes) / 1e6), " of run ", one.run_id,
                      ", for the collector at ", one.destination.address);
}

void send_home(const std::vector<relay::Waiting>& all, const CollectorAddress& collector,
               std::atomic<std::size_t>& done,
               const std::function<void(const relay::Waiting&, const absl::StatusOr<relay::Homecoming>&)>& sent) {
  std::map<std::string, std::shared_ptr<relay::LastTaken>> last_taken;  // of each collector
  using Outcome = absl::StatusOr<relay::Homecoming>;
  std::vector<std::promise<Outcome>> outcomes(all.size());
  std::vector<std::future<Outcome>> awaited;
  const auto address_for = [&](const relay::Waiting& one) {
    return collector.address.empty() ? one.destination.address : collector.address;
  };
  for (const relay::Waiting& one : all) last_taken.try_emplace(address_for(one), std::make_shared<relay::LastTaken>());
  for (std::promise<Outcome>& outcome : outcomes) awaited.push_back(outcome.get_future());
  std::atomic<std::size_t> next = 0;
  const auto send_some = [&] {
    for (std::size_t at = next++; at < all.size(); at = next++) {
      Outcome outcome = send_one(all[at], collector, last_taken.at(address_for(all[at])));
      ++done;
      outcomes[at].set_value(std::move(outcome));
    }
  };
  std::vector<std::thread> senders;
  for (std::size_t i = 0; i < std::min(all.size(), kSideBySide); ++i) senders.emplace_back(send_some);
  for (std::size_t at = 0; at < all.size(); ++at) sent(all[at], awaited[at].get());
  for (std::thread& sender : senders) sender.join();
}

}  // namespace castscope::cli
