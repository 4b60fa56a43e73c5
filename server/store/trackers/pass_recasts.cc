#include "server/store/trackers/pass_recasts.h"

#include <utility>

namespace castscope::store {

void PassRecasts::kept(std::uint32_t lane, std::uint32_t site, std::uint64_t source, std::uint32_t stay,
                       std::uint32_t version) {
  if (last_.size() >= kMostSources) last_.clear();
  Pass& pass = pass_of(lane);
  const Last now{lane, pass.number, optimizers_, stay, version};
  const auto [known, fresh] = last_.try_emplace(source, now);
  Last before = std::exchange(known->second, now);
  const bool other_stay = std::exchange(before.stay, stay) != stay;
  pass.again[site] += !fresh && other_stay && before == now;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> PassRecasts::backward(std::uint32_t lane) {
  Pass& pass = pass_of(lane);
  ++pass.number;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> again(pass.again.begin(), pass.again.end());
  pass.again.clear();
  return again;
}

void PassRecasts::forget(std::uint32_t lane) {
  ++pass_of(lane).number;
  pass_of(lane).again.clear();
}

}  // namespace castscope::store
