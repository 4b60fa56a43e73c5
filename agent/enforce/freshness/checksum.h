// Sums that show that memory changed. Not cryptographic: nobody writes to weights in order to deceive. No torch header
// here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace castscope::enforce {

// A sum over all bytes: it misses about one change in 2^60, whether of one bit, of signs, or of elements that change
// places. As fast as the memory where the processor has AES instructions, and else as portable_checksum(). Equal in one
// process, not from one machine to another.
std::uint64_t checksum(const void* memory, std::size_t bytes);
std::uint64_t portable_checksum(const void* memory, std::size_t bytes);

}  // namespace castscope::enforce
