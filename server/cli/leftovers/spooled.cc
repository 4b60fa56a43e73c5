#include "server/cli/leftovers/spooled.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/cli/leftovers/leftovers.h"
#include "server/cli/recording/spool_folder.h"
#include "server/relay/connect.h"
#include "server/relay/tls_probe.h"
#include "server/report/text/words.h"

namespace castscope::cli {

std::vector<relay::Waiting> waiting() {
  std::vector<relay::Waiting> all;
  for (const std::string& path : spools())
    if (auto one = relay::look_into(path); one.ok()) all.push_back(*std::move(one));
  return all;
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

std::string title(const relay::Waiting& one) {
  return absl::StrCat(report::on_one_line(one.path), ": ",
                      absl::StrFormat("%.1f MB", static_cast<double>(one.bytes) / 1e6), " of run ", one.run_id,
                      ", for the collector at ", one.destination.address);
}

absl::Status send_home(const relay::Waiting& one, const CollectorAddress& collector) {
  const bool elsewhere = !collector.address.empty();
  const relay::Tls tls = elsewhere ? collector.tls
                                   : relay::Tls{.use = one.destination.tls,
                                                .root_certificate_file = one.destination.root_certificate_file,
                                                .certificate_file = one.destination.certificate_file,
                                                .key_file = one.destination.key_file};
  const std::string& address = elsewhere ? collector.address : one.destination.address;
  const auto channel = relay::connect(address, tls);
  if (!channel.ok()) return channel.status();
  const absl::Status status = relay::bring_home(one.path, {.channel = *channel, .token = collector.token});
  return absl::Status(status.code(), relay::why_tls_failed(address, tls, std::string(status.message())));
}

}  // namespace castscope::cli
