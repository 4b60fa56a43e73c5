// The routes for what a run consists of, and for the meaning of its numbers.
#include <algorithm>

#include "absl/strings/numbers.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/model/gpu.h"
#include "server/report/model/json_values.h"
#include "server/report/text/event_names.h"
#include "server/report/text/kernel_names.h"
#include "server/report/text/words.h"
#include "server/store/run/names.h"
#include "server/web/api/routes.h"
#include "server/web/runs/snapshot.h"

namespace castscope::web {
namespace {

using report::text_or_null;

Json number_or_null(const std::string& text) {
  std::int64_t number = 0;
  return absl::SimpleAtoi(text, &number) ? Json(number) : Json();
}

Json dtype_or_null(std::uint8_t dtype) { return dtype == 0xff ? Json() : Json(store::dtype_name(dtype)); }

std::int64_t since_begin(const store::RunData& run, std::int64_t wall_clock) {
  return std::max<std::int64_t>(wall_clock - run.start.start_ns, 0);
}

// `told` is the number of events that the timeline was fed; the file of a finished run may keep only some of them.
Json totals_of(const report::Model& model, std::uint64_t told) {
  const report::Totals& totals = model.totals;
  std::uint64_t received = 0;
  for (const report::ProcessTotal& process : model.processes) received += process.received;
  return {{"casts", totals.autocast.casts},
          {"other_casts", totals.others.casts},
          {"compiled_casts", totals.compiled.casts},
          {"cache_hits", totals.autocast.hits},
          {"pass_throughs", totals.autocast.passes},
          {"event_count", std::max(told, received)},
          {"events_lost", totals.dropped_events},
          {"finding_count", model.findings.size()},
          {"step_count", model.steps},
          {"evaluation_count", model.evaluations}};
}

// Lists when no kernels were timed because another program read the driver's records.
Json seats_of(const store::RunData& run, const store::Process& process, const std::vector<report::GpuSeat>& seats) {
  Json list = Json::array();
  const std::int64_t begin = since_begin(run, process.info.begin_realtime_ns);
  for (const report::GpuSeat& seat : seats) {
    if (seat.process != process.id) continue;
    const auto at = [begin](std::uint64_t ns) { return begin + static_cast<std::int64_t>(ns); };
    list.push_back({{"begin_ns", at(seat.from_ns)},
                    {"end_ns", seat.to_ns ? Json(at(*seat.to_ns)) : Json()},
                    {"held_by", seat.who}});
  }
  return list;
}

Json not_kept_of(const timeline::Timeline& timeline, store::ProcessId process) {
  Json list = Json::array();
  for (const auto& [begin, end] : timeline.not_kept(process)) list.push_back({{"begin_ns", begin}, {"end_ns", end}});
  return list;
}

Json processes_of(const store::RunData& run, const timeline::Timeline& timeline) {
  Json list = Json::array();
  const std::vector<report::GpuSeat> seats = report::gpu_seats(run);
  for (const store::Process& process : run.processes) {
    Json one = {{"process", process.id},
                {"label", report::process_name(process)},
                {"rank", number_or_null(process.attribute("rank"))},
                {"pid", process.info.pid},
                {"host", process.info.host},
                {"begin_ns", since_begin(run, process.info.begin_realtime_ns)},
                {"end_kind", process.ended ? Json(store::name(process.end)) : Json()},
                {"gpu_seats", seats_of(run, process, seats)},
                {"events_not_kept", not_kept_of(timeline, process.id)}};
    list.push_back(std::move(one));
  }
  return list;
}

std::string title_of(const store::RunData& run, const timeline::Track& track) {
  if (track.kind == timeline::TrackKind::kKernels)
    return track.stream == timeline::kOtherStreams ? "GPU, other streams"
                                                   : report::stream_name(track.device, track.stream);
  if (track.lane == 0) return "process";
  const bool known = track.process > 0 && track.process <= run.processes.size();
  return known ? report::lane_name(run.processes[track.process], track.lane) : "lane " + std::to_string(track.lane);
}

Json tracks_of(const store::RunData& run, const timeline::Timeline& timeline) {
  Json list = Json::array();
  for (const timeline::Track& track : timeline.tracks()) {
    const bool on_gpu = track.kind == timeline::TrackKind::kKernels;
    list.push_back({{"track", track.id},
                    {"process", track.process},
                    {"lane", track.lane},
                    {"track_kind", timeline::name(track.kind)},
                    {"row_depth", track.depth},
                    {"gpu_index", on_gpu ? Json(track.device) : Json()},
                    {"stream", on_gpu ? Json(track.stream) : Json()},
                    {"label", title_of(run, track)}});
  }
  return list;
}

Json shades_of(const timeline::Timeline& timeline) {
  Json list = Json::array();
  for (const timeline::Shade& shade : timeline.shades()) {
    const bool has_cause = shade.track == timeline::TrackKind::kCasts || shade.kind == timeline::ShadeKind::kCastKernel;
    list.push_back({{"shade", shade.id},
                    {"track_kind", timeline::name(shade.track)},
                    {"shade_kind", timeline::name(shade.kind)},
                    {"shade_dtype", dtype_or_null(shade.dtype)},
                    {"cause", has_cause ? Json(store::name(shade.cause)) : Json()}});
  }
  return list;
}

Answer one(Call& call) {
  auto snapshot = call.run->snapshot();
  const RunState state = call.run->state();                           // taking the snapshot may start the loading
  if (state == RunState::kFinished) snapshot = call.run->snapshot();  // it may have ended since: with everything it had
  if (!snapshot.ok()) return snapshot.status();
  const report::Model& model = (*snapshot)->model();
  const store::RunData& run = (*snapshot)->data();
  const auto timeline = call.run->timeline();
  const timeline::Progress progress = timeline->progress();
  Json json = {{"run_name", call.run->id()},
               {"run_file", call.run->file()},
               {"command", run.start.command},
               {"cwd", run.start.cwd},
               {"root", text_or_null(run.start.project())},
               {"host", run.start.host},
               {"castscope_version", run.start.castscope_version},
               {"start", report::utc(run.start.start_ns)},
               {"run_state", name(state)},
               {"loaded", call.run->loaded()},
               {"end_ns", run.end ? Json(since_begin(run, run.end->end_ns)) : Json()},
               {"exit_status", model.exit ? Json(*model.exit) : Json()},
               {"signal", run.end && run.end->signal ? Json(*run.end->signal) : Json()},
               {"complete", model.complete()},
               {"damage", run.damage ? Json(run.damage->sentence) : text_or_null(call.run->unread_events())},
               {"notices", model.notices},
               {"totals", totals_of(model, progress.events)},
               {"processes", processes_of(run, *call.run->timeline())},
               {"tracks", tracks_of(run, *timeline)},
               {"shades", shades_of(*timeline)},
               {"events_begin_ns", progress.begin},
               {"events_end_ns", progress.newest},
               {"revision", progress.revision},
               {"definition_count", (*snapshot)->definitions().together()},
               {"judgement", (*snapshot)->number()}};
  if (state == RunState::kFinished) call.run->end_was_told();
  return json_answer(json);
}

void add_place(Json& json, const store::RunData& run, store::StackId stack) {
  const auto at = run.user_location(stack);
  json["file"] = at ? Json(report::portable_path(at->file, run.start.project())) : Json();
  json["line"] = at ? Json(at->line) : Json();
  json["function"] = at ? Json(at->function) : Json();
}

void add_module(Json& json, const store::RunData& run, store::ModuleId module) {
  json["module"] = module == 0 ? Json() : Json(run.modules[module].path);
  json["model"] = module == 0 ? Json() : text_or_null(run.modules[module].model());
}

using Prints = store::Table<std::string, store::Site>;

Json site_json(const store::RunData& run, const store::Site& site, const Prints& prints) {
  const std::string* const print = prints.find(site.id);
  Json json = {{"site", site.id},
               {"fingerprint", print != nullptr ? text_or_null(*print) : Json()},
               {"label", report::span_name(run, site)},
               {"operator", text_or_null(site.op)},
               {"argument", text_or_null(report::argument_of(run, site.call_site))},
               {"role", store::name(site.role)},
               {"from_dtype", site.has_dtypes() ? Json(store::dtype_name(site.from)) : Json()},
               {"to_dtype", site.has_dtypes() ? Json(store::dtype_name(site.to)) : Json()},
               {"cause", store::name(site.cause)},
               {"why_not_cached", site.why == lanes::WhyNotCached::kNone ? Json() : Json(store::name(site.why))},
               {"phase", store::name(site.phase)},
               {"forward_site", site.forward_site == 0 ? Json() : Json(site.forward_site)},
               {"counts_pass_throughs", site.pass_through()}};
  add_module(json, run, site.module);
  add_place(json, run, site.stack);
  json["region"] = site.region == 0 ? Json() : Json(site.region);
  return json;
}

Json region_json(const store::RunData& run, const store::Region& region) {
  Json json = {{"region", region.id},
               {"label", report::span_name(region)},
               {"region_dtype", store::dtype_name(region.dtype)},
               {"enabled", region.enabled},
               {"cache_enabled", region.cache_enabled},
               {"nesting", region.nesting}};
  add_place(json, run, region.stack);
  return json;
}

Json use_json(const store::RunData& run, const store::OperatorUse& use) {
  std::string inputs;
  for (const lanes::Operand& operand : use.operands)
    inputs.append(inputs.empty() ? "" : ", ")
        .append((operand.flags & lanes::kOperandNumber) != 0 ? "number" : store::dtype_name(operand.dtype));
  Json json = {{"operator_use", use.id},
               {"label", name_of_use(use)},
               {"operator", use.op},
               {"node", text_or_null(use.node)},
               {"argument_dtypes", text_or_null(inputs)},
               {"computed_in", dtype_or_null(use.computed)},
               {"result_dtype", dtype_or_null(use.result)},
               {"phase", store::name(use.phase)},
               {"region", use.region == 0 ? Json() : Json(use.region)}};
  add_module(json, run, use.module);
  add_place(json, run, use.stack);
  return json;
}

Json kernel_json(const store::RunData& run, const store::Kernel& kernel) {
  const std::string whole = kernel.name == 0 ? "" : report::demangled(run.kernel_names[kernel.name]);
  Json json = {{"kernel", kernel.id},
               {"label", report::name_of(run, kernel)},
               {"kernel_name", text_or_null(whole)},
               {"gpu_work", store::name(kernel.work)},
               {"launched_by_text", text_or_null(report::purpose_of(run, kernel))},
               {"site", kernel.site == 0 ? Json() : Json(kernel.site)},
               {"operator_use", kernel.use == 0 ? Json() : Json(kernel.use)},
               {"operator", text_or_null(kernel.op)},
               {"origin", text_or_null(kernel.origin)},
               {"replayed", kernel.replayed()}};
  add_module(json, run, report::module_of(run, kernel));
  add_place(json, run, report::stack_of(run, kernel));
  return json;
}

Answer definitions(Call& call) {
  constexpr std::int64_t kMost = 1 << 30;
  const std::int64_t known_sites = call.parameters.number("known_sites", 0, kMost, 0);
  const std::int64_t known_regions = call.parameters.number("known_regions", 0, kMost, 0);
  const std::int64_t known_uses = call.parameters.number("known_operator_uses", 0, kMost, 0);
  const std::int64_t known_kernels = call.parameters.number("known_kernels", 0, kMost, 0);
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const store::RunData& run = (*snapshot)->data();
  // While a run goes on, its code has not been read yet, and sites may come that look the same.
  const bool has_prints =
      call.run->state() != RunState::kLive && known_sites < static_cast<std::int64_t>(run.sites.size());
  const Prints prints = has_prints ? (*snapshot)->model().site_fingerprints : Prints();
  Json sites = Json::array(), regions = Json::array(), uses = Json::array(), kernels = Json::array();
  for (const store::Site& site : run.sites | std::views::drop(known_sites))
    sites.push_back(site_json(run, site, prints));
  for (const store::Region& region : run.regions | std::views::drop(known_regions))
    regions.push_back(region_json(run, region));
  for (const store::OperatorUse& use : run.operator_uses | std::views::drop(known_uses))
    uses.push_back(use_json(run, use));
  for (const store::Kernel& kernel : run.kernels | std::views::drop(known_kernels))
    kernels.push_back(kernel_json(run, kernel));
  return json_answer({{"sites", std::move(sites)},
                      {"regions", std::move(regions)},
                      {"operator_uses", std::move(uses)},
                      {"kernels", std::move(kernels)}});
}

}  // namespace

void add_run_routes(std::vector<Route>& routes) {
  routes.push_back({"runs/{run}", {}, one, true});
  routes.push_back({"runs/{run}/definitions",
                    {"known_sites", "known_regions", "known_operator_uses", "known_kernels"},
                    definitions,
                    true});
}

}  // namespace castscope::web
