// The job's own client of CUPTI, which is torch.profiler as a rule: what it asks CUPTI for passes by here, so that
// castscope leaves the seat before the job takes it, and knows when it is through.
#pragma once

namespace castscope::gpu {

class Timing;

// Takes the imports of CUPTI's functions, of all objects that are loaded; once more for those loaded since. `timing`
// lives as long as the process.
void watch_job_cupti(Timing& timing);

// Around fork(). In the child, whose threads do not exist, the calls only pass by.
void hold_job_cupti();
void release_job_cupti();
void forget_job_cupti();

}  // namespace castscope::gpu
