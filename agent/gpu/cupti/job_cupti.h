// The job's own client of CUPTI, which is torch.profiler as a rule: what it asks CUPTI for passes by here, so that
// castscope leaves the seat before the job takes it, and knows when it is through.
#pragma once

#include "agent/gpu/cupti/job_client.h"

namespace castscope::gpu {

// Who has the seat, and leaves it to the job.
class SeatHolder {
 public:
  virtual ~SeatHolder() = default;
  // The job's own client of CUPTI is about to begin something: after this the seat is free. `who`: for the report.
  virtual void job_wants_seat(const char* who) = 0;
  // … to end CUPTI for the process, perhaps from within one of its callbacks: what was timed and not read is lost.
  virtual void cupti_ends() = 0;
};

// Takes the imports of CUPTI's functions, of all objects that are loaded; once more for those loaded since. As soon as
// castscope is there: a profile may have begun before anything is on a GPU.
void watch_job_cupti();
const JobClient& job_client();
// Has `holder`, which lives as long as the process, leave the seat from here on.
void leave_seat_to_job(SeatHolder& holder);

// Around fork(). In the child, whose threads do not exist, the calls only pass by.
void hold_job_cupti();
void release_job_cupti();
void forget_job_cupti();

}  // namespace castscope::gpu
