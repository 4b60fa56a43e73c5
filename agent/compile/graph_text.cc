#include "agent/compile/graph_text.h"

#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

namespace castscope::compile {
namespace {

// torch/utils/_dtype_abbrs.py; the numbers are those of c10::ScalarType.
struct Dtype {
  std::string_view name;
  std::uint8_t number;
  std::uint8_t bytes;
};
constexpr Dtype kDtypes[] = {{"f16", 5, 2}, {"f32", 6, 4}, {"f64", 7, 8}, {"bf16", 15, 2}};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return trimmed(line);
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view take_name(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_name_character(text[n])) ++n;
  const std::string_view name = text.substr(0, n);
  text.remove_prefix(n);
  return name;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Reads "[2, 16]…". 0 where a size is a symbol, or where the product of the sizes is too large.
std::uint64_t elements(std::string_view shape) {
  const std::size_t end = shape.find(']');
  if (shape.empty() || shape.front() != '[' || end == std::string_view::npos) return 0;
  std::string_view sizes = shape.substr(1, end - 1);
  std::uint64_t product = 1;
  while (!sizes.empty()) {
    const std::size_t comma = sizes.find(',');
    const auto size = number(trimmed(sizes.substr(0, comma)));
    if (!size.has_value() || (*size != 0 && product > std::numeric_limits<std::uint64_t>::max() / 16 / *size)) return 0;
    product *= *size;
    sizes.remove_prefix(comma == std::string_view::npos ? sizes.size() : comma + 1);
  }
  return product;
}

// `bf16[2, 16][16, 1]cpu`
void read_type(std::string_view type, Node& node) {
  const std::string_view name = take_name(type);
  for (const Dtype& dtype : kDtypes)
    if (dtype.name == name) {
      node.dtype = dtype.number;
      node.bytes = elements(type) * dtype.bytes;
    }
}

// `# File: train.py:13 in forward, code: …`; a comment that says anything else names no place.
Place read_place(std::string_view comment) {
  constexpr std::string_view kFile = "# File: ";
  if (!comment.starts_with(kFile)) return {};
  std::string_view text = comment.substr(kFile.size());
  text = text.substr(0, text.find(", code: "));
  const std::size_t in = text.rfind(" in ");
  const std::string_view function = in == std::string_view::npos ? "" : text.substr(in + 4);
  text = text.substr(0, in);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  const auto line = number(text.substr(colon + 1));
  if (!line.has_value() || *line == 0 || *line > std::numeric_limits<std::uint32_t>::max()) return {};
  return {std::string(text.substr(0, colon)), static_cast<std::uint32_t>(*line), std::string(function)};
}

// `torch.ops.aten.addmm.default(` → "aten::addmm"
std::string read_operator(std::string_view& expression) {
  constexpr std::string_view kOps = "torch.ops.";
  const std::size_t open = expression.find('(');
  if (!expression.starts_with(kOps) || open == std::string_view::npos) return {};
  std::string_view path = expression.substr(kOps.size(), open - kOps.size());
  expression.remove_prefix(open);
  const std::string_view space = path.substr(0, path.find('.'));
  if (space.size() == path.size()) return {};
  path.remove_prefix(space.size() + 1);
  return std::string(space) + "::" + std::string(path.substr(0, path.find('.')));
}

class Reader {
 public:
  void read(std::string_view line) {
    if (line.empty()) return;
    if (returning_) {
      read_return(line);
    } else if (line.front() == '#') {
      place_ = read_place(line);
    } else if (line.starts_with("def ")) {  // another graph begins: its names are its own
      names_.clear();
      place_ = {};
      read_arguments(line);
    } else if (line.starts_with("return")) {
      returning_ = true;
      read_return(line);
    } else if (!line.starts_with("class ")) {
      read_node(line);
    }
  }
  std::vector<Node> take() { return std::move(nodes_); }

 private:
  // Either all on one line, `def forward(self, primals_1: "f32[16, 8][8, 1]cpu", …):`, or each on a line of its own.
  void read_arguments(std::string_view line) {
    for (std::size_t quote = line.find(": \""); quote != std::string_view::npos; quote = line.find(": \"", quote + 3)) {
      std::size_t begin = quote;
      while (begin > 0 && is_name_character(line[begin - 1])) --begin;
      add(line.substr(begin, quote - begin), line.substr(quote + 3));
    }
  }

  // `return (addmm, permute_2)`, or with each on a line of its own and a comment behind it.
  void read_return(std::string_view line) {
    const std::string_view names = line.substr(0, line.find('#'));
    for (const std::uint32_t node : names_in(names)) nodes_[node].returned = true;
    returning_ = names.find(')') == std::string_view::npos;
  }

  Node& add(std::string_view name, std::string_view type) {
    names_[std::string(name)] = static_cast<std::uint32_t>(nodes_.size());
    Node& node = nodes_.emplace_back();
    node.name = name;
    read_type(type, node);
    return node;
  }

  // `NAME: "TYPE" = EXPRESSION;  OTHER = None`, `NAME = EXPRESSION`, and for an argument `NAME: "TYPE",  # …`
  void read_node(std::string_view line) {
    std::string_view rest = line;
    const std::string_view name = take_name(rest);
    if (name.empty()) return;
    std::string_view type;
    if (rest.starts_with(": \"")) {
      type = rest.substr(3, rest.find('"', 3) - 3);
      rest.remove_prefix(std::min(rest.size(), type.size() + 4));
    }
    Node node;
    if (rest.starts_with(" = ")) {
      std::string_view expression = rest.substr(3);
      node.op = read_operator(expression);
      node.inputs = names_in(expression.substr(0, expression.find(");  ")));
      node.place = place_;
    } else if (type.empty()) {
      return;
    }
    Node& added = add(name, type);
    added.op = std::move(node.op);
    added.inputs = std::move(node.inputs);
    added.place = std::move(node.place);
  }

  std::vector<std::uint32_t> names_in(std::string_view expression) const {
    std::vector<std::uint32_t> found;
    while (!expression.empty()) {
      const std::string_view name = take_name(expression);
      if (const auto known = names_.find(std::string(name)); !name.empty() && known != names_.end())
        found.push_back(known->second);
      if (name.empty()) expression.remove_prefix(1);
    }
    return found;
  }

  std::vector<Node> nodes_;
  std::unordered_map<std::string, std::uint32_t> names_;
  Place place_;
  bool returning_ = false;
};

}  // namespace

std::vector<Node> read_graph(std::string_view text) {
  Reader reader;
  while (!text.empty()) reader.read(take_line(text));
  return reader.take();
}

std::uint8_t converts_from(const std::vector<Node>& graph, const Node& node) {
  if (!node.is_conversion() || node.inputs.empty() || node.dtype == kNoFloat) return kNoFloat;
  const std::uint8_t from = graph[node.inputs.front()].dtype;
  return from == node.dtype ? kNoFloat : from;
}

}  // namespace castscope::compile
