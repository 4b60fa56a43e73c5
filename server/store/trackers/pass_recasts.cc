#include "server/store/trackers/pass_recasts.h"

#include <utility>

namespace castscope::store {

void PassRecasts::kept(std::uint32_t lane, std::uint32_t site, std::uint64_t source, std::uint32_t stay,
                       std::uint32_t version) {
  if (last_.size() >= kMostSources) last_.clear();
  Pass& pass = pass_of(lane);
  if (pass.backwards > 0) end(pass);
  pass.stays += pass.stays == 0 || pass.last_stay != stay;
  pass.last_stay = stay;
  const Last now{lane, pass.number, optimizers_, stay, version};
  const auto [known, fresh] = last_.try_emplace(source, now);
  Last before = std::exchange(known->second, now);
  const bool other_stay = std::exchange(before.stay, stay) != stay;
  pass.again[site] += !fresh && other_stay && before == now;
}

void PassRecasts::end(Pass& pass) {
  const bool is_one_pass = pass.backwards < pass.stays;
  for (const auto& [site, casts] : pass.again) ended_.push_back({site, is_one_pass ? casts : 0});
  pass.again.clear();
  pass.stays = pass.backwards = 0;
  ++pass.number;
}

std::vector<PassRecasts::Recast> PassRecasts::take(bool last) {
  if (last) {
    for (Pass& pass : passes_)
      if (pass.backwards > 0) end(pass);
  }
  return std::exchange(ended_, {});
}

void PassRecasts::forget(std::uint32_t lane) {
  Pass& pass = pass_of(lane);
  pass.again.clear();
  pass.stays = pass.backwards = 0;
  ++pass.number;
}

}  // namespace castscope::store
