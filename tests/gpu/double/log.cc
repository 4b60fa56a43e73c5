#include "log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace nogpu {
namespace {

FILE* log_file() {
  static FILE* file = [] {
    const char* path = std::getenv("CASTSCOPE_NOGPU_LOG");
    FILE* opened = path == nullptr ? nullptr : std::fopen(path, "ae");
    // A line is written at a time, so that the file is complete whenever the process ends.
    if (opened != nullptr) std::setvbuf(opened, nullptr, _IOLBF, 1 << 16);
    return opened;
  }();
  return file;
}

std::string quoted(const char* text) {
  std::string result = "\"";
  for (; *text != '\0'; ++text) {
    const auto letter = static_cast<unsigned char>(*text);
    if (letter == '"' || letter == '\\') result += '\\';
    if (letter >= ' ') result += *text;
  }
  return result + '"';
}

const char* kind_name(OperationKind kind) {
  switch (kind) {
    case OperationKind::kKernel:
      return "kernel";
    case OperationKind::kMemcpy:
      return "memcpy";
    case OperationKind::kMemset:
      return "memset";
    default:
      return "other";
  }
}

}  // namespace

void log_execution(const Execution& execution) {
  FILE* file = log_file();
  if (file == nullptr) return;
  const Operation& operation = execution.operation;
  static std::mutex lock;
  std::lock_guard guard(lock);
  std::fprintf(file,
               R"({"correlation": %u, "kind": "%s", "name": %s, "device": %d, "stream": %u, "start": %llu, )"
               R"("end": %llu, "thread": %ld, "api": "%s", "bytes": %llu, "graph_node": %llu, "graph": %u})"
               "\n",
               execution.correlation, kind_name(operation.kind), quoted(operation.name).c_str(), execution.device,
               execution.stream, static_cast<unsigned long long>(execution.start),
               static_cast<unsigned long long>(execution.end), static_cast<long>(syscall(SYS_gettid)), execution.api,
               static_cast<unsigned long long>(operation.bytes), static_cast<unsigned long long>(execution.graph_node),
               execution.graph);
}

}  // namespace nogpu
