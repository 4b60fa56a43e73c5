#include "server/store/write/run_store.h"

#include <unistd.h>

#include <deque>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "server/store/file/checksum.h"
#include "server/store/file/one_file.h"
#include "server/store/file/right_checksums.h"
#include "server/store/file/run_file.h"
#include "server/store/file/source_tables.h"
#include "server/store/file/sqlite.h"
#include "server/store/file/with_memory.h"
#include "server/store/read/run_heading.h"
#include "server/store/read/run_reader.h"
#include "server/store/write/findings_table.h"
#include "server/store/write/new_file.h"
#include "server/store/write/process_writer.h"
#include "server/store/write/run_keys.h"
#include "server/store/write/run_tables.h"
#include "server/store/write/step_times.h"

namespace castscope::store {
class RunStore::Impl {
 public:
  Impl(std::string path, const StoreOptions& options) : path(std::move(path)), options(options) {}

  absl::Status create(const RunStart&);
  absl::Status resume();
  absl::Status reopen();
  absl::Status begin();
  absl::Status commit(bool last);
  absl::Status close();
  absl::Status close_elsewhere(const std::string& place);
  absl::Status add_process(const ProcessInfo&);
  absl::Status note_continued(const ProcessWriter&);
  absl::Status take_end_back();

  // Runs `write` inside a transaction. The first error is kept: after it nothing fits together any more, what was
  // committed before stays readable.
  template <typename Write>
  absl::Status in_file(Write write) {
    const std::lock_guard lock(mutex);
    return keep(with_memory(path, [&]() -> absl::Status {
      CASTSCOPE_RETURN_IF_ERROR(begin());
      return write();
    }));
  }
  // The same for news of the run.
  template <typename Write>
  absl::Status on_run(Write write) {
    return in_file([&] {
      CASTSCOPE_RETURN_IF_ERROR(take_end_back());
      has_evidence = true;
      return write();
    });
  }
  template <typename Write>
  absl::Status on(const std::string& key, Write write) {
    return on_run([&] {
      const auto it = by_key.find(key);
      if (it != by_key.end()) return write(processes[it->second]);
      return absl::Status(absl::FailedPreconditionError(absl::StrCat("process ", key, " was never announced")));
    });
  }
  // Bad input is its sender's fault and harms nothing else; a failing disk ends the file.
  absl::Status keep(const absl::Status& status) {
    const bool is_input = absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
    if (!status.ok() && !is_input && failed.ok()) {
      failed = status;
      (void)database.exec("ROLLBACK");
      in_transaction = false;
    }
    return status;
  }

  std::string path;
  const StoreOptions options;
  std::mutex mutex;
  Database database;
  std::unique_ptr<RunTables> tables;
  std::deque<ProcessWriter> processes;
  absl::flat_hash_map<std::string, std::size_t> by_key;
  EarlierLife earlier;  // none, unless the file is written on
  RunKeys keys;
  Statement put_process, put_relay;
  absl::Status failed;
  bool in_transaction = false, closed = false;
  bool has_evidence = false;  // handed over since the last commit
  bool finished = false;      // the run's end was told: no events will come
  bool continued = false;     // the file says so
  bool tells_end = false;     // of an earlier life
  RightChecksums checksums;
  std::optional<RunEnd> earlier_end;
  std::atomic<std::uint64_t>* commits = nullptr;

 private:
  absl::Status open_for_writing();
  absl::Status fill(const RunStart&);
  void let_go();
};

absl::Status RunStore::Impl::open_for_writing() {
  CASTSCOPE_RETURN_IF_ERROR(
      database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 256; "
                    "PRAGMA journal_size_limit = 1048576; PRAGMA temp_store = MEMORY"));
  CASTSCOPE_RETURN_IF_ERROR(
      database.exec(options.syncs_commits ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));
  auto prepared = RunTables::on(database, options);
  if (!prepared.ok()) return prepared.status();
  tables = *std::move(prepared);
  CASTSCOPE_RETURN_IF_ERROR(keys.prepare(database));
  const std::pair<Statement*, const char*> all[] = {
      {&put_process,
       "INSERT INTO processes (id, process_key, host, pid, parent_pid, start_ticks, start_epoch_ns) "
       "VALUES (?,?,?,?,?,?,?)"},
      {&put_relay, "INSERT OR REPLACE INTO relays VALUES (?,?,?,?,?,?,?,?)"},
  };
  return prepare_all(database, all);
}

