// Sums by which it is noticed that memory changed. Not cryptographic: nobody writes to weights in order to deceive.
// No torch header here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace castscope::enforce {

// Of all bytes: about one change in 2^60 is missed, whether of one bit, of signs, or of elements that change places. As
// fast as the memory where the processor has AES instructions, and else as portable_checksum(). Equal in one process,
// not from one machine to another.
std::uint64_t checksum(const void* memory, std::size_t bytes);
std::uint64_t portable_checksum(const void* memory, std::size_t bytes);

// Of `n` elements of so many bytes (1, 2, 4 or 8 are fast), always the same ones for a size: the first, the last, and
// one of each n-th part between, at uneven distances; of all bytes where there are few elements. What changes elsewhere
// is missed.
std::uint64_t sample(const void* memory, std::size_t bytes, std::size_t element, unsigned n = 64);

}  // namespace castscope::enforce
