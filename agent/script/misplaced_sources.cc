#include "agent/script/misplaced_sources.h"

#include <exception>
#include <string>
#include <vector>

#include "agent/cpython/python_snippet.h"
#include "agent/session/process.h"
#include "agent/session/script_facts.h"
#include "agent/torch/own_question.h"
#include "agent/torchscript/misplaced.h"

namespace castscope::agent {
namespace {

using script::ToldSource;
using Told = std::vector<std::pair<std::uint32_t, ToldSource>>;

// Returns for each source in turn: its file, "" where it is not known; the number of the line of its autocast
// decorator, "" where it has none; that decorator.
//
// A function's wrapper has it as __wrapped__. A wrapper that opens a region names autocast in its code. PyTorch's own
// says that it cannot be scripted, which torch.jit.script looks at for functions only.
constexpr const char* kDecorators = R"py(
import ast, gc, inspect, sys, textwrap, types


def stripped(lines):
    return [line.strip() for line in lines]


def chain(function):
    links = [function]
    while type(links[-1]) is types.FunctionType and "__wrapped__" in links[-1].__dict__ and len(links) < 50:
        inner = links[-1].__dict__["__wrapped__"]
        links.append(inner.__func__ if type(inner) is types.MethodType else inner)
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


def decorator(text, line, dropped):
    # Those of torch.jit hand on what they are given.
    decorators = [d for d in ast.parse(textwrap.dedent(text)).body[0].decorator_list if "jit." not in ast.unparse(d)]
    named = [d for d in decorators if "autocast" in ast.unparse(d)]
    if not named:
        named = [d for d, drops in zip(decorators, dropped) if drops] if len(dropped) == len(decorators) else decorators
    return [str(line + named[0].lineno - 1), ast.unparse(named[0])] if named else [str(line), ""]


def answer(wrappers, file, line, text):
    for links in wrappers.get((file, line), ()):
        inner = links[-1].__code__
        if is_source(inner, line, text):
            dropped = [opens_region(link) for link in links[:-1]]
            return [inner.co_filename] + (decorator(text, line, dropped) if any(dropped) else ["", ""])
    if file.endswith("/torch/amp/autocast_mode.py"):
        return ["", *decorator(text, line, [])]
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


def refused():
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "_script_impl":
        frame = frame.f_back
    links = chain(frame.f_locals.get("obj")) if frame is not None else []
    if not links:
        return []
    code = links[-1].__code__
    try:
        text = "".join(inspect.getsourcelines(code)[0])
    except (OSError, TypeError, SyntaxError):
        return [code.co_filename, code.co_firstlineno, code.co_name]
    dropped = [opens_region(link) for link in links[:-1]]
    return [code.co_filename, int(decorator(text, code.co_firstlineno, dropped)[0]), code.co_name]
)py";

Snippet g_find{kDecorators, "find"}, g_refused{kDecorators, "refused"};
constexpr const char* kNotKnown = "<unknown file>";

struct Answer {
  std::string file, line, decorator;
};

std::vector<Answer> ask(const MayWait& may_wait, const Told& told) {
  std::vector<Answer> answers(told.size());  // without a file: the one that PyTorch names
  std::string questions;
  for (const auto& [number, source] : told)
    questions +=
        (questions.empty() ? "" : "\x1e") + source.file + "\x1f" + std::to_string(source.line) + "\x1f" + source.text;
  const PythonApi& py = g_process.python;
  Gil gil(may_wait, py);
  if (!gil.held()) return answers;
  KeepError keep(gil, py);
  PyObject* list = g_find.call(gil, py, "(s)", questions.c_str());
  if (list == nullptr) return answers;
  const auto text = [&](std::size_t i) { return text_of(gil, py, py.list_item(list, static_cast<std::ptrdiff_t>(i))); };
  if (py.list_size(list) == static_cast<std::ptrdiff_t>(3 * told.size()))
    for (std::size_t i = 0; i < told.size(); ++i) {
      answers[i] = {text(3 * i), text(3 * i + 1), text(3 * i + 2)};
      if (answers[i].file.empty()) answers[i].file = kNotKnown;
    }
  py.dec_ref(list);
  py.clear_error();
  return answers;
}

void tell_of_decorated(const MayWait& may_wait, lanes::FactKind kind, std::string_view text, const CodeLine& place) {
  ThreadState* t = thread_state();
  if (t == nullptr) return;
  const std::uint32_t stack = script_stack(may_wait, *t, {place});
  note_fact(may_wait, *t, {.kind = kind, .text = text, .stack = stack});
}

void tell_dropped_decorator(const MayWait& may_wait, std::string_view decorator, const CodeLine& place) {
  tell_of_decorated(may_wait, lanes::FactKind::kScriptDropsDecorator, decorator, place);
}

void tell_refused_function(const MayWait& may_wait, std::string_view error, const CodeLine& place) {
  tell_of_decorated(may_wait, lanes::FactKind::kScriptRefused, error, place);
}

}  // namespace

void find_misplaced_sources(const MayWait& may_wait) noexcept try {
  const Told told = script::take_unasked();
  if (told.empty() || !g_process.has_python || g_process.silent()) return;
  OwnQuestion own;
  const std::vector<Answer> answers = ask(may_wait, told);
  for (std::size_t i = 0; i < told.size(); ++i) {
    script::found_in(told[i].first, answers[i].file);
    if (answers[i].line.empty()) continue;
    const auto line = static_cast<std::uint32_t>(std::stoul(answers[i].line));
    tell_dropped_decorator(may_wait, answers[i].decorator, {answers[i].file, "", line});
  }
} catch (const std::exception&) {  // out of memory: the sources keep the file that PyTorch names
}

bool tell_refused_decorator(const HeldGil& gil, std::string_view error) {
  const PythonApi& py = g_process.python;
  PyObject* answer = g_refused.call(gil, py, "()");
  if (answer == nullptr) return false;
  const std::vector<CodeLine> place = frames_of(gil, py, answer);
  py.dec_ref(answer);
  py.clear_error();
  if (!place.empty()) tell_refused_function(MayWait::having(gil), error, place.front());
  return !place.empty();
}

}  // namespace castscope::agent
