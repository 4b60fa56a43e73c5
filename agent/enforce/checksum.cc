#include "agent/enforce/checksum.h"

#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <wmmintrin.h>
#endif

// Both sums go over the memory in stripes of several lanes, since each step waits for the last one of its lane: learned
// from xxHash (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). In both a step is one-to-one in what it
// adds and in what was before, so that no difference fades.
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

// The lanes are named by a pack of numbers, for no compiler keeps an array in registers that a loop goes over.
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
// Two rounds for each 16 bytes: then every bit of the lane depends on every bit of those.
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
  sum = _mm_aesenc_si128(_mm_aesenc_si128(sum, key), key);  // one half of it shall depend on all
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(sum));
}
#endif

// Where the elements lie that are looked at: part i begins at i / n of all, and a share of a part, another one each
// time, is added.
class Spread {
 public:
  Spread(std::uint64_t elements, unsigned n) : part_((elements << kFraction) / n) {}
  std::uint64_t next() {
    const auto share = static_cast<std::uint64_t>(static_cast<unsigned __int128>(share_) * part_ >> 64);
    share_ += kGolden;
    return (std::exchange(begin_, begin_ + part_) + share) >> kFraction;
  }

 private:
  static constexpr int kFraction = 12;  // bits: no memory has 2^52 elements
  const std::uint64_t part_;
  std::uint64_t begin_ = 0, share_ = 0;
};

// Cheaper than mixed(), and as good for what has at most half of a sum's bits.
template <typename Word>
std::uint64_t joined(std::uint64_t sum, Word word) {
  return sizeof word > 4 ? mixed(sum, word) : sum * kOdd + word;
}

template <typename Word>
std::uint64_t sample_of(const char* memory, std::uint64_t elements, unsigned n) {
  Spread spread(elements, n);
  std::uint64_t lanes[4] = {elements, kGolden, 0, 0};
  for (unsigned i = 0; i + 1 < n; i += 4) {
#pragma GCC unroll 4
    for (unsigned lane = 0; lane < 4; ++lane)
      if (i + lane + 1 < n) lanes[lane] = joined(lanes[lane], at<Word>(memory + spread.next() * sizeof(Word)));
  }
  lanes[3] = joined(lanes[3], at<Word>(memory + (elements - 1) * sizeof(Word)));
  return mixed(mixed(mixed(mixed(0, lanes[0]), lanes[1]), lanes[2]), lanes[3]);
}

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

std::uint64_t sample(const void* memory, std::size_t bytes, std::size_t element, unsigned n) {
  const auto* const from = static_cast<const char*>(memory);
  if (element == 0 || n < 2 || bytes / element / n < 4) return checksum(memory, bytes);  // as fast
  const std::uint64_t elements = bytes / element;
  switch (element) {
    case 1:
      return sample_of<std::uint8_t>(from, elements, n);
    case 2:
      return sample_of<std::uint16_t>(from, elements, n);
    case 4:
      return sample_of<std::uint32_t>(from, elements, n);
    case 8:
      return sample_of<std::uint64_t>(from, elements, n);
    default:
      break;
  }
  Spread spread(elements, n);
  std::uint64_t sum = checksum(from + (elements - 1) * element, element);
  for (unsigned i = 0; i + 1 < n; ++i) sum = mixed(sum, checksum(from + spread.next() * element, element));
  return sum;
}

}  // namespace castscope::enforce
