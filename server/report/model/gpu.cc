#include "server/report/model/gpu.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/report/text/kernel_names.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/operators/products.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

template <typename Row, typename Key>
void sort_costliest(std::vector<Row>& rows, Key key) {
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return std::make_tuple(b.work.ns, b.work.launches, key(a)) < std::make_tuple(a.work.ns, a.work.launches, key(b));
  });
}

std::vector<GpuName> rows_of(std::map<std::string, GpuName> by_name) {
  std::vector<GpuName> rows;
  for (auto& [name, row] : by_name) {
    row.name = name;
    rows.push_back(std::move(row));
  }
  sort_costliest(rows, [](const GpuName& row) { return row.name; });
  return rows;
}

void add(GpuName& row, const store::Kernel& kernel, const DeviceWork& work) {
  row.work += work;
  if (kernel.site != 0) row.casts += work;
}

std::string sentence_of(const rules::DeviceTime& time) {
  return duration(time.all.ns) + " in " + counted(time.steps, "timed step", "timed steps");
}

// Returns a row for each site that launched something.
std::vector<GpuSite> rows_of(const store::Table<DeviceWork, store::Site>& by_site) {
  std::vector<GpuSite> rows;
  for (const store::SiteId site : by_site.ids())
    if (by_site[site].launches > 0) rows.push_back({.site = site, .work = by_site[site]});
  sort_costliest(rows, [](const GpuSite& row) { return row.site; });
  return rows;
}

// Names the costliest cast. All layers that one line calls count together.
std::string top_cast(const Model& model, const std::vector<GpuSite>& sites) {
  std::map<std::string, std::uint64_t> ns;
  std::string top;
  for (const GpuSite& row : sites) {
    const store::Site& site = model.run.sites[row.site];
    const auto at = model.run.user_location(site.stack);  // nodes of autograd have none
    std::string what = (at ? place(model.run, at) + " " : "") + operator_of(site);
    if (const std::string argument = argument_words(model.run, site); !argument.empty()) what += " " + argument;
    ns[what] += row.work.ns;
    if (top.empty() || ns[what] > ns[top]) top = what;
  }
  return top.empty() ? "" : " (top: " + top + " " + duration(ns[top]) + ")";
}

// "120 launches of casts took at most 1.2 ms in 5 steps that CUDA events timed (top: …), 3 more were not timed"; ""
// where there was no such step.
std::string by_events_text(const Model& model) {
  const rules::EventTime& time = model.gpu.by_events;
  if (time.casts.launches == 0 && time.untimed == 0) return "";
  std::string text = counted(time.casts.launches, "launch", "launches") + " of casts took at most " +
                     duration(time.casts.ns) + " in " + counted(time.steps, "step", "steps") +
                     " of which CUDA events timed the casts alone" + top_cast(model, gpu_event_sites(model));
  if (time.untimed > 0) text += ", " + counted(time.untimed, "more was", "more were") + " not timed";
  return text;
}

// "12 records were lost"; "" when all came.
std::string lost_text(const rules::DeviceTime& time) {
  std::string text;
  if (time.lost > 0) text = counted(time.lost, "record was", "records were") + " lost";
  if (time.unplaced > 0)
    text += (text.empty() ? "" : ", ") + counted(time.unplaced, "was", "were") + " of no known operator";
  return text;
}

// "kernels were not timed while torch.profiler read them: 2 times, 1.2 s in all"; "" when nobody did.
std::string seats_text(const std::vector<GpuSeat>& seats) {
  if (seats.empty()) return "";
  std::set<std::string> who;
  std::uint64_t ns = 0, open = 0;
  for (const GpuSeat& seat : seats) {
    who.insert(on_one_line(seat.who));
    open += !seat.to_ns;
    if (seat.to_ns && *seat.to_ns > seat.from_ns) ns += *seat.to_ns - seat.from_ns;
  }
  const std::string length = open == 0 ? duration(ns) : ns == 0 ? "" : duration(ns) + " and ";
  return "kernels were not timed while " + absl::StrJoin(who, ", ") +
         " read them: " + (seats.size() == 1 ? "" : counted(seats.size(), "time", "times") + ", ") + length +
         (open > 0            ? "to the end"
          : seats.size() == 1 ? ""
                              : " in all");
}

