#include "server/web/http/compression.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace castscope::web {
namespace {

absl::string_view as_absl(std::string_view text) { return {text.data(), text.size()}; }

// "gzip;q=0.5" has the weight 0.5; what has none has 1.
double weight_of(const std::vector<absl::string_view>& parts) {
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const absl::string_view part = absl::StripAsciiWhitespace(parts[i]);
    double weight = 0;
    if (absl::StartsWithIgnoreCase(part, "q=")) return absl::SimpleAtod(part.substr(2), &weight) ? weight : 0;
  }
  return 1;
}

bool is_text(std::string_view type) {
  return type.starts_with("text/") || type.find("json") != std::string_view::npos ||
         type.find("xml") != std::string_view::npos;
}

// Returns "" where zlib fails: the answer then goes as it is.
std::string gzipped(const std::string& text) {
  constexpr int kWindow = 15, kGzip = 16, kMemory = 8;
  z_stream stream{};
  if (text.size() > std::numeric_limits<uInt>::max()) return "";
  // The fastest level: the viewer's own processor may be the one that trains.
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kWindow + kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(packed.size(), std::numeric_limits<uInt>::max()));
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(whole ? stream.total_out : 0);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  double any = 0;
  for (const absl::string_view one : absl::StrSplit(as_absl(accept_encoding), ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(one, ';');
    const absl::string_view name = absl::StripAsciiWhitespace(parts.front());
    if (absl::EqualsIgnoreCase(name, "gzip") || absl::EqualsIgnoreCase(name, "x-gzip")) return weight_of(parts) > 0;
    if (name == "*") any = weight_of(parts);
  }
  return any > 0;
}

void compress_for(std::string_view accept_encoding, Response& response) {
  if (!is_text(response.type) || response.body.size() < kLeastCompressed) return;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (!accepts_gzip(accept_encoding)) return;
  std::string packed = gzipped(response.body);
  if (packed.empty() || packed.size() >= response.body.size()) return;
  response.body = std::move(packed);
  response.headers.emplace_back("Content-Encoding", "gzip");
}

}  // namespace castscope::web
