#include "agent/imports/imports.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace castscope::imports {
namespace {

void* load(Address at) { return __atomic_load_n(reinterpret_cast<void**>(at), __ATOMIC_ACQUIRE); }

// Our own objects, and the libraries themselves: cuBLAS calls cuBLASLt for what is one call of the job's.
bool is_left_alone(const LoadedObject& object) {
  static const char own_code = 0;
  const std::string_view name = object.file_name();
  for (const char* prefix : {"libcastscope", "castscope_agent-", "libcublas", "libcupti"})
    if (name.starts_with(prefix)) return true;
  return object.contains(reinterpret_cast<Address>(&own_code));
}

const LoadedObject* with_code(std::span<const LoadedObject> objects, const void* function) {
  for (const LoadedObject& o : objects)
    if (o.has_code(reinterpret_cast<Address>(function))) return &o;
  return nullptr;
}

// Which definition the linker would bind to depends on scopes that it keeps to itself, except where only one object has
// the function.
void* only_definition(std::span<const LoadedObject> objects, const char* symbol) {
  void* found = nullptr;
  for (const LoadedObject& o : objects) {
    void* const here = o.definition(symbol);
    if (here != nullptr && found != nullptr) return nullptr;
    if (here != nullptr) found = here;
  }
  return found;
}

}  // namespace

struct Imports::Look {
  Imports* self;
  LoadCounts counts;
  std::span<const LoadedObject> objects;
  // Must not outlive the linker's lock: afterwards the page that it has open may belong to another object, which is
  // just being relocated.
  SlotWriter* writer;
  std::size_t done = 0;
};

Imports::Imports(std::span<Import> imports) : imports_(imports) {
  for (std::size_t i = 0; i < imports.size(); ++i) by_name_.push_back(static_cast<std::uint16_t>(i));
  std::sort(by_name_.begin(), by_name_.end(),
            [this](auto a, auto b) { return std::strcmp(imports_[a].symbol, imports_[b].symbol) < 0; });
}

int Imports::import_named(const char* symbol) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), symbol, [this](auto i, const char* name) {
    return std::strcmp(imports_[i].symbol, name) < 0;
  });
  return at != by_name_.end() && std::strcmp(imports_[*at].symbol, symbol) == 0 ? *at : -1;
}

const Imports::Slot* Imports::known_slot(Address base, Address at) const {
  for (const Object& o : objects_)
    for (const Slot& s : o.slots)
      if (o.base == base && s.at == at) return &s;
  return nullptr;
}

Imports::Object Imports::scan(const LoadedObject& loaded) const {
  Object object{loaded.base(), {}, {}, true};
  if (is_left_alone(loaded)) return object;
  memory::OwnVector<std::pair<std::uint32_t, std::uint16_t>> wanted;  // sorted by the symbol's index
  loaded.each_undefined([&](std::uint32_t index, const char* name) {
    const int import = import_named(name);
    if (import >= 0) wanted.emplace_back(index, static_cast<std::uint16_t>(import));
  });
  const auto add = [&](Address at, std::uint16_t import) {
    const Slot* const known = known_slot(object.base, at);
    object.slots.push_back({at, known == nullptr ? nullptr : known->before, import, State::kWaiting});
  };
  if (!wanted.empty())
    loaded.each_slot([&](Address at, std::uint32_t index) {
      const auto found = std::lower_bound(wanted.begin(), wanted.end(), std::pair(index, std::uint16_t{0}));
      if (found != wanted.end() && found->first == index) add(at, found->second);
    });
  for (const std::uint16_t import : by_name_)
    if (imports_[import].own_calls)
      loaded.each_slot_of_own(imports_[import].symbol, [&](Address at) { add(at, import); });
  object.settled = object.slots.empty();
  if (!object.settled) object.name = memory::OwnString(loaded.file_name());
  return object;
}

// The function that a call through the word would reach; nullptr: not known (yet).
void* Imports::target(const Slot& slot, void* held, const LoadedObject& loaded, const Look& look) const {
  const char* const symbol = imports_[slot.import].symbol;
  if (held == loaded.definition(symbol)) return held;  // its own
  // The word is bound at the first call: until then it leads to code of the object itself, which asks the linker.
  if (loaded.has_code(reinterpret_cast<Address>(held))) return only_definition(look.objects, symbol);
  return with_code(look.objects, held) == nullptr ? nullptr : held;
}

