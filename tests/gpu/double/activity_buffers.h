// The client's buffers: records are written into them as they become complete, and delivered when full or flushed.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace nogpu {

// A record with times of the devices' clock; they are converted to the client's clock when the record is written.
struct Record {
  uint64_t complete_at = 0;
  uint32_t size = 0;
  uint32_t times = 0;       // where start stands, with end behind it; 0 if the record has no times
  uint32_t third_time = 0;  // one more, or 0
  alignas(8) uint8_t bytes[256] = {};
};

bool has_buffer_callbacks();
bool set_buffer_callbacks(CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed);
void clear_buffer_callbacks();

// A record of the host, which is complete now.
void write_record(const Record& record);
// Records that follow one another without others in between.
void write_records(const Record* first, uint32_t count);
// A record of a device, which becomes complete at a time of its own.
void keep_record(const Record& record);

// Delivers complete records on the calling thread; if forced, also incomplete ones, without times.
void flush_buffers(bool forced);
void flush_every(uint32_t milliseconds);
size_t take_dropped_count();

void set_timestamp_callback(CUpti_TimestampCallbackFunc function);
uint64_t client_now();

}  // namespace nogpu
