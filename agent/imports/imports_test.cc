#include "agent/imports/imports.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace castscope::imports {
namespace {

using Function = int (*)(int, int);
enum : std::size_t { kMultiply, kAdd };

std::atomic<int> g_calls{0};
template <std::size_t I>
int counted(int a, int b);

// As in the agent, these stay for good: a thread may still be in one of our functions.
Import g_imports[] = {{"fakeblasMultiply", reinterpret_cast<void*>(&counted<kMultiply>)},
                      {"fakeblasAdd", reinterpret_cast<void*>(&counted<kAdd>)}};
template <std::size_t I>
int counted(int a, int b) {
  ++g_calls;
  return reinterpret_cast<Function>(original_of(g_imports[I]))(a, b);
}

class Library {
 public:
  explicit Library(const std::string& name, int flags = RTLD_NOW)
      : handle_(dlopen((std::string(FAKES) + "/lib" + name + ".so").c_str(), flags | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() { close(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void close() {
    if (handle_ != nullptr) dlclose(handle_);
    handle_ = nullptr;
  }
  template <typename F = Function>
  F function(const char* name) const {
    return reinterpret_cast<F>(dlsym(handle_, name));
  }
  int call(const char* name, int a, int b) const { return function(name)(a, b); }
  Address base() const {
    const link_map* map = nullptr;
    dlinfo(handle_, RTLD_DI_LINKMAP, &map);
    return map->l_addr;
  }

 private:
  void* handle_;
};

// Calls the function, and tells whether ours was called on the way.
testing::AssertionResult leads_to_ours(const Library& user, const char* name) {
  const int before = g_calls;
  const int result = user.call(name, 6, 7);
  if (result % 1000 != 42 && result % 1000 != 13) return testing::AssertionFailure() << name << " gives " << result;
  if (g_calls == before) return testing::AssertionFailure() << name << " is not ours";
  return testing::AssertionSuccess() << name << " is ours";
}

// The protection of the pages that hold an object's words: begin of the page → protection.
std::vector<std::pair<Address, int>> protections(const Library& user) {
  struct Question {
    Address base;
    std::vector<Address> slots;
  } question{user.base(), {}};
  for_loaded_objects(
      [](void* context, LoadCounts, std::span<const LoadedObject> objects) {
        Question& q = *static_cast<Question*>(context);
        for (const LoadedObject& o : objects)
          if (o.base() == q.base) o.each_slot([&](Address at, std::uint32_t) { q.slots.push_back(at); });
      },
      &question);
  std::vector<std::pair<Address, int>> result;
  for (const Address slot : question.slots) {
    Mapping mapping;
    EXPECT_TRUE(mapping_of(slot, &mapping));
    result.emplace_back(slot, mapping.protection);
  }
  return result;
}

class ImportsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (Import& import : g_imports) import.original = nullptr;
  }
  void TearDown() override { imports_.give_back(); }
  Imports imports_{g_imports};
};

TEST_F(ImportsTest, EveryWayOfCallingLeadsToOursAndBack) {
  const Library user("user_now");
  EXPECT_GE(imports_.take(), 4u);
  EXPECT_TRUE(leads_to_ours(user, "call_multiply"));
  EXPECT_TRUE(leads_to_ours(user, "call_add"));
  EXPECT_TRUE(leads_to_ours(user, "call_by_table"));
  const auto address = user.function<Function (*)()>("address_of_add");
  EXPECT_EQ(reinterpret_cast<void*>(address()), g_imports[kAdd].ours);
  const std::size_t taken = imports_.counts().taken;
  EXPECT_EQ(imports_.give_back(), taken);
  EXPECT_FALSE(leads_to_ours(user, "call_multiply"));
  EXPECT_FALSE(leads_to_ours(user, "call_by_table"));
  EXPECT_NE(reinterpret_cast<void*>(address()), g_imports[kAdd].ours);
}

TEST_F(ImportsTest, PagesAreAsWritableAsBefore) {
  const Library user("user_now");
  const auto before = protections(user);
  ASSERT_FALSE(before.empty());
  for (const auto& [slot, protection] : before) EXPECT_EQ(protection, PROT_READ) << "-z now and relro are not in force";
  imports_.take();
  ASSERT_TRUE(leads_to_ours(user, "call_add"));
  EXPECT_EQ(protections(user), before);
  imports_.give_back();
  EXPECT_EQ(protections(user), before);
}

TEST_F(ImportsTest, AWordThatIsNotBoundYetIsTakenWithoutBindingIt) {
  const Library user("user_lazy", RTLD_LAZY);
  imports_.take();
  EXPECT_TRUE(leads_to_ours(user, "call_multiply"));
  imports_.give_back();  // to the stub, which asks the linker
  EXPECT_FALSE(leads_to_ours(user, "call_multiply"));
}

TEST_F(ImportsTest, AWordThatTheLinkerBoundOverOursIsTakenAgain) {
  const Library user("user_lazy", RTLD_LAZY);
  imports_.take();
  Imports as_the_linker{g_imports};  // puts the function there, as if its binding had begun before ours
  as_the_linker.take();
  as_the_linker.give_back();
  ASSERT_FALSE(leads_to_ours(user, "call_multiply"));
  EXPECT_GE(imports_.take(), 1u);
  EXPECT_TRUE(leads_to_ours(user, "call_multiply"));
}

TEST_F(ImportsTest, NothingIsDoneTwice) {
  const Library user("user_now");
  ASSERT_GT(imports_.take(), 0u);
  const std::size_t taken = imports_.counts().taken;
  EXPECT_EQ(imports_.take(), 0u);
  EXPECT_EQ(imports_.counts().taken, taken);
}

TEST_F(ImportsTest, WhatIsLoadedLaterIsTakenToo) {
  const Library user("user_now");
  imports_.take();
  const Library later("user_later");
  EXPECT_FALSE(leads_to_ours(later, "call_add"));
  EXPECT_GT(imports_.take(), 0u);
  EXPECT_TRUE(leads_to_ours(later, "call_add"));
  EXPECT_TRUE(leads_to_ours(user, "call_add"));
}

TEST_F(ImportsTest, AnotherCopyOfTheLibraryIsLeftAlone) {
  const Library user("user_now");
  const Library other("user_other");
  imports_.take();
  EXPECT_TRUE(leads_to_ours(user, "call_add"));
  EXPECT_FALSE(leads_to_ours(other, "call_add"));
  EXPECT_EQ(other.call("call_multiply", 6, 7), 1042);
  EXPECT_GT(imports_.counts().foreign, 0u);
}

TEST_F(ImportsTest, OfTwoCopiesItIsPyTorchsThatCounts) {
  const Library user("user_now");
  const Library torch("torch_double");
  imports_.take();
  EXPECT_TRUE(leads_to_ours(torch, "call_add"));
  EXPECT_FALSE(leads_to_ours(user, "call_add"));
}

TEST_F(ImportsTest, AnUnboundWordWaitsWhereTwoCopiesHaveTheFunction) {
  const Library other("user_other");
  const Library user("user_lazy", RTLD_LAZY);
  g_imports[kMultiply].original = reinterpret_cast<void*>(user.function("fakeblasMultiply"));
  g_imports[kAdd].original = reinterpret_cast<void*>(user.function("fakeblasAdd"));
  imports_.take();
  EXPECT_GT(imports_.counts().waiting, 0u);
  EXPECT_FALSE(leads_to_ours(user, "call_add"));  // this call binds it
  EXPECT_GT(imports_.take(), 0u);
  EXPECT_TRUE(leads_to_ours(user, "call_add"));
}

TEST_F(ImportsTest, WhatWasUnloadedIsNotWrittenTo) {
  const Library user("user_now");
  Library later("user_later");
  imports_.take();
  later.close();
  EXPECT_GT(imports_.give_back(), 0u);
  EXPECT_FALSE(leads_to_ours(user, "call_add"));
}

TEST_F(ImportsTest, WhatWasUnloadedAndLoadedAnewIsTakenAnew) {
  Library later("user_later");
  imports_.take();
  later.close();
  const Library again("user_later");
  EXPECT_FALSE(leads_to_ours(again, "call_add"));
  EXPECT_GT(imports_.take(), 0u);
  EXPECT_TRUE(leads_to_ours(again, "call_add"));
}

TEST_F(ImportsTest, ObjectsThatHaveTakenWordsAreNamed) {
  const Library user("user_now");
  imports_.take();
  const auto taken = imports_.taken();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].object, "libuser_now.so");
  EXPECT_EQ(taken[0].words, imports_.counts().taken);
}

TEST_F(ImportsTest, WhatALibraryCallsOfItsOwnIsTakenWhereThatIsWanted) {
  const Library library("fakeblas");
  imports_.take();
  EXPECT_FALSE(leads_to_ours(library, "fakeblas_call_add"));
  g_imports[kAdd].own_calls = true;
  Imports with_own_calls{g_imports};
  EXPECT_EQ(with_own_calls.take(), 1u);
  EXPECT_TRUE(leads_to_ours(library, "fakeblas_call_add"));
  EXPECT_EQ(with_own_calls.give_back(), 1u);
  EXPECT_FALSE(leads_to_ours(library, "fakeblas_call_add"));
  g_imports[kAdd].own_calls = false;
}

TEST_F(ImportsTest, ThreadsCallOnWhileWordsChange) {
  const Library user("user_now");
  const Library lazy("user_lazy", RTLD_LAZY);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, rounds{0};
  const auto work = [&] {
    const Function calls[] = {user.function("call_multiply"), user.function("call_by_table"),
                              lazy.function("call_multiply")};
    while (!stop) {
      for (const Function call : calls) wrong += call(6, 7) != 42;
      ++rounds;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  const int before = g_calls;
  for (int i = 0; i < 100 || g_calls == before; ++i) {
    EXPECT_GT(imports_.take(), 0u);
    for (const int at = rounds; rounds == at;) std::this_thread::yield();
    EXPECT_GT(imports_.give_back(), 0u);
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(g_calls, before);
  EXPECT_FALSE(leads_to_ours(user, "call_multiply"));
}

#ifdef __SANITIZE_THREAD__
constexpr int kComings = 10;  // ThreadSanitizer looks through all that is mapped each time
#else
constexpr int kComings = 300;
#endif

TEST_F(ImportsTest, ObjectsComeAndGoMeanwhile) {
  const Library user("user_now");
  std::atomic<bool> over{false};
  std::atomic<int> wrong{0};
  std::thread loader([&] {
    for (int i = 0; i < kComings; ++i) {
      const Library later("user_later");
      const Library lazy("user_lazy", RTLD_LAZY);
      wrong += later.call("call_by_table", 6, 7) != 42;
      wrong += lazy.call("call_multiply", 6, 7) != 42;
    }
    over = true;
  });
  std::size_t taken = 0;
  for (int i = 0; !over; ++i) {
    taken += imports_.take();
    if (i % 2 == 1) imports_.give_back();
  }
  loader.join();
  imports_.take();
  EXPECT_TRUE(leads_to_ours(user, "call_by_table"));
  imports_.give_back();
  EXPECT_FALSE(leads_to_ours(user, "call_by_table"));
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(taken, 0u);
  EXPECT_EQ(imports_.counts().failed, 0u);
}

TEST(LoadedObjectsTest, AFunctionIsFoundBesideAnother) {
  const Library user("user_now");
  const Library other("user_other");
  void* const add = reinterpret_cast<void*>(user.function("fakeblasAdd"));
  EXPECT_EQ(function_beside(reinterpret_cast<void*>(user.function("fakeblasMultiply")), "fakeblasAdd"), add);
  void* const of_other = reinterpret_cast<void*>(other.function("fakeblasMultiply"));
  EXPECT_EQ(function_beside(of_other, "fakeblasAdd"), reinterpret_cast<void*>(other.function("fakeblasAdd")));
  EXPECT_EQ(function_beside(of_other, "fakeblasDivide"), nullptr);
  EXPECT_EQ(function_beside(nullptr, "fakeblasAdd"), nullptr);
}

TEST(LoadedObjectsTest, DefinitionsAreThoseThatTheLinkerKnows) {
  void* const libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(libc, nullptr) << dlerror();
  for (const char* name : {"open", "mprotect", "qsort", "getenv", "pthread_create", "nonsense"})
    EXPECT_EQ(function_beside(dlsym(libc, "mmap"), name), dlsym(libc, name)) << name;
  dlclose(libc);
}

TEST(SlotWriterTest, FindsTheMappingOfEveryAddress) {
  // Many mappings, so that some lines of the file lie across two reads.
  constexpr std::size_t kPages = 400, kPage = 4096;
  char* const memory = static_cast<char*>(mmap(nullptr, kPages * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  for (std::size_t i = 0; i < kPages; i += 2) mprotect(memory + i * kPage, kPage, PROT_READ);
  for (std::size_t i = 0; i < kPages; ++i) {
    Mapping mapping;
    ASSERT_TRUE(mapping_of(reinterpret_cast<std::uintptr_t>(memory) + i * kPage + 8, &mapping));
    EXPECT_EQ(mapping.protection, i % 2 == 0 ? PROT_READ : PROT_NONE);
  }
  munmap(memory, kPages * kPage);
  Mapping mapping;
  EXPECT_FALSE(mapping_of(8, &mapping));
}

TEST(SlotWriterTest, APageThatTheLinkerIsAtWorkInIsNotWrittenTo) {
  void* word = nullptr;
  SlotWriter writer;
  const auto at = reinterpret_cast<std::uintptr_t>(&word);
  EXPECT_EQ(writer.store(at, &word, true), SlotWriter::Outcome::kNotYet);
  EXPECT_EQ(word, nullptr);
  EXPECT_EQ(writer.store(at, &word, false), SlotWriter::Outcome::kStored);
  EXPECT_EQ(word, &word);
  EXPECT_EQ(writer.store(8, &word, false), SlotWriter::Outcome::kFailed);
  EXPECT_EQ(writer.store(at + 1, &word, false), SlotWriter::Outcome::kFailed);
}

}  // namespace
}  // namespace castscope::imports