absl::Status RunStore::Impl::create(const RunStart& start) {
  CASTSCOPE_RETURN_IF_ERROR(make_new_file(path, options.overwrite));
  absl::Status status = fill(start);
  if (!status.ok()) {  // a stub would only be in the way of the next run
    let_go();
    (void)database.close();
    remove_run_file(path);
  }
  return status;
}

absl::Status RunStore::Impl::fill(const RunStart& start) {
  auto opened = Database::open(path, SQLITE_OPEN_READWRITE);
  if (!opened.ok()) return opened.status();
  database = *std::move(opened);
  CASTSCOPE_RETURN_IF_ERROR(lay_out_new_file(database, start, options.keep_all));
  if (options.syncs_commits) CASTSCOPE_RETURN_IF_ERROR(sync_new_file(path));
  CASTSCOPE_RETURN_IF_ERROR(open_for_writing());
  CASTSCOPE_RETURN_IF_ERROR(begin());  // makes the log: whoever has no room for it learns it now
  return commit(false);
}

absl::Status RunStore::Impl::resume() {
  auto opened = open_run_file(path, true);
  if (!opened.ok()) return opened.status();
  database = *std::move(opened);
  CASTSCOPE_RETURN_IF_ERROR(check_checksums(database));  // what is damaged is not written to
  const auto data = read_run_data(database);
  if (!data.ok()) return data.status();
  CASTSCOPE_RETURN_IF_ERROR(bring_to_present_format(database));
  CASTSCOPE_RETURN_IF_ERROR(checksums.adopt(database));
  CASTSCOPE_RETURN_IF_ERROR(open_for_writing());
  // Relays are soon told that the disk has all of it, and SQLite's log may never have been synced. A sync that failed
  // is not made good by another one, for the kernel may take its pages for clean: this writes them anew, elsewhere.
  if (options.syncs_commits) CASTSCOPE_RETURN_IF_ERROR(database.exec("PRAGMA wal_checkpoint"));
  CASTSCOPE_RETURN_IF_ERROR(tables->adopt(database, *data));
  for (const Process& process : data->processes) {
    by_key.emplace(process.info.key, processes.size());
    processes.emplace_back(tables.get(), process.id, process.info.key);
    CASTSCOPE_RETURN_IF_ERROR(processes.back().adopt(database, *data));
    earlier.processes.push_back(process.info);
  }
  for (const Incomplete& one : data->incomplete)
    if (one.reason == IncompleteReason::kProcessRejected) earlier.rejected.push_back(one);
  tells_end = (earlier_end = data->end).has_value();
  if (tells_end) earlier.end_ns = earlier_end->end_ns;
  continued = data->start.continued;
  return read_relays(database, earlier.relays);
}

absl::Status RunStore::Impl::reopen() {
  if (closed) return absl::FailedPreconditionError(absl::StrCat(path, ": the run file is closed"));
  let_go();
  (void)database.close();
  by_key.clear();
  earlier = {};
  in_transaction = has_evidence = finished = continued = tells_end = closed = false;
  earlier_end.reset();
  failed = absl::OkStatus();
  return failed = resume();
}

// What was open when the earlier writer died is not known any more: what follows was seen from here on only.
absl::Status RunStore::Impl::note_continued(const ProcessWriter& process) {
  if (continued || !process.goes_on()) return absl::OkStatus();
  continued = true;
  return keys.set("continued", true);
}

// With the first news of the run, it has not ended: whoever reads the file meanwhile, or after this writer was killed,
// learns so.
absl::Status RunStore::Impl::take_end_back() {
  if (!std::exchange(tells_end, false)) return absl::OkStatus();
  return keys.take_end_back();
}

absl::Status RunStore::Impl::begin() {
  if (closed) return absl::FailedPreconditionError(absl::StrCat(path, ": the run file is closed"));
  if (!failed.ok() || in_transaction) return failed;
  CASTSCOPE_RETURN_IF_ERROR(keep(database.exec("BEGIN IMMEDIATE")));
  in_transaction = true;
  checksums.begin(database);
  return absl::OkStatus();
}