void Imports::settle(Object& object, const LoadedObject& loaded, Look& look) {
  object.settled = true;
  for (Slot& slot : object.slots) {
    Import& import = imports_[slot.import];
    void* const held = load(slot.at);
    if (held == import.ours) slot.state = State::kTaken;
    if (slot.state != State::kWaiting) continue;
    void* const leads_to = target(slot, held, loaded, look);
    // The first original, or the first of a library that was unloaded and loaded anew.
    if (leads_to != nullptr && with_code(look.objects, import.original) == nullptr)
      __atomic_store_n(&import.original, leads_to, __ATOMIC_RELEASE);
    if (leads_to != nullptr && leads_to != import.original) {
      slot.state = State::kForeign;
      continue;
    }
    using Outcome = SlotWriter::Outcome;
    const auto outcome = leads_to == nullptr
                             ? Outcome::kNotYet
                             : look.writer->store(slot.at, import.ours, loaded.read_only_after_relocation(slot.at));
    if (outcome == Outcome::kStored) {
      slot.before = held;
      ++look.done;
    }
    if (outcome == Outcome::kFailed) slot.state = State::kFailed;
    // The linker may be about to bind this word, and store over ours: such a word is looked at once more.
    if (outcome == Outcome::kStored && leads_to == held) slot.state = State::kTaken;
    object.settled &= slot.state != State::kWaiting;
  }
}

void Imports::look(Look& look) {
  memory::OwnVector<Object> anew;
  // Where something was unloaded, something else may lie now.
  const bool all = look.counts.unloads != seen_.unloads;
  memory::OwnVector<Object>& objects = all ? anew : objects_;
  waiting_ = false;
  // If there are two copies of a library, PyTorch's counts, whichever was loaded first.
  for (const bool of_torch : {true, false}) {
    for (const LoadedObject& loaded : look.objects) {
      if (loaded.file_name().starts_with("libtorch") != of_torch) continue;
      auto known =
          std::find_if(objects.begin(), objects.end(), [&](const Object& o) { return o.base == loaded.base(); });
      if (known == objects.end()) {
        objects.push_back(scan(loaded));
        known = objects.end() - 1;
      }
      if (!known->settled) settle(*known, loaded, look);
      waiting_ |= !known->settled;
    }
  }
  if (all) objects_ = std::move(anew);
  seen_ = look.counts;
}

std::size_t Imports::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (!waiting_ && load_counts() == seen_) return 0;
  Look look{this, {}, {}, nullptr, 0};
  for_loaded_objects(
      [](void* context, LoadCounts counts, std::span<const LoadedObject> objects) {
        Look& l = *static_cast<Look*>(context);
        SlotWriter writer;
        l.writer = &writer;
        l.counts = counts;
        l.objects = objects;
        try {
          l.self->look(l);
        } catch (const std::exception&) {  // out of memory: the rest is looked at next time
          l.self->waiting_ = true;
        }
      },
      &look);
  return look.done;
}

std::size_t Imports::give_back() noexcept {
  const std::lock_guard lock(mutex_);
  Look look{this, {}, {}, nullptr, 0};
  const auto restore = [](void* context, LoadCounts counts, std::span<const LoadedObject> objects) {
    Look& l = *static_cast<Look*>(context);
    SlotWriter writer;
    for (Object& o : l.self->objects_) {
      const auto loaded =
          std::find_if(objects.begin(), objects.end(), [&](const auto& x) { return x.base() == o.base; });
      for (Slot& slot : o.slots) {
        const Import& import = l.self->imports_[slot.import];
        if (loaded == objects.end() || !loaded->contains(slot.at) || load(slot.at) != import.ours) continue;
        // The word of an unloaded object says nothing about an object that came to the same place.
        const bool same = counts.unloads == l.self->seen_.unloads && slot.before != nullptr;
        if (writer.store(slot.at, same ? slot.before : import.original, false) == SlotWriter::Outcome::kStored)
          ++l.done;
      }
    }
    l.self->objects_.clear();
    l.self->waiting_ = true;
  };
  for_loaded_objects(restore, &look);
  return look.done;
}

ImportCounts Imports::counts() const {
  const std::lock_guard lock(mutex_);
  ImportCounts counts;
  for (const Object& o : objects_)
    for (const Slot& s : o.slots) {
      counts.taken += s.state == State::kTaken;
      counts.foreign += s.state == State::kForeign;
      counts.waiting += s.state == State::kWaiting;
      counts.failed += s.state == State::kFailed;
    }
  return counts;
}

memory::OwnVector<Imports::Taken> Imports::taken() const {
  const std::lock_guard lock(mutex_);
  memory::OwnVector<Taken> result;
  for (const Object& o : objects_) {
    const auto words =
        std::count_if(o.slots.begin(), o.slots.end(), [](const Slot& s) { return s.state == State::kTaken; });
    if (words > 0) result.push_back({o.name, static_cast<std::size_t>(words)});
  }
  return result;
}

}  // namespace castscope::imports
