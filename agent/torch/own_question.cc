#include "agent/torch/own_question.h"

#include <cstdint>

namespace castscope::agent {
namespace {

thread_local std::uint32_t t_own_questions = 0;

}  // namespace

OwnQuestion::OwnQuestion() { ++t_own_questions; }
OwnQuestion::~OwnQuestion() { --t_own_questions; }
bool asks_own_question() { return t_own_questions > 0; }

}  // namespace castscope::agent
