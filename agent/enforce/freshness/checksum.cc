#include "agent/enforce/freshness/checksum.h"

#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <wmmintrin.h>
#endif

// Both sums go over the memory in stripes of several lanes, since each step waits for the last step of its lane:
// learned from xxHash (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). In both, a step is one-to-one
// in the word that it adds and in the sum before, so that no difference fades.
namespace castscope::enforce {
namespace {

// 2^64 divided by the golden ratio: its multiples spread evenly.
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kOdd = 0xc2b2ae3d27d4eb4f;

// The shift comes before the product, so that a changed high bit (a sign) spreads too: products carry upwards only, and
// the same sign changed in two places would cancel out.
std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
  sum += word;
  return (sum ^ sum >> 32) * kOdd;
}

template <typename Word>
Word at(const char* memory) {
  Word word;
  std::memcpy(&word, memory, sizeof word);
  return word;
}

// The stripes of some memory, the last one filled up with zeros.
template <std::size_t size>
class Stripes {
 public:
  Stripes(const void* memory, std::size_t bytes) : at_(static_cast<const char*>(memory)), left_(bytes) {}
  // Null when there are no more.
  const char* next() {
    if (left_ >= size) {
      left_ -= size;
      return std::exchange(at_, at_ + size);
    }
    if (left_ == 0) return nullptr;
    std::memcpy(rest_, at_, std::exchange(left_, 0));
    return rest_;
  }

 private:
  const char* at_;
  std::size_t left_;
  char rest_[size] = {};
};

// A pack of numbers names the lanes, because compilers do not keep an array in registers when a loop goes over it.
using LaneNumbers = std::make_index_sequence<8>;

template <std::size_t... i>
std::uint64_t by_products(const void* memory, std::size_t bytes, std::index_sequence<i...>) {
  std::uint64_t lanes[] = {(bytes + i) * kGolden...};
  Stripes<sizeof lanes> stripes(memory, bytes);
  while (const char* const stripe = stripes.next())
    ((lanes[i] = mixed(lanes[i], at<std::uint64_t>(stripe + i * sizeof *lanes))), ...);
  std::uint64_t sum = 0;
  ((sum = mixed(sum, lanes[i])), ...);
  return sum ^ sum >> 29;
}

#if defined(__x86_64__)
// Two rounds for each 16 bytes: after them, every bit of the lane depends on every bit of those bytes.
template <std::size_t... i>
__attribute__((target("aes"))) std::uint64_t by_aes(const void* memory, std::size_t bytes, std::index_sequence<i...>) {
  const __m128i key = _mm_set1_epi64x(static_cast<long long>(kGolden));
  __m128i lanes[] = {_mm_set_epi64x(static_cast<long long>(bytes), i)...};
  Stripes<sizeof lanes> stripes(memory, bytes);
  while (const char* const stripe = stripes.next()) {
    const auto* const more = reinterpret_cast<const __m128i*>(stripe);
    ((lanes[i] = _mm_aesenc_si128(_mm_aesenc_si128(lanes[i], _mm_loadu_si128(more + i)), key)), ...);
  }
  __m128i sum = key;
  ((sum = _mm_aesenc_si128(_mm_aesenc_si128(sum, lanes[i]), key)), ...);
  sum = _mm_aesenc_si128(_mm_aesenc_si128(sum, key), key);  // each half of the sum shall depend on all lanes
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(sum));
}
#endif

}  // namespace

std::uint64_t portable_checksum(const void* memory, std::size_t bytes) {
  return by_products(memory, bytes, LaneNumbers());
}

std::uint64_t checksum(const void* memory, std::size_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("aes")) return by_aes(memory, bytes, LaneNumbers());
#endif
  return portable_checksum(memory, bytes);
}

}  // namespace castscope::enforce
