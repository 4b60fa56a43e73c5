#include "activity_buffers.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "client_clock.h"
#include "device.h"
#include "faults.h"

namespace nogpu {
namespace {

struct Buffer {
  uint8_t* memory = nullptr;
  size_t size = 0, used = 0, records = 0, most_records = 0;
};

struct CompletesLater {
  bool operator()(const Record& left, const Record& right) const { return left.complete_at > right.complete_at; }
};

class Buffers {
 public:
  bool has_callbacks() {
    std::lock_guard guard(lock_);
    return requested_ != nullptr;
  }

  void set_callbacks(CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed) {
    std::lock_guard guard(lock_);
    requested_ = requested;
    completed_ = completed;
    if (requested != nullptr && !worker_started_) start_worker();
  }

  void write(const Record* first, uint32_t count) {
    std::lock_guard guard(lock_);
    collect(now());
    for (uint32_t i = 0; i < count; ++i) place(first[i], true);
  }

  void keep(const Record& record) {
    std::lock_guard guard(lock_);
    collect(now());
    const uint64_t every = fault(Fault::kLose);
    if (every != 0 && ++kept_ % every == 0) {
      ++dropped_;
      return;
    }
    pending_.push(record);
  }

  void flush(bool forced) {
    {
      std::lock_guard guard(lock_);
      collect(now());
      if (forced && fault(Fault::kHold) == 0) {
        for (; !pending_.empty(); pending_.pop()) place(pending_.top(), false);
      }
      close_current();
    }
    deliver();
  }

  void flush_every(uint32_t milliseconds) {
    std::lock_guard guard(lock_);
    period_ = std::chrono::milliseconds(milliseconds);
    wake_.notify_all();
  }

  size_t take_dropped() {
    std::lock_guard guard(lock_);
    return std::exchange(dropped_, 0);
  }

  void set_clock(CUpti_TimestampCallbackFunc function) {
    std::lock_guard guard(lock_);
    clock_.set(function);
  }

  uint64_t client_now() {
    std::lock_guard guard(lock_);
    return clock_.time();
  }

 private:
  void collect(uint64_t time) {
    if (fault(Fault::kHold) != 0) return;
    for (; !pending_.empty() && pending_.top().complete_at <= time; pending_.pop()) place(pending_.top(), true);
  }

  void place(const Record& record, bool complete) {
    if (!has_room(record.size)) {
      close_current();
      wake_.notify_all();
      if (!request()) {
        ++dropped_;
        return;
      }
    }
    // The clock is read once, so that both ends are converted alike.
    clock_.look();
    uint8_t* there = current_.memory + current_.used;
    std::memcpy(there, record.bytes, record.size);
    for (const uint32_t offset : {record.times, record.times == 0 ? 0 : record.times + 8, record.third_time}) {
      if (offset != 0) stamp(there + offset, complete);
    }
    current_.used += record.size;
    ++current_.records;
  }

  void stamp(uint8_t* where, bool complete) {
    uint64_t time = 0;
    std::memcpy(&time, where, sizeof time);
    time = complete && time != 0 ? clock_.convert(time) : 0;
    std::memcpy(where, &time, sizeof time);
  }

  bool has_room(size_t size) const {
    if (current_.memory == nullptr || current_.used + size > current_.size) return false;
    return current_.most_records == 0 || current_.records < current_.most_records;
  }

  // Called with the lock held, as in CUPTI: a client that calls CUPTI from here is at fault.
  bool request() {
    if (requested_ == nullptr || fault(Fault::kNoBuffer) != 0) return false;
    Buffer fresh;
    requested_(&fresh.memory, &fresh.size, &fresh.most_records);
    if (fresh.memory == nullptr || fresh.size < sizeof(Record::bytes)) return false;
    current_ = fresh;
    return true;
  }

  void close_current() {
    if (current_.memory != nullptr) full_.push_back(current_);
    current_ = {};
  }

  // One thread delivers at a time, so that a flush returns when everything is delivered.
  void deliver() {
    std::lock_guard in_turn(delivering_);
    std::vector<Buffer> full;
    CUpti_BuffersCallbackCompleteFunc completed = nullptr;
    {
      std::lock_guard guard(lock_);
      full.swap(full_);
      completed = completed_;
    }
    if (fault(Fault::kReorder) != 0) std::reverse(full.begin(), full.end());
    for (const Buffer& buffer : full) {
      if (completed != nullptr) completed(nullptr, 0, buffer.memory, buffer.size, buffer.used);
    }
  }

  void start_worker() {
    worker_started_ = true;
    std::thread([this] { work(); }).detach();
  }

  // A thread of CUPTI's own delivers full buffers.
  void work() {
    std::unique_lock guard(lock_);
    for (;;) {
      const auto awake = [this] { return full_.size() > (fault(Fault::kReorder) != 0 ? 1u : 0u); };
      if (period_.count() == 0) {
        wake_.wait(guard, [&] { return awake() || period_.count() != 0; });
      } else if (!wake_.wait_for(guard, period_, awake)) {
        collect(now());
      }
      if (!awake()) continue;
      guard.unlock();
      deliver();
      guard.lock();
    }
  }

  std::mutex lock_, delivering_;
  std::condition_variable wake_;
  std::chrono::milliseconds period_{0};
  bool worker_started_ = false;
  CUpti_BuffersCallbackRequestFunc requested_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc completed_ = nullptr;
  Buffer current_;
  std::vector<Buffer> full_;
  std::priority_queue<Record, std::vector<Record>, CompletesLater> pending_;
  uint64_t kept_ = 0;
  size_t dropped_ = 0;
  ClientClock clock_;
};

Buffers& buffers() {
  static Buffers* all = new Buffers;
  return *all;
}

}  // namespace

bool has_buffer_callbacks() { return buffers().has_callbacks(); }

bool set_buffer_callbacks(CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed) {
  if (requested == nullptr || completed == nullptr) return false;
  buffers().set_callbacks(requested, completed);
  return true;
}

void clear_buffer_callbacks() { buffers().set_callbacks(nullptr, nullptr); }
void write_record(const Record& record) { buffers().write(&record, 1); }
void write_records(const Record* first, uint32_t count) { buffers().write(first, count); }
void keep_record(const Record& record) { buffers().keep(record); }
void flush_buffers(bool forced) { buffers().flush(forced); }
void flush_every(uint32_t milliseconds) { buffers().flush_every(milliseconds); }
size_t take_dropped_count() { return buffers().take_dropped(); }
void set_timestamp_callback(CUpti_TimestampCallbackFunc function) { buffers().set_clock(function); }
uint64_t client_now() { return buffers().client_now(); }

}  // namespace nogpu
