// The folder of a collector: which of its files holds which run. Runs are known by their ids, whatever their files are
// called: a file may be renamed, and a relay that comes back may wish for another name. For use by one thread at a
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "server/cli/recording/output_name.h"
#include "server/ingest/run/run_keeper.h"
#include "server/store/read/run_heading.h"

namespace castscope::cli {

// Why a collector takes nothing out of this file of its folder, and writes nothing into it: it is a link, which may
// lead anywhere, or somebody else's (server/files/owner.h), who may have put it there. "" = it takes it.
std::string why_not_taken(const std::string& run_file);

// Removes files that a collector was making when it was killed, and in which no run is (store::is_stub), unless another
// castscope writes there. Returns their names. To be called before the folder is read.
std::vector<std::string> remove_stubs(const std::string& folder,
                                      const std::function<bool(const std::string& stem)>& is_free);

class CollectorFolder {
 public:
  // Reads the headings of the run files that are in the folder now. `read_heading` may know what a file says without
  // opening it: before a run is placed in a file, that is opened in any case.
  CollectorFolder(std::string folder, store::ReadHeading read_heading);

  // Returns a sentence about each run file that could not be read, or is not taken.
  const std::vector<std::string>& unreadable() const { return unreadable_; }
  // Returns the runs that an earlier collector did not close, since it was killed or the machine went down: they have
  // no end, or no report.
  std::vector<ingest::RunOpening> left_open() const;
  // Returns the place of this run: the file that holds most of it, or else a free name like the one that it wishes for.
  Output place(const ingest::RunOpening&);
  // The run's file was removed.
  void forget(const std::string& run_id, const std::string& stem);

 private:
  struct Known {
    std::string stem;
    std::uint64_t acknowledged = 0;
    bool is_open = false;
    ingest::RunOpening run;
  };
  void read();
  const Known* holder_of(const std::string& run_id, const std::string& wish) const;
  Output free_place(const ingest::RunOpening&, const std::string& wish);
  void note_place(const std::string& run_id, const std::string& stem);

  std::string folder_;
  store::ReadHeading read_heading_;
  std::vector<std::string> unreadable_;
  std::map<std::string, std::vector<Known>> by_id_;  // the copies of a run have one id
  absl::flat_hash_set<std::string> stems_;           // of all of them
  // By the name that several runs wish for: all numbers below this one are taken. A thousand runs of a job array have
  // one name; none of them is to look through the files of the others.
  absl::flat_hash_map<std::string, int> numbers_;
};

}  // namespace castscope::cli
