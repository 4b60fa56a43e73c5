#include <cmath>
#include <nlohmann/json.hpp>

#include "server/report/model/gpu.h"
#include "server/report/model/json_values.h"
#include "server/report/text/kernel_names.h"
#include "server/rules/evidence/operators/products.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

Json size_or_null(std::uint32_t size) { return size == 0 ? Json() : Json(size); }

void add_work(Json& json, const DeviceWork& work, const DeviceWork& casts) {
  json["launches"] = work.launches;
  json["gpu_ns"] = work.ns;
  json["cast_launches"] = casts.launches;
  json["cast_gpu_ns"] = casts.ns;
}

// Describes an operator use; all members are null where the id is 0.
Json use_json(const store::RunData& run, store::OperatorUseId id, const std::string& op) {
  const store::OperatorUse use = id == 0 ? store::OperatorUse() : run.operator_uses[id];
  const store::Module module = use.module ? run.modules[use.module] : store::Module();
  return {{"operator_use", size_or_null(id)},      {"location", location_json(run, run.user_location(use.stack))},
          {"model", text_or_null(module.model())}, {"module", use.module ? Json(module.path) : Json()},
          {"operator", text_or_null(op)},          {"node", text_or_null(use.node)},
          {"phase", store::name(use.phase)}};
}

Json operators_json(const Model& model) {
  Json list = Json::array();
  for (const GpuOperator& row : gpu_operators(model)) {
    Json json = use_json(model.run, row.use, row.op);
    json["origin"] = text_or_null(row.origin);
    if (!row.origin.empty()) json["phase"] = phase_of_origin(row.origin);
    add_work(json, row.work, row.casts);
    json["product_precisions"] = row.products;
    list.push_back(std::move(json));
  }
  return list;
}

Json names_json(const std::vector<GpuName>& rows, const char* key, bool shortened) {
  Json list = Json::array();
  for (const GpuName& row : rows) {
    Json json = {{key, text_or_null(row.name)}};
    if (shortened) json["short_name"] = short_kernel_name(row.name);
    add_work(json, row.work, row.casts);
    list.push_back(std::move(json));
  }
  return list;
}

Json products_json(const store::RunData& run) {
  const auto times = rules::times_of_matmuls(run);
  Json list = Json::array();
  for (const store::Matmul& matmul : run.matmuls) {
    if (times[matmul.id] == 0) continue;
    const store::MatmulCall& c = matmul.call;
    Json json = use_json(run, matmul.use, matmul.op);
    json["library_function"] = text_or_null(matmul.function);
    json["m"] = size_or_null(c.m), json["n"] = size_or_null(c.n), json["k"] = size_or_null(c.k);
    json["batch_count"] = c.batch;
    json["a_dtype"] = store::dtype_name(c.a), json["b_dtype"] = store::dtype_name(c.b),
    json["c_dtype"] = store::dtype_name(c.c);
    json["matmul_compute"] = store::name(c.compute);
    json["product_precision"] = rules::computed_in(c);
    json["reduced_reduction"] = c.is(lanes::kMatmulReducedReduction);
    std::string matrices;
    for (const rules::Misaligned& one : rules::misaligned(c)) matrices += one.matrix;
    json["misaligned_matrices"] = text_or_null(matrices);
    json["calls"] = times[matmul.id];
    list.push_back(std::move(json));
  }
  return list;
}

Json by_events_json(const Model& model) {
  const rules::EventTime& time = model.gpu.by_events;
  if (time.steps == 0) return nullptr;
  Json sites = Json::array();
  for (const GpuSite& row : gpu_event_sites(model))
    sites.push_back({{"site", row.site}, {"launches", row.work.launches}, {"gpu_ns_at_most", row.work.ns}});
  return {{"gpu_event_steps", time.steps},
          {"cast_launches", time.casts.launches},
          {"gpu_ns_at_most", time.casts.ns},
          {"gpu_casts_untimed", time.untimed},
          {"sites", sites}};
}

}  // namespace

Json gpu_json(const Model& model) {
  if (!has_gpu(model)) return nullptr;
  const store::RunData& run = model.run;
  const rules::DeviceTime& time = model.gpu;
  Json sites = Json::array(), seats = Json::array();
  for (const GpuSite& row : gpu_sites(model))
    sites.push_back({{"site", row.site},
                     {"launches", row.work.launches},
                     {"moved_bytes", row.work.bytes},
                     {"gpu_ns", row.work.ns}});
  for (const GpuSeat& seat : gpu_seats(run))
    seats.push_back(
        {{"process", seat.process},
         {"begin_ns", since_start(run, seat.process, static_cast<std::int64_t>(seat.from_ns))},
         {"end_ns", seat.to_ns ? Json(since_start(run, seat.process, static_cast<std::int64_t>(*seat.to_ns))) : Json()},
         {"held_by", seat.who}});
  return {{"gpu_devices", gpu_attributes(run, "gpu_device")},
          {"gpu_timed_by", gpu_attributes(run, "gpu_timed_by")},
          {"gpu_math", gpu_attributes(run, "gpu_math")},
          {"gpu_steps", time.steps},
          {"gpu_records", time.records},
          {"gpu_lost", time.lost},
          {"gpu_unplaced", time.unplaced},
          {"launches", time.all.launches},
          {"gpu_ns", time.all.ns},
          {"cast_launches", time.casts.launches},
          {"cast_gpu_ns", time.casts.ns},
          {"cast_share", std::round(time.cast_share() * 1e4) / 1e4},
          {"sites", sites},
          {"operators", operators_json(model)},
          {"by_operator", names_json(gpu_operator_names(model), "operator", false)},
          {"by_kernel", names_json(gpu_kernel_names(model), "kernel_name", true)},
          {"matmuls", products_json(run)},
          {"casts_by_events", by_events_json(model)},
          {"gpu_seats", seats}};
}

}  // namespace castscope::report
