// lanes_dump FILE…: prints a segment as text, one line a record. For tests, and for looking at what a crashed process
// left.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "agent/lanes/event_views.h"
#include "agent/lanes/segment_reader.h"

namespace {

using namespace castscope::lanes;

struct Texts {
  std::map<std::uint32_t, std::string> strings;
  const char* operator[](std::uint32_t id) const {
    auto found = strings.find(id);
    return found == strings.end() ? "" : found->second.c_str();
  }
};

template <typename T>
T read(const char* payload) {
  T value;
  std::memcpy(&value, payload, sizeof value);
  return value;
}

// Prints what deep steps define.
void print_deep_definition(Texts& texts, const DefinitionHeader& h, const char* p) {
  if (h.kind == DefinitionKind::kOperatorUse) {
    const auto d = read<OperatorUseDefinition>(p);
    std::printf("use %u stack %u module %u operator %u region %u node '%s' phase %u device %u", h.id, d.stack, d.module,
                d.op, d.region, texts[d.node], static_cast<unsigned>(d.phase), d.device);
    for (std::uint32_t i = 0; i < d.operands && sizeof d + (i + 1) * sizeof(Operand) <= h.payload; ++i) {
      const auto o = read<Operand>(p + sizeof d + i * sizeof(Operand));
      std::printf(" %u:%u/%u/%u/%u", o.argument, o.dtype, static_cast<unsigned>(o.role), o.flags, o.entered);
    }
    std::printf(" in %u gives %u flags %u of '%s'\n", d.computed, d.result, d.flags, texts[d.arguments]);
  } else if (h.kind == DefinitionKind::kFlow) {
    const auto d = read<FlowDefinition>(p);
    std::printf("flow %u from %u to %u argument %u cast %u\n", h.id, d.from, d.to, d.argument, d.cast_to);
  } else {
    const auto d = read<FactDefinition>(p);
    std::printf("fact %u kind %u detail %u subject %u stack %u %s\n", h.id, static_cast<unsigned>(d.kind), d.detail,
                d.subject, d.stack, texts[d.text]);
  }
}

// Prints the definitions of GPU work and matrix products in deep steps.
void print_gpu_definition(Texts& texts, const DefinitionHeader& h, const char* p) {
  if (h.kind == DefinitionKind::kKernel) {
    const auto d = read<KernelDefinition>(p);
    std::printf("kernel %u site %u use %u operator %u device %u work %u flags %u origin '%s' %s\n", h.id, d.site, d.use,
                d.op, d.device, static_cast<unsigned>(d.work), d.flags, texts[d.origin], texts[d.name]);
  } else {
    const auto d = read<MatmulDefinition>(p);
    std::printf(
        "matmul %u use %u operator %u %s m %u n %u k %u batch %u ld %u %u %u dtypes %u %u %u compute %u align %u %u %u "
        "flags %u\n",
        h.id, d.use, d.op, texts[d.function], d.m, d.n, d.k, d.batch, d.lda, d.ldb, d.ldc, d.a, d.b, d.c,
        static_cast<unsigned>(d.compute), d.align_a, d.align_b, d.align_c, d.flags);
  }
}

void print_definition(Texts& texts, const DefinitionHeader& h, const char* p) {
  switch (h.kind) {
    case DefinitionKind::kString:
      texts.strings[h.id] = std::string(p, h.payload);
      std::ranges::replace(texts.strings[h.id], '\0', ' ');  // between the words of a command
      return;
    case DefinitionKind::kCode: {
      const auto d = read<CodeDefinition>(p);
      std::printf("code %u %s %s\n", h.id, texts[d.file], texts[d.function]);
      return;
    }
    case DefinitionKind::kStack: {
      const auto d = read<StackDefinition>(p);
      std::printf("stack %u%s", h.id, d.truncated != 0 ? " truncated" : "");
      for (std::uint32_t i = 0; i < d.count; ++i) {
        const auto f = read<Frame>(p + sizeof d + i * sizeof(Frame));
        std::printf(" %u:%u", f.code, f.line);
      }
      std::printf("\n");
      return;
    }
    case DefinitionKind::kModule: {
      const auto d = read<ModuleDefinition>(p);
      std::printf("module %u '%s' %s in %s#%u\n", h.id, texts[d.path], texts[d.type], texts[d.root_type],
                  d.root_number);
      return;
    }
    case DefinitionKind::kOperator:
      std::printf("operator %u %s\n", h.id, texts[read<OperatorDefinition>(p).name]);
      return;
    case DefinitionKind::kCallSite: {
      const auto d = read<CallSiteDefinition>(p);
      std::printf("call_site %u operator %u argument %d '%s' at %s\n", h.id, d.op, static_cast<int>(d.argument),
                  texts[d.argument_name], texts[d.code_address]);
      return;
    }
    case DefinitionKind::kRegion: {
      const auto d = read<RegionDefinition>(p);
      std::printf("region %u stack %u parent %u nesting %u device %u dtype %u enabled %u cache %u kind %u flags %u\n",
                  h.id, d.stack, d.parent, d.nesting, d.device, d.dtype, d.enabled, d.cache_enabled,
                  static_cast<unsigned>(d.kind), d.flags);
      return;
    }
    case DefinitionKind::kSite: {
      const auto d = read<SiteDefinition>(p);
      std::printf(
          "site %u stack %u module %u call_site %u operator %u region %u forward_site %u role %u cause %u why %u phase "
          "%u "
          "%u->%u device %u flags %u\n",
          h.id, d.stack, d.module, d.call_site, d.op, d.region, d.forward_site, static_cast<unsigned>(d.role),
          static_cast<unsigned>(d.cause), static_cast<unsigned>(d.why), static_cast<unsigned>(d.phase), d.from, d.to,
          d.device, d.flags);
      return;
    }
    case DefinitionKind::kOperatorUse:
    case DefinitionKind::kFlow:
    case DefinitionKind::kFact:
      return print_deep_definition(texts, h, p);
    case DefinitionKind::kKernel:
    case DefinitionKind::kMatmul:
      return print_gpu_definition(texts, h, p);
    case DefinitionKind::kThread: {
      const auto d = read<ThreadDefinition>(p);
      std::printf("thread %u lane %u tid %u %s\n", h.id, d.lane, d.tid, texts[d.name]);
      return;
    }
    case DefinitionKind::kAttribute: {
      const auto d = read<AttributeDefinition>(p);
      std::printf("attribute %s = %s\n", texts[d.key], texts[d.value]);
      return;
    }
  }
  std::printf("definition of unknown kind %u\n", static_cast<unsigned>(h.kind));
}

void print_lane(SegmentReader& reader, std::size_t i) {
  const LaneState state = reader.lane_state(i);
  std::printf("lane %u tid %u written %lu dropped %lu\n", state.id, state.tid, state.written, state.dropped);
  for (const CounterValues& c : reader.counters(i))
    if (c.casts + c.hits + c.passes + c.traced != 0)
      std::printf("counter site %u casts %lu hits %lu passes %lu traced %lu bytes %lu ns %lu kept %lu\n", c.site,
                  c.casts, c.hits, c.passes, c.traced, c.bytes, reader.clock().duration_ns(c.ticks), c.kept);
  std::vector<Event> events;
  std::uint64_t first = 0;
  reader.take(i, 1u << 20, &events, &first);
  for (const Event& e : events) {
    std::printf("event %lu kind %u site %u step %u region %u ns %lu took %lu bytes %lu entries %u flags %u", first++,
                static_cast<unsigned>(e.kind), e.site, e.step, e.region, reader.clock().since_begin_ns(e.time),
                reader.clock().duration_ns(e.duration), e.bytes, EventWords::entries(e), e.flags);
    const ValuesEvent v = as_values(e);
    if (e.kind == EventKind::kValues)
      std::printf(" most %g sampled %u not_finite %u zeros %u integers %u", v.most, v.sampled, v.not_finite, v.zeros,
                  v.integers);
    if (e.kind == EventKind::kScaler) std::printf(" scale %g -> %g", as_scaler(e).before, as_scaler(e).after);
    if (e.kind == EventKind::kMetric) std::printf(" value %g", as_metric(e).value);
    std::printf("\n");
  }
}

int dump(const char* path) {
  std::unique_ptr<SegmentReader> reader;
  std::string error;
  if (SegmentReader::open(path, &reader, &error) != SegmentReader::Outcome::kOpen) {
    std::fprintf(stderr, "lanes_dump: %s: %s\n", path, error.empty() ? "not ready" : error.c_str());
    return 1;
  }
  const ProcessState s = reader->process_state();
  std::printf("process %u end %u exit %d steps %lu cache peak %lu bytes %lu entries, %lu clears, lost %lu %lu %lu\n",
              reader->pid(), static_cast<unsigned>(reader->end_mark()), reader->exit_status(), s.present_step,
              s.cache_peak_bytes, s.cache_peak_entries, s.cache_clears, s.lost.casts, s.lost.hits, s.lost.passes);
  std::printf("deep steps %lu operators %lu ns %lu\n", s.deep_steps, s.deep_operators,
              reader->clock().duration_ns(s.deep_ticks));
  std::printf("gpu steps %lu records %lu lost %lu unplaced %lu, by events %lu untimed %lu\n", s.gpu_steps,
              s.gpu_records, s.gpu_lost, s.gpu_unplaced, s.gpu_event_steps, s.gpu_casts_untimed);
  Texts texts;
  std::string records;
  while (reader->definitions(1 << 20, &records)) {
  }
  for (std::size_t at = 0; at < records.size();) {
    const auto h = read<DefinitionHeader>(records.data() + at);
    print_definition(texts, h, records.data() + at + sizeof h);
    at += h.size;
  }
  for (std::size_t i = 0; i < reader->lane_count(); ++i) print_lane(*reader, i);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int rc = argc > 1 ? 0 : 2;
  for (int i = 1; i < argc; ++i) rc |= dump(argv[i]);
  return rc;
}
