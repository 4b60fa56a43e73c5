// The calls of the job's own client of CUPTI, which is torch.profiler as a rule, pass through here, so that castscope
// leaves the seat before the job takes it, and knows when the client is done.
#pragma once

#include "agent/gpu/cupti/job_client.h"

namespace castscope::gpu {

// The holder of the seat, who leaves it to the job.
class SeatHolder {
 public:
  virtual ~SeatHolder() = default;
  // The job's own client of CUPTI is about to begin something: when this returns the seat is free. `who`: for the
  // report.
  virtual void job_wants_seat(const char* who) = 0;
  // The client is about to end CUPTI for the process, perhaps from within one of its callbacks: timings that were not
  // read are lost.
  virtual void cupti_ends() = 0;
};

// Takes the imports of CUPTI's functions in all objects that are loaded; call it again for those loaded since. Call it
// as soon as castscope is there: a profile may begin before anything is on a GPU.
void watch_job_cupti();
const JobClient& job_client();
// From here on `holder`, which lives as long as the process, leaves the seat to the job.
void leave_seat_to_job(SeatHolder& holder);

// Call around fork(). In the child, where the other threads do not exist, the calls only pass through.
void hold_job_cupti();
void release_job_cupti();
void forget_job_cupti();

}  // namespace castscope::gpu