absl::Status RunStore::Impl::commit(bool last) {
  CASTSCOPE_RETURN_IF_ERROR(begin());
  for (ProcessWriter& process : processes) CASTSCOPE_RETURN_IF_ERROR(keep(process.write(last || finished)));
  if (last || finished) CASTSCOPE_RETURN_IF_ERROR(keep(settle_step_times(database)));
  CASTSCOPE_RETURN_IF_ERROR(keep(checksums.before_commit(database, finished || tells_end)));
  CASTSCOPE_RETURN_IF_ERROR(keep(database.exec("COMMIT")));
  in_transaction = false;
  // Now: who sees the number finds in the file what it stands for.
  if (commits != nullptr) *commits += std::exchange(has_evidence, false);
  return absl::OkStatus();
}

absl::Status RunStore::Impl::close() {
  if (closed) return absl::OkStatus();
  absl::Status status = failed.ok() ? commit(true) : failed;
  let_go();
  return leave_one_file(database, status);
}

void RunStore::Impl::let_go() {
  closed = true;
  keys.let_go();
  for (Statement* statement : {&put_process, &put_relay}) *statement = Statement();
  processes.clear();
  tables.reset();
}

absl::Status RunStore::Impl::close_elsewhere(const std::string& place) {
  if (closed) return absl::FailedPreconditionError(absl::StrCat(path, ": the run file is closed"));
  absl::Status status = failed.ok() ? commit(true) : failed;
  let_go();
  status.Update(move_to(database, place));
  // SQLite leaves this one where the file was. If there is another file now, it may be that one's.
  if (place == path || access(path.c_str(), F_OK) != 0) unlink((path + "-shm").c_str());
  path = place;
  return status.ok() ? leave_one_file(database, status) : status;
}

absl::Status RunStore::Impl::add_process(const ProcessInfo& info) {
  const auto [it, is_new] = by_key.try_emplace(info.key, processes.size());
  if (!is_new) return absl::OkStatus();
  const ProcessId id(processes.size() + 1);
  processes.emplace_back(tables.get(), id, info.key);
  return put_process.run(id, info.key, info.host, info.pid, info.parent_pid, info.start_ticks, info.begin_realtime_ns);
}

RunStore::RunStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) { impl_->commits = &commits_; }
RunStore::~RunStore() { (void)close(); }

