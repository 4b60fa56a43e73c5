#include "server/rules/gpu/cast_lines.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/places/sites.h"
#include "server/rules/evidence/weights.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

std::string what_of(const store::RunData& data, const store::Site& site) {
  const std::string op = site.op.empty() ? std::string(store::name(site.cause)) : short_name(site.op);
  const std::string argument = argument_text(data, site);
  return argument == "unknown" ? op : op + " " + argument;
}

}  // namespace

std::vector<CastLine> cast_lines(const store::RunData& data, const DeviceTime& time) {
  std::map<Line, CastLine> by_line;
  std::map<Line, std::uint64_t> most;
  for (const store::Site& site : data.sites) {
    const DeviceWork& work = time.sites[site.id];
    if (work.launches == 0) continue;
    const Line line = line_of(data, site.stack);
    CastLine& row = by_line[line];
    row.line = line;
    row.work += work;
    row.mixed |= row.site != 0 && what_of(data, data.sites[row.site]) != what_of(data, site);
    if (row.site != 0 && work.ns <= most[line]) continue;
    row.site = site.id;
    most[line] = work.ns;
  }
  std::vector<CastLine> rows;
  for (auto& [line, row] : by_line) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CastLine& a, const CastLine& b) { return a.work.ns > b.work.ns; });
  return rows;
}

const CastLine& first_placed(const std::vector<CastLine>& rows) {
  const auto found = std::find_if(rows.begin(), rows.end(), [](const CastLine& row) { return !row.line.file.empty(); });
  return found == rows.end() ? rows.front() : *found;
}

std::string text_of(const store::RunData& data, const CastLine& row) {
  return (row.line.file.empty() ? "no Python line," : row.line.short_text()) + " " +
         what_of(data, data.sites[row.site]) + (row.mixed ? " and others, " : ", ") +
         readable_time(static_cast<double>(row.work.ns));
}

std::string readable_time(double ns) {
  char text[32];
  if (ns < 1e6) {
    std::snprintf(text, sizeof text, "%.1f µs", ns / 1e3);
  } else {
    std::snprintf(text, sizeof text, ns < 1e9 ? "%.1f ms" : "%.2f s", ns < 1e9 ? ns / 1e6 : ns / 1e9);
  }
  return text;
}

std::string advice_for(const store::Site& site) {
  const std::string low = "torch." + std::string(store::dtype_name(site.to));
  if (site.cause == lanes::Cause::kUserTo || site.cause == lanes::Cause::kDtypeArgument)
    return "The code asks for this conversion itself: drop it, or make it once, before the loop.";
  if (site.phase == lanes::Phase::kBackward || site.cause == lanes::Cause::kBackward)
    return "Gradients are converted to the dtype of what was cast: cast less in forward, and compile the step "
           "(torch.compile fuses conversions into the kernels beside them).";
  if (!is_of_model(site))
    return "Keep what flows between operators in one dtype (hand over inputs in " + low +
           "; keep operators that autocast runs in float32 out of inner loops), or compile the model (torch.compile "
           "fuses conversions into the kernels beside them).";
  if (site.why == lanes::WhyNotCached::kNone)
    return "The copy is made once in each region: do more work in each (enter it once around all micro-batches), or "
           "hold the weights in " +
           low + " beside float32 master weights in the optimizer.";
  if (site.why == lanes::WhyNotCached::kNoRequiresGrad)
    return "The weight is frozen and its copy not kept: convert it once, before the loop (module.to(" + low + ")).";
  return "The copy is not kept (" + why_not_kept(site.why) + "): convert the weight once, before the loop (module.to(" +
         low + ")), or use the parameter itself instead of what is made of it for each use.";
}

}  // namespace castscope::rules
