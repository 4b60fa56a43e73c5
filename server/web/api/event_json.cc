#include "server/web/api/event_json.h"

#include "agent/lanes/event_views.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/text/event_names.h"
#include "server/report/text/kernel_names.h"
#include "server/store/run/names.h"
#include "server/web/api/event_detail.h"
#include "server/web/api/launch.h"
#include "server/web/api/links.h"

namespace castscope::web {
namespace {

Json stack_json(const store::RunData& run, store::StackId stack) {
  Json frames = Json::array();
  if (stack == 0) return frames;
  for (const store::CodeLocation& frame : run.stacks[stack].frames)
    frames.push_back({{"file", report::portable_path(frame.file, run.start.project())},
                      {"line", frame.line},
                      {"function", frame.function}});
  return frames;
}

// The place of the event's stack, and the reason why a cast was not kept.
struct About {
  store::StackId stack = {};
  Json why;
};
About about(const store::RunData& run, const timeline::FoundEvent& event) {
  const std::uint32_t id = event.subject;
  switch (event.shade.track) {
    case timeline::TrackKind::kCasts:
      if (const store::Site* const site = run.sites.find(store::SiteId(id)))
        return {site->stack, site->why == lanes::WhyNotCached::kNone ? Json() : Json(store::name(site->why))};
      break;
    case timeline::TrackKind::kOperators:
      if (const store::OperatorUse* const use = run.operator_uses.find(store::OperatorUseId(id)))
        return {use->stack, {}};
      break;
    case timeline::TrackKind::kRegions:
      if (const store::Region* const region = run.regions.find(store::RegionId(id))) return {region->stack, {}};
      break;
    case timeline::TrackKind::kKernels:
      if (const store::Kernel* const kernel = run.kernels.find(store::KernelId(id)))
        return {report::stack_of(run, *kernel), {}};
      break;
    case timeline::TrackKind::kMarks:
      if (const store::Fact* const fact = run.facts.find(store::FactId(id))) return {fact->stack, {}};
      break;
    default:
      break;
  }
  return {};
}

Json cache_use(const timeline::FoundEvent& event) {
  switch (event.shade.kind) {
    case timeline::ShadeKind::kHit:
      return "cache_hit";
    case timeline::ShadeKind::kDown:
    case timeline::ShadeKind::kUp:
    case timeline::ShadeKind::kSame:
      if (event.shade.cause != lanes::Cause::kAutocast) return nullptr;
      return event.kept ? "kept" : "not_kept";
    default:
      return nullptr;
  }
}

}  // namespace

Json event_json(const store::RunData& run, const timeline::FoundEvent& event) {
  Json region;
  if (const store::Region* const known = event.region ? run.regions.find(*event.region) : nullptr)
    region = {{"region", known->id}, {"region_label", report::span_name(*known)}};
  return {{"track", event.track},
          {"process", event.process},
          {"lane", event.lane},
          {"subject", event.subject},
          {"shade", event.shade.id},
          {"shade_kind", timeline::name(event.shade.kind)},
          {"begin_ns", event.begin},
          {"end_ns", event.end},
          {"open", event.open},
          {"step", event.step ? Json(*event.step) : Json()},
          {"event_bytes", event.bytes},
          {"cache_use", cache_use(event)},
          {"why_not_cached", about(run, event).why},
          {"region", region}};
}

namespace {

bool has_shape(lanes::EventKind kind) {
  return kind == lanes::EventKind::kCast || kind == lanes::EventKind::kHit || kind == lanes::EventKind::kPass;
}

// Describes how a kernel was launched, when and by what.
Json launch_json(const timeline::Timeline& timeline, const store::RunData& run, const timeline::FoundEvent& event,
                 const std::optional<lanes::Event>& kept) {
  if (!kept || kept->kind != lanes::EventKind::kKernel) return nullptr;
  const lanes::KernelEvent ran = as_kernel(*kept);
  Json json = {{"gpu_index", ran.device},
               {"stream", ran.stream},
               {"grid_blocks", ran.blocks},
               {"threads_per_block", ran.threads}};
  const auto launch = launch_of(timeline, run, event, *kept);
  json["launched_ns"] = launch ? Json(launch->at) : Json();
  json["launched_by"] = launch && launch->by ? event_json(run, *launch->by) : Json();
  return json;
}

Json links_json(const RunSource& source, const timeline::Timeline& timeline, const store::RunData& run,
                const timeline::FoundEvent& event, const std::optional<lanes::Event>& kept) {
  Json list = Json::array();
  for (const Link& link : links_of(source.file(), run, timeline, event, kept))
    list.push_back({{"link_kind", name(link.kind)}, {"event", event_json(run, link.event)}});
  return list;
}

}  // namespace

Json describe_fully(const RunSource& source, const timeline::Timeline& timeline, const store::RunData& run,
                    const timeline::FoundEvent& event) {
  Json json = event_json(run, event);
  const auto kept = event_in_file(source.file(), run, event);
  Json shape;
  if (kept && (has_shape(kept->kind))) {
    shape = Json::array();
    for (const std::uint32_t size : as_cast(*kept).shape()) shape.push_back(size);
  }
  if (kept && !event.step) json["step"] = kept->step;
  json["shape"] = shape;
  json["launch"] = launch_json(timeline, run, event, kept);
  json["in_file"] = kept.has_value();
  const store::StackId stack = about(run, event).stack;
  json["frames"] = stack_json(run, stack);
  json["stack_truncated"] = stack != 0 && run.stacks[stack].truncated;
  json["linked_events"] = links_json(source, timeline, run, event, kept);
  return json;
}

}  // namespace castscope::web
