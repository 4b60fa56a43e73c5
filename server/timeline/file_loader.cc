#include "server/timeline/file_loader.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/report/model/model.h"
#include "server/report/timelines/timeline.h"
#include "server/store/read/event_blocks.h"

namespace castscope::timeline {
namespace {

// A damaged file may lack a definition.
class FileNumbers final : public Numbers {
 public:
  FileNumbers(const store::RunData& run, const store::LocalNumbers& numbers) : run_(run), numbers_(numbers) {}
  const store::Site* site(store::ProcessId process, std::uint32_t local) const override {
    return run_.sites.find(numbers_.site(process, local));
  }
  const store::Region* region(store::ProcessId process, std::uint32_t local) const override {
    return run_.regions.find(numbers_.region(process, local));
  }
  const store::OperatorUse* operator_use(store::ProcessId process, std::uint32_t local) const override {
    return run_.operator_uses.find(numbers_.operator_use(process, local));
  }
  const store::Module* module_of_use(store::ProcessId process, std::uint32_t local) const override {
    const store::OperatorUse* const use = operator_use(process, local);
    return use == nullptr ? nullptr : run_.modules.find(use->module);
  }
  KernelLook kernel(store::ProcessId process, std::uint32_t local) const override {
    const store::Kernel* kernel = run_.kernels.find(numbers_.kernel(process, local));
    if (kernel == nullptr) return {};
    KernelLook look{.id = kernel->id, .work = kernel->work, .cast = kernel->site != 0};
    look.launched_for(run_.sites.find(kernel->site), run_.operator_uses.find(kernel->use));
    return look;
  }
  store::FactId fact(store::ProcessId process, std::uint32_t local) const override {
    return numbers_.fact(process, local);
  }

 private:
  const store::RunData& run_;
  const store::LocalNumbers& numbers_;
};

std::uint64_t events_in(const store::RunData& run) {
  std::uint64_t events = 0;
  for (const store::Process& process : run.processes) {
    for (const store::LaneRow& lane : process.lanes) events += lane.received;
  }
  return events;
}

}  // namespace

absl::Status load(const std::string& run_file, const store::RunData& run, Timeline& timeline,
                  const std::function<absl::Status(double)>& progress) {
  const auto numbers = store::LocalNumbers::read(run_file);
  if (!numbers.ok()) return numbers.status();
  const FileNumbers meaning(run, *numbers);
  for (const store::Process& process : run.processes) {
    timeline.process_begin(process.id,
                           static_cast<std::int64_t>(static_cast<std::uint64_t>(process.info.begin_realtime_ns) -
                                                     static_cast<std::uint64_t>(run.start.start_ns)));
  }
  const auto expected = static_cast<double>(std::max<std::uint64_t>(events_in(run), 1));
  std::vector<lanes::Event> events;
  std::uint64_t read = 0;
  const auto take = [&](const store::KeptBlock& block, std::int64_t settled_ns) -> absl::Status {
    if (block.after_gap) timeline.gap(block.process);
    const absl::Status bad = report::unpack_block(run_file, run, block, &events);
    if (!bad.ok()) return bad;
    timeline.feed(meaning, block.process, block.lane, events);
    timeline.settle(block.process, settled_ns);
    read += events.size();
    // The file may hold fewer events than were received: the reading then ends sooner than expected.
    return progress(std::min(static_cast<double>(read) / expected, 1.0));
  };
  const absl::Status status = store::read_event_blocks_by_time(run_file, take);
  timeline.end();
  if (!status.ok()) return status;
  if (absl::Status said = progress(1); !said.ok()) return said;
  return report::damage_status(run_file, run);
}

}  // namespace castscope::timeline
