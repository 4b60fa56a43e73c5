#include "agent/gpu/gpu.h"

#include <link.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "agent/gpu/captures.h"
#include "agent/gpu/cupti/job_cupti.h"
#include "agent/gpu/first_context.h"
#include "agent/gpu/launch_calls.h"
#include "agent/gpu/timing.h"
#include "agent/matmuls/cublas_calls.h"
#include "agent/session/process.h"

namespace castscope::gpu {

std::atomic<bool> g_waits{false};
bool g_any_device = false;

namespace {

std::atomic<bool> g_looks{false};  // GPU timing was not switched off
bool g_events_alone = false;       // use events only, leave CUPTI alone
std::atomic<imports::Imports*> g_cublas{nullptr};

// Made once, when the first tensor on a GPU is met; never deleted: CUPTI may call it at any time.
std::atomic<Timing*> g_timing{nullptr};

void meet_device() {
  agent::Recording& recording = *agent::g_process.recording.load();
  cupti::Library library;
  std::string why;
  const bool has_cupti = cupti::find_library(&library, &why);
  if (!has_cupti && !g_events_alone) recording.definitions.attribute("gpu_timed_by", "none: " + why);
  if ((!has_cupti || g_events_alone) && watch_launches() == nullptr) return;
  const auto functions = stop_watching_first_context() ? Seat::Functions::kSingly : Seat::Functions::kChosen;
  auto* timing = new Timing(recording, library, has_cupti && !g_events_alone, functions);
  if (!timing->start()) return;
  if (has_cupti) {
    watch_job_cupti();
    leave_seat_to_job(*timing);
  }
  g_timing.store(timing, std::memory_order_release);
  std::atexit(exits);  // before CUDA ends, which began earlier
  if (agent::deep()) timing->stretch_begins(true);
}

// Takes the imports of cuBLAS's functions, as far as they are loaded by now.
void want_matmuls() {
  if (!g_looks) return;
  static auto* taken = new imports::Imports(matmuls::cublas_imports());  // never given back: a call may be on its way
  g_cublas = taken;
  if (taken->take() > 0) matmuls::find_cublas_getters();
  matmuls::g_matmuls_wanted = true;
}

}  // namespace

void device_met() {
  if (!g_waits.exchange(false)) return;
  try {
    meet_device();
  } catch (const std::exception&) {  // no memory: GPUs are not timed
  }
}

void stretch_begins(bool is_step) try {
  want_matmuls();
  if (g_looks) {  // in objects that were loaded since
    watch_captures();
    watch_job_cupti();
  }
  if (Timing* timing = g_timing.load(std::memory_order_acquire)) timing->stretch_begins(is_step);
} catch (const std::exception&) {  // no memory: this one is not timed
}

void stretch_ends() try {
  matmuls::g_matmuls_wanted = false;
  if (Timing* timing = g_timing.load(std::memory_order_acquire)) timing->stretch_ends();
} catch (const std::exception&) {
}

Work work_begins(agent::ThreadState& t) {
  Timing* timing = g_timing.load(std::memory_order_acquire);
  if (timing == nullptr) return {};
  Work work{.ticket = timing->book().open(t.gpu_work, t.gpu_origin), .outer = t.gpu_work};
  if (!timing->by_events()) {
    const auto push = timing->api().push;  // none: events, and they were just switched off
    if (push == nullptr || timing->seat().is_gone() || push(cupti::kKindOurs, work.ticket) != cupti::kSuccess)
      return {};
    work.told_cupti = true;
  }
  t.gpu_work = work.ticket;
  return work;
}

void work_ends(agent::ThreadState& t, const Work& work, const Purpose& purpose) {
  Timing* timing = g_timing.load(std::memory_order_acquire);
  t.gpu_work = work.outer;
  if (timing == nullptr) return;
  if (work.told_cupti && !timing->seat().is_gone()) timing->api().pop(cupti::kKindOurs, nullptr);
  timing->book().settle(work.ticket, purpose);
}

TimedCast cast_begins(agent::ThreadState& t) {
  TimedCast cast{work_begins(t), t.gpu_cast};
  if (cast.work && !cast.work.told_cupti) t.gpu_cast = cast.work.ticket;
  return cast;
}

void cast_ends(agent::ThreadState& t, const TimedCast& cast, std::uint32_t site) {
  t.gpu_cast = cast.outer;
  work_ends(t, cast.work, {.site = site});
}

std::uint64_t present_cast() noexcept {
  const agent::ThreadState* t = agent::thread_slot();
  return t == nullptr ? 0 : t->gpu_cast;
}

bool is_cuda_build() {
  const auto is_torch_cuda = [](dl_phdr_info* info, std::size_t, void*) -> int {
    return info->dlpi_name != nullptr && std::strstr(info->dlpi_name, "/libtorch_cuda.so") != nullptr;
  };
  return dl_iterate_phdr(is_torch_cuda, nullptr) != 0;
}

bool is_choice(std::string_view text) { return text == "auto" || text == "on" || text == "events" || text == "off"; }

void start() {
  const char* wanted = std::getenv("CASTSCOPE_GPU");
  const std::string_view choice = wanted == nullptr ? "" : wanted;
  g_any_device = choice == "on";
  g_events_alone = choice == "events";
  if (choice == "off" || (!g_any_device && !is_cuda_build())) return;
  watch_captures();
  watch_job_cupti();
  // A job of which any operator begins the timing may not have made a context by then.
  if (!g_events_alone && !g_any_device) watch_first_context();
  g_looks = g_waits = true;
}

void fork_begins() {
  hold_job_cupti();
  hold_first_context();
  hold_captures();
  hold_launches();
  if (imports::Imports* cublas = g_cublas.load()) cublas->hold();
}

void fork_ends() {
  if (imports::Imports* cublas = g_cublas.load()) cublas->release();
  release_launches();
  release_captures();
  release_first_context();
  release_job_cupti();
}

void child_begins() {
  agent::ask_for(agent::kTiming, false);
  forget_job_cupti();
  if (g_timing.exchange(nullptr) != nullptr) g_waits = false;
}

void exits() try {
  if (Timing* timing = g_timing.load(std::memory_order_acquire)) timing->finish();
} catch (const std::exception&) {  // no memory: timings that were not read are missing
}

}  // namespace castscope::gpu
