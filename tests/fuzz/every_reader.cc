#include "tests/fuzz/every_reader.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "server/report/forms/formats.h"
#include "server/store/read/event_blocks.h"
#include "server/store/read/run_heading.h"
#include "server/store/read/run_reader.h"
#include "server/store/write/run_store.h"
#include "server/timeline/file_loader.h"
#include "server/utf8/utf8.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {
namespace {

void has_sentence(const absl::Status& status, const std::string& path) {
  if (status.ok()) return;
  const std::string sentence(status.message());
  CASTSCOPE_PROMISE(sentence.starts_with(path), "what is said of a file begins with its name");
  CASTSCOPE_PROMISE(sentence.size() > path.size() + 2, "what is wrong with a file is said in a sentence");
}

void write_one_form(const std::string& path, Bytes& bytes) {
  const auto formats = report::formats();
  const auto& form = formats[bytes.byte() % formats.size()];
  std::ostringstream out;
  has_sentence(report::write_report(path, form.format, {}, out), path);
  const std::string text = out.str();
  if (text.empty()) return;
  if (form.name != "perfetto") CASTSCOPE_PROMISE(utf8::repaired(text) == text, "a report is in UTF-8");
  const bool is_json =
      form.name == "json" || form.name == "sarif" || form.name == "chrome" || form.name == "speedscope";
  if (is_json) CASTSCOPE_PROMISE(nlohmann::json::accept(text), "a report in JSON is JSON");
}

void read_all(const std::string& path) {
  const auto data = store::read_as_it_is(path);
  has_sentence(data.status(), path);
  if (!data.ok()) return;
  timeline::Timeline timeline({.bytes = std::size_t{1} << 20});
  has_sentence(timeline::load(path, *data, timeline, [](double) { return absl::OkStatus(); }), path);
  for (const timeline::Track& track : timeline.tracks()) (void)timeline.event_at(track.id, 0, 1'000'000'000);
}

// A collector that was started again goes on with such a file, or says why not.
void go_on_with(const std::string& path) {
  auto store = store::RunStore::resume(path);
  has_sentence(store.status(), path);
  if (store.ok()) (*store)->close().IgnoreError();
}

}  // namespace

void read_in_one_way(const std::string& path, Bytes& bytes) {
  switch (bytes.byte() % 5) {
    case 0:
      has_sentence(store::read_heading(path).status(), path);
      return has_sentence(store::read_counts(path).status(), path);
    case 1:
      return read_all(path);
    case 2:
      return has_sentence(store::read_event_blocks_by_time(
                              path, [](const store::KeptBlock&, std::int64_t) { return absl::OkStatus(); }),
                          path);
    case 3:
      return go_on_with(path);
    default:
      return write_one_form(path, bytes);
  }
}

}  // namespace castscope::fuzz
