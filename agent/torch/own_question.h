// Questions of the agent's own to PyTorch, whose errors are none of the job's.
#pragma once

namespace castscope::observe {

// While one lives, errors that this thread makes are those of our own questions.
class OwnQuestion {
 public:
  OwnQuestion();
  ~OwnQuestion();
  OwnQuestion(const OwnQuestion&) = delete;
  OwnQuestion& operator=(const OwnQuestion&) = delete;
};
bool asks_own_question();

}  // namespace castscope::observe
