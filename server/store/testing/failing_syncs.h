// SQLite whose syncs fail when a test says so, as those of a broken disk do: what was written can still be read.
#pragma once

#include <sqlite3.h>

#include <map>

namespace castscope::store {

// While one of these is there, it is how this process opens databases.
class FailingSyncs {
 public:
  FailingSyncs() : base_(*sqlite3_vfs_find(nullptr)), vfs_(base_) {
    vfs_.zName = "failing-syncs";
    vfs_.xOpen = open;
    now_ = this;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~FailingSyncs() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(sqlite3_vfs_find(base_.zName), 1);
    now_ = nullptr;
  }
  FailingSyncs(const FailingSyncs&) = delete;
  FailingSyncs& operator=(const FailingSyncs&) = delete;

  bool fail = false;

 private:
  struct Methods : sqlite3_io_methods {
    const sqlite3_io_methods* base;
  };

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    const int status = now_->base_.xOpen(vfs, name, file, flags, out_flags);
    if (status != SQLITE_OK) return status;
    auto [it, is_new] = now_->methods_.try_emplace(file->pMethods);
    if (is_new) {
      static_cast<sqlite3_io_methods&>(it->second) = *file->pMethods;
      it->second.base = file->pMethods;
      it->second.xSync = sync;
    }
    file->pMethods = &it->second;
    return status;
  }
  static int sync(sqlite3_file* file, int flags) {
    if (now_->fail) return SQLITE_IOERR_FSYNC;
    return static_cast<const Methods*>(file->pMethods)->base->xSync(file, flags);
  }

  static inline FailingSyncs* now_ = nullptr;
  const sqlite3_vfs base_;
  sqlite3_vfs vfs_;
  std::map<const sqlite3_io_methods*, Methods> methods_;  // of each kind of file
};

}  // namespace castscope::store
