#include "proto/loopback.h"

#include <gtest/gtest.h>

namespace castscope::wire {
namespace {

TEST(LoopbackTest, IsKnownByItsAddress) {
  for (const char* address : {"127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1", "unix:/tmp/a", "unix-abstract:a"})
    EXPECT_TRUE(is_loopback(address)) << address;
  for (const char* address : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "localhost.example.org:1",
                              "127.0.0.1.example.org:1", "::1", ":1", "127.0.0.1", ""})
    EXPECT_FALSE(is_loopback(address)) << address;
}

}  // namespace
}  // namespace castscope::wire
