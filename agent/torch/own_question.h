// Marks questions that the agent itself asks PyTorch. Their errors are not the job's.
#pragma once

namespace castscope::agent {

// While an object of this class lives, errors that this thread makes come from our own questions.
class OwnQuestion {
 public:
  OwnQuestion();
  ~OwnQuestion();
  OwnQuestion(const OwnQuestion&) = delete;
  OwnQuestion& operator=(const OwnQuestion&) = delete;
};
bool asks_own_question();

}  // namespace castscope::agent
