#include "server/judging/run_judge.h"

#include <utility>

#include "server/store/read/run_reader.h"

namespace castscope::judging {

RunJudge::RunJudge(std::shared_ptr<store::RunStore> store, rules::Settings settings, Lines lines, ShownLine shown)
    : store_(std::move(store)), settings_(std::move(settings)), lines_(lines), shown_(std::move(shown)) {}

absl::StatusOr<JudgedRunPtr> RunJudge::judge() {
  const std::lock_guard lock(mutex_);
  // The number is taken before the file is read: anything that is committed meanwhile makes the run new again.
  const std::uint64_t evidence = this->evidence();
  if (last_ != nullptr && judged_ == evidence) return last_;
  absl::StatusOr<store::RunData> data = read();
  if (!data.ok()) return data.status();
  const bool has_lines = !data->source.files().empty();
  last_ = judged(*std::move(data), settings_, has_lines ? Lines::kAsKept : lines_, shown_);
  judged_ = evidence;
  return last_;
}

// If the file was moved or deleted, only the writer can say so.
absl::StatusOr<store::RunData> RunJudge::read() const {
  absl::StatusOr<store::RunData> data = store::read_run(store_->path());
  return data.ok() ? std::move(data) : store_->read();
}

}  // namespace castscope::judging