std::uint64_t number_or_0(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace

std::vector<GpuSite> gpu_sites(const Model& model) { return rows_of(model.gpu.sites); }
std::vector<GpuSite> gpu_event_sites(const Model& model) { return rows_of(model.gpu.by_events.sites); }

std::vector<GpuOperator> gpu_operators(const Model& model) {
  const store::RunData& run = model.run;
  std::map<std::tuple<store::OperatorUseId, std::string, std::string>, GpuOperator> by_use;
  for (const store::Kernel& kernel : run.kernels) {
    const DeviceWork& work = model.gpu.kernels[kernel.id];
    if (work.launches == 0) continue;
    const std::string op = kernel.use == 0 ? kernel.op : run.operator_uses[kernel.use].op;
    const std::string origin = op.empty() ? kernel.origin : "";
    GpuOperator& row = by_use[{kernel.use, op, origin}];
    row.use = kernel.use;
    row.op = op;
    row.origin = origin;
    row.work += work;
    if (kernel.site != 0) row.casts += work;
  }
  const auto times = rules::times_of_matmuls(run);
  std::map<store::OperatorUseId, std::set<std::string>> products;
  for (const store::Matmul& matmul : run.matmuls)
    if (matmul.use != 0 && times[matmul.id] > 0) products[matmul.use].insert(rules::computed_in(matmul.call));
  std::vector<GpuOperator> rows;
  for (auto& [key, row] : by_use) {
    if (const auto of = products.find(row.use); of != products.end() && row.use != 0)
      row.products.assign(of->second.begin(), of->second.end());
    rows.push_back(std::move(row));
  }
  sort_costliest(rows, [](const GpuOperator& row) { return std::tuple(row.use, row.op, row.origin); });
  return rows;
}

std::vector<GpuName> gpu_operator_names(const Model& model) {
  std::map<std::string, GpuName> by_name;
  for (const store::Kernel& kernel : model.run.kernels)
    if (const DeviceWork& work = model.gpu.kernels[kernel.id]; work.launches > 0)
      add(by_name[kernel.use == 0 ? kernel.op : model.run.operator_uses[kernel.use].op], kernel, work);
  return rows_of(std::move(by_name));
}

std::vector<GpuName> gpu_kernel_names(const Model& model) {
  std::map<std::string, GpuName> by_name;
  for (const store::Kernel& kernel : model.run.kernels) {
    const DeviceWork& work = model.gpu.kernels[kernel.id];
    if (work.launches == 0) continue;
    const std::string name =
        kernel.name == 0 ? std::string(store::name(kernel.work)) : demangled(model.run.kernel_names[kernel.name]);
    add(by_name[name], kernel, work);
  }
  return rows_of(std::move(by_name));
}

std::vector<std::string> gpu_attributes(const store::RunData& run, std::string_view name) {
  std::vector<std::string> all;
  for (const store::Process& process : run.processes)
    for (const auto& [key, value] : process.attributes)
      if (key == name && std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
  return all;
}

// A process reports a stay again when it is over: of those with the same begin the last one counts.
std::vector<GpuSeat> gpu_seats(const store::RunData& run) {
  std::vector<GpuSeat> seats;
  for (const store::Process& process : run.processes) {
    std::map<std::uint64_t, GpuSeat> by_begin;
    for (const auto& [key, value] : process.attributes) {
      const std::vector<std::string> parts = absl::StrSplit(value, absl::MaxSplits(' ', 2));
      if (key != "gpu_seat" || parts.size() != 3) continue;
      GpuSeat seat{.process = process.id, .from_ns = number_or_0(parts[0]), .to_ns = {}, .who = parts[2]};
      if (parts[1] != "-") seat.to_ns = number_or_0(parts[1]);
      by_begin[seat.from_ns] = seat;
    }
    for (auto& [begin, seat] : by_begin) seats.push_back(std::move(seat));
  }
  return seats;
}

bool has_gpu(const Model& model) {
  return model.gpu.timed() || model.gpu.steps > 0 || !model.run.matmul_counts.empty() ||
         !gpu_attributes(model.run, "gpu_timed_by").empty();
}

std::vector<std::string> gpu_lines(const Model& model) {
  if (!has_gpu(model)) return {};
  std::vector<std::string> lines;
  if (model.gpu.timed()) {
    const std::string casts =
        model.gpu.casts.ns == 0 ? "none of it casts" : percent(model.gpu.cast_share()) + " of it casts";
    lines.push_back("GPU: " + sentence_of(model.gpu) + ", " + casts + top_cast(model, gpu_sites(model)));
  }
  for (const std::string& how : gpu_attributes(model.run, "gpu_timed_by"))
    if (how.starts_with("none")) lines.push_back("GPU: kernels were not timed" + on_one_line(how.substr(4)));
  if (const std::string lost = lost_text(model.gpu); !lost.empty()) lines.push_back("GPU: " + lost);
  if (const std::string casts = by_events_text(model); !casts.empty()) lines.push_back("GPU: " + casts);
  if (const std::string seats = seats_text(gpu_seats(model.run)); !seats.empty()) lines.push_back("GPU: " + seats);
  return lines;
}

}  // namespace castscope::report
