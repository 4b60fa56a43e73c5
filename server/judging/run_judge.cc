#include "server/judging/run_judge.h"

#include <utility>

#include "server/store/read/run_reader.h"

namespace castscope::judging {

RunJudge::RunJudge(std::shared_ptr<store::RunStore> store, rules::Settings settings, Lines lines)
    : store_(std::move(store)), settings_(std::move(settings)), lines_(lines) {}

absl::StatusOr<JudgedRunPtr> RunJudge::judge() {
  const std::lock_guard lock(mutex_);
  // Taken before the file is read: what is committed meanwhile is looked for the next time.
  const std::uint64_t evidence = this->evidence();
  if (last_ != nullptr && judged_ == evidence) return last_;
  absl::StatusOr<store::RunData> data = read();
  if (!data.ok()) return data.status();
  const bool has_lines = !data->source.files().empty();
  last_ = judged(*std::move(data), settings_, has_lines ? Lines::kAsKept : lines_);
  judged_ = evidence;
  return last_;
}

// Of a file that was moved or deleted the writer alone can tell.
absl::StatusOr<store::RunData> RunJudge::read() const {
  absl::StatusOr<store::RunData> data = store::read_run(store_->path());
  return data.ok() ? std::move(data) : store_->read();
}

}  // namespace castscope::judging
