#include "agent/observe/misplaced_sources.h"

#include <exception>
#include <string>
#include <vector>

#include "agent/observe/errors.h"
#include "agent/observe/process.h"
#include "agent/observe/python_snippet.h"
#include "agent/observe/script_facts.h"
#include "agent/script/misplaced.h"

namespace castscope::observe {
namespace {

using script::ToldSource;
using Told = std::vector<std::pair<std::uint32_t, ToldSource>>;

// Of each source in turn: its file, "" where it is not known; the number of the line of its autocast decorator, ""
// where it has none; that decorator.
//
// A function's wrapper has it as __wrapped__. One that opens a region names autocast in its code; PyTorch's own says
// that it cannot be scripted, which torch.jit.script looks at for functions only.
constexpr const char* kSource = R"py(
import ast, gc, inspect, textwrap, types


def stripped(lines):
    return [line.strip() for line in lines]


def chain(function):
    links = [function]
    while type(links[-1]) is types.FunctionType and "__wrapped__" in links[-1].__dict__ and len(links) < 50:
        links.append(links[-1].__dict__["__wrapped__"])
    return links if type(links[-1]) is types.FunctionType else []


def is_source(code, line, text):
    if code.co_firstlineno != line:
        return False
    try:
        return stripped(inspect.getsourcelines(code)[0]) == stripped(text.splitlines())
    except (OSError, TypeError, SyntaxError):
        return False


def opens_region(link):
    return "autocast" in link.__dict__.get("__script_unsupported", "") or "autocast" in link.__code__.co_names


def decorator(text, line):
    decorators = ast.parse(textwrap.dedent(text)).body[0].decorator_list
    named = [d for d in decorators if "autocast" in ast.unparse(d)] or decorators[:1]
    return [str(line + named[0].lineno - 1), ast.unparse(named[0])] if named else [str(line), ""]


def answer(wrappers, file, line, text):
    for links in wrappers.get((file, line), ()):
        inner = links[-1].__code__
        if is_source(inner, line, text):
            dropped = any(opens_region(link) for link in links[:-1])
            return [inner.co_filename] + (decorator(text, line) if dropped else ["", ""])
    if file.endswith("/torch/amp/autocast_mode.py"):
        return ["", *decorator(text, line)]
    return [file, "", ""]


def find(questions):
    questions = [(file, int(line), text) for file, line, text in (q.split("\x1f") for q in questions.split("\x1e"))]
    wrappers = {}
    for one in gc.get_objects():
        if type(one) is types.FunctionType and "__wrapped__" in one.__dict__:
            links = chain(one)
            if links:
                wrappers.setdefault((one.__code__.co_filename, links[-1].__code__.co_firstlineno), []).append(links)
    return [text for question in questions for text in answer(wrappers, *question)]
)py";

Snippet g_find{kSource, "find"};
constexpr const char* kNotKnown = "<unknown file>";

struct Answer {
  std::string file, line, decorator;
};

std::vector<Answer> ask(const Told& told) {
  std::vector<Answer> answers(told.size(), Answer{kNotKnown, "", ""});
  std::string questions;
  for (const auto& [number, source] : told)
    questions +=
        (questions.empty() ? "" : "\x1e") + source.file + "\x1f" + std::to_string(source.line) + "\x1f" + source.text;
  const PythonApi& py = g_process.python;
  Gil gil(py);
  if (!gil.held()) return answers;
  KeepError keep(py);
  PyObject* list = g_find.call(py, "(s)", questions.c_str());
  if (list == nullptr) return answers;
  const auto text = [&](std::size_t i) { return text_of(py, py.list_item(list, static_cast<std::ptrdiff_t>(i))); };
  if (py.list_size(list) == static_cast<std::ptrdiff_t>(3 * told.size()))
    for (std::size_t i = 0; i < told.size(); ++i) {
      answers[i] = {text(3 * i), text(3 * i + 1), text(3 * i + 2)};
      if (answers[i].file.empty()) answers[i].file = kNotKnown;
    }
  py.dec_ref(list);
  py.clear_error();
  return answers;
}

}  // namespace

void find_misplaced_sources() noexcept try {
  const Told told = script::take_unasked();
  if (told.empty() || !g_process.has_python || g_process.stopped.load(std::memory_order_relaxed)) return;
  OwnQuestion own;
  const std::vector<Answer> answers = ask(told);
  for (std::size_t i = 0; i < told.size(); ++i) {
    script::found_in(told[i].first, answers[i].file);
    if (answers[i].line.empty()) continue;
    const auto line = static_cast<std::uint32_t>(std::stoul(answers[i].line));
    tell_dropped_decorator(answers[i].decorator, {answers[i].file, "", line});
  }
} catch (const std::exception&) {  // out of memory: they keep the file that PyTorch names
}

}  // namespace castscope::observe
