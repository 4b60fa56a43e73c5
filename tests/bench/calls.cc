// Operators whose kernel on the Autocast key calls cached_cast in a loop and reports the cost of a call in nanoseconds
// of this thread's CPU time. They are registered as PyTorch registers its own (a function pointer in the kernel's
// functor), so that code that maps return addresses to operators can map these too.
//
// Each call has a guard of its own, as in an operator of PyTorch: nothing learned for one operator call may be used for
// the next.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <time.h>
#include <torch/library.h>

#include <algorithm>

namespace {

constexpr auto kCpu = c10::DeviceType::CPU;
constexpr int kBatches = 7;

std::int64_t thread_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Returns the least of some batches, taken one after another: the time of an interrupt does not belong to the call.
template <typename Call>
double ns_per_call(std::int64_t calls, const Call& call) {
  double least = 1e18;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto begin = thread_ns();
    for (std::int64_t i = 0; i < calls; ++i) call();
    least = std::min(least, static_cast<double>(thread_ns() - begin) / static_cast<double>(calls));
  }
  return least;
}

// Makes one call of an operator that casts one argument: the tensor is a cached weight (hit), already low
// (pass-through), or an input (cast), as the caller chose it.
double one_argument(const at::Tensor& tensor, std::int64_t calls) {
  return ns_per_call(calls, [&] {
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
    at::autocast::cached_cast(at::kBFloat16, tensor, kCpu);
  });
}

// Passes three arguments under one guard, as linear does; all are the same tensor. The result is the time per argument.
double three_arguments(const at::Tensor& tensor, std::int64_t calls) {
  return ns_per_call(calls,
                     [&] {
                       c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
                       at::autocast::cached_cast(at::kBFloat16, tensor, kCpu);
                       at::autocast::cached_cast(at::kBFloat16, tensor, kCpu);
                       at::autocast::cached_cast(at::kBFloat16, tensor, kCpu);
                     }) /
         3;
}

// A fixed piece of work, in ns: it shows how fast the machine is at the moment. The machine's other guests may take
// half of a core for seconds, which slows down code that keeps all of its units busy.
double pace() {
  return ns_per_call(1, [] {
    std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    for (int i = 0; i < 50'000; ++i) {
      a += 3, b ^= 5, c += 7, d ^= 11, e += 13, f ^= 17;
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
  });
}

// A single call, timed alone, including the clock.
double once(const at::Tensor& tensor, std::int64_t) {
  const auto begin = thread_ns();
  {
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
    at::autocast::cached_cast(at::kBFloat16, tensor, kCpu);
  }
  return static_cast<double>(thread_ns() - begin);
}

double outside(const at::Tensor&, std::int64_t) { return 0; }

}  // namespace

TORCH_LIBRARY(castscope_bench, m) {
  m.def("one_argument(Tensor tensor, int calls) -> float", outside);
  m.def("three_arguments(Tensor tensor, int calls) -> float", outside);
  m.def("once(Tensor tensor, int calls) -> float", outside);
  m.def("pace() -> float", pace);
}

TORCH_LIBRARY_IMPL(castscope_bench, AutocastCPU, m) {
  m.impl("one_argument", one_argument);
  m.impl("three_arguments", three_arguments);
  m.impl("once", once);
}
