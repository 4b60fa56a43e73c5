#include "agent/enforce/proof.h"

#include <cstring>

namespace castscope::enforce {
namespace {
std::uint64_t checksum(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint64_t s[4] = {1, 2, 3, 4};
  std::size_t i = 0;
  for (; i + 32 <= bytes; i += 32)
    for (int k = 0; k < 4; ++k) {
      std::uint64_t w;
      std::memcpy(&w, p + i + 8 * k, 8);
      s[k] = (s[k] ^ w) * 0x9e3779b97f4a7c15u;
    }
  for (; i < bytes; ++i) s[0] = (s[0] ^ p[i]) * 0x9e3779b97f4a7c15u;
  return s[0] ^ s[1] * 3 ^ s[2] * 5 ^ s[3] * 7;
}
}  // namespace
struct Proof::Watch {};
Proof::Proof() = default;
Proof::~Proof() = default;
Proof::Proof(Proof&&) noexcept = default;
Proof& Proof::operator=(Proof&&) noexcept = default;
Proof Proof::of(const void* data, std::size_t bytes, bool) {
  Proof p;
  p.made_ = true;
  p.sum_ = checksum(data, bytes);
  return p;
}
bool Proof::is_tracked() const { return watch_ != nullptr; }
bool Proof::holds(const void* data, std::size_t bytes) const { return made_ && checksum(data, bytes) == sum_; }
bool Proof::can_track(std::size_t) { return false; }
}  // namespace castscope::enforce
