// Writes HTML so that nothing that a job named can become markup: all text and attributes are escaped here, and
// elements are closed by their scope.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace castscope::report {

// UTF-8 with & < > " ' as references; control characters are left out.
std::string html_escaped(std::string_view text);

class Html {
 public:
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  class [[nodiscard]] Scope {  // the element's end tag
   public:
    Scope(Html& html, std::string_view tag) : html_(html), tag_(tag) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { html_.end(tag_); }

   private:
    Html& html_;
    const std::string_view tag_;
  };

  Scope element(std::string_view tag, Attributes = {});
  void empty(std::string_view tag, Attributes = {});  // without an end tag: meta, circle, …
  void leaf(std::string_view tag, std::string_view text, Attributes = {});
  void text(std::string_view text);
  void trusted(std::string_view markup) { out_ += markup; }  // our own: style, doctype
  std::string take() { return std::move(out_); }

 private:
  void begin(std::string_view tag, Attributes attributes);
  void end(std::string_view tag);
  std::string out_;
};

}  // namespace castscope::report