absl::StatusOr<std::unique_ptr<RunStore>> RunStore::create(const std::string& path, const RunStart& start,
                                                           const StoreOptions& options) {
  auto impl = std::make_unique<Impl>(path, options);
  CASTSCOPE_RETURN_IF_ERROR(impl->create(start));
  return std::unique_ptr<RunStore>(new RunStore(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<RunStore>> RunStore::resume(const std::string& path, const StoreOptions& options) {
  auto impl = std::make_unique<Impl>(path, options);
  CASTSCOPE_RETURN_IF_ERROR(impl->resume());
  return std::unique_ptr<RunStore>(new RunStore(std::move(impl)));
}

absl::Status RunStore::reopen() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->reopen();
}

absl::Status RunStore::process(const ProcessInfo& info) {
  return impl_->on_run([&] { return impl_->add_process(info); });
}
absl::Status RunStore::define(const std::string& key, const Definition& definition) {
  return impl_->on(
      key, [&](ProcessWriter& p) { return std::visit([&](const auto& one) { return p.define(one); }, definition); });
}
absl::Status RunStore::events(const std::string& key, const EventBlock& block) {
  return impl_->on(key, [&](ProcessWriter& p) {
    CASTSCOPE_RETURN_IF_ERROR(impl_->note_continued(p));
    return p.events(block);
  });
}
absl::Status RunStore::counters(const std::string& key, std::span<const CounterRow> rows) {
  return impl_->on(key, [&](ProcessWriter& p) { return p.counters(rows); });
}
absl::Status RunStore::lanes(const std::string& key, std::span<const LaneRow> rows) {
  return impl_->on(key, [&](ProcessWriter& p) { return p.lanes(rows); });
}
absl::Status RunStore::gauges(const std::string& key, const Gauges& gauges) {
  return impl_->on(key, [&](ProcessWriter& p) { return p.gauges(gauges); });
}
absl::Status RunStore::process_end(const std::string& key, ProcessEnd end, int exit_status) {
  return impl_->on(key, [&](ProcessWriter& p) { return p.end(end, exit_status); });
}

absl::Status RunStore::incomplete(IncompleteReason reason, const std::string& process, const std::string& sentence) {
  return impl_->on_run([&] { return impl_->keys.incomplete(reason, process, sentence); });
}

LanePosition RunStore::position(const std::string& key, std::uint32_t lane) {
  const std::lock_guard lock(impl_->mutex);
  const auto it = impl_->by_key.find(key);
  return it == impl_->by_key.end() ? LanePosition() : impl_->processes[it->second].position(lane);
}

bool RunStore::has_counter(const std::string& key, std::uint32_t lane, std::uint32_t site) {
  const std::lock_guard lock(impl_->mutex);
  const auto it = impl_->by_key.find(key);
  return it != impl_->by_key.end() && impl_->processes[it->second].has_counter(lane, site);
}

EarlierLife RunStore::earlier_life() { return impl_->earlier; }
const std::optional<RunEnd>& RunStore::earlier_end() const { return impl_->earlier_end; }

absl::Status RunStore::relay(const RelayState& state) {
  return impl_->on_run([&] {
    return impl_->put_relay.run(state.relay, state.acknowledged, state.said_goodbye, state.exit_status, state.signal,
                                state.still_running, state.expected_ranks, state.seen_ranks);
  });
}

std::uint32_t RunStore::number(const std::string& key, Numbered what, std::uint32_t local) {
  const std::lock_guard lock(impl_->mutex);
  const auto it = impl_->by_key.find(key);
  const bool known = it != impl_->by_key.end() && it->second < impl_->processes.size();  // none is left after close()
  return known ? impl_->processes[it->second].number(what, local) : 0;
}

absl::Status RunStore::commit() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->keep(with_memory(impl_->path, [&] { return impl_->commit(false); }));
}
absl::Status RunStore::notice(const std::string& sentence) {
  return impl_->on_run([&] { return impl_->keys.notice(sentence); });
}
absl::Status RunStore::git_dirty(bool dirty) {
  return impl_->in_file([&] { return impl_->keys.set("git_dirty", dirty); });
}

absl::Status RunStore::finish(const RunEnd& end) {
  return impl_->on_run([&] {
    impl_->finished = true;
    return impl_->keys.end(end);
  });
}

absl::Status RunStore::set_findings(std::span<const Finding> findings) {
  return impl_->in_file([&] { return write_findings(impl_->database, findings); });
}
absl::Status RunStore::set_fingerprints(const Fingerprints& fingerprints) {
  return impl_->in_file([&] { return write_fingerprints(impl_->database, fingerprints); });
}
absl::Status RunStore::set_source(const SourceLines& source) {
  return impl_->in_file([&] { return write_source(impl_->database, source); });
}

absl::StatusOr<RunData> RunStore::read() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->closed) return read_run(impl_->path);
  // After a failure of the disk: what was committed before it.
  if (impl_->failed.ok()) CASTSCOPE_RETURN_IF_ERROR(impl_->commit(false));
  return read_run_data(impl_->database);
}

absl::StatusOr<bool> RunStore::every_process_ended() {
  const std::lock_guard lock(impl_->mutex);
  CASTSCOPE_RETURN_IF_ERROR(impl_->commit(false));
  std::int64_t others = 0;
  CASTSCOPE_RETURN_IF_ERROR(each(impl_->database, "SELECT end_kind FROM processes", [&](const Statement& row) {
    const auto end = static_cast<ProcessEnd>(row.number(0));
    others += end != ProcessEnd::kExited && end != ProcessEnd::kReplaced;
  }));
  return others == 0;
}

bool RunStore::has_moved() {
  const std::lock_guard lock(impl_->mutex);
  return !impl_->closed && impl_->database.has_moved();
}
absl::Status RunStore::close_elsewhere(const std::string& path) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->close_elsewhere(path);
}
absl::Status RunStore::close() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->close();
}
const std::string& RunStore::path() const { return impl_->path; }

}  // namespace castscope::store
