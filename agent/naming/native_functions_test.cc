#include "agent/naming/native_functions.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace castscope::agent {
namespace {

constexpr char kConversion[] = "_ZN2at6native2toEv", kOperator[] = "_ZN2at4_ops10add_Tensor4callEv",
               kTensorIterator[] = "_ZN2at18TensorIteratorBase4castEv";

class Library {
 public:
  Library(const std::string& name, const char* function)
      : handle_(dlopen((std::string(FAKES) + "/lib" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL)),
        // An address within the function, as a return address is.
        inside_(handle_ == nullptr ? nullptr : static_cast<const char*>(dlsym(handle_, function)) + 1) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() { close(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void close() {
    if (handle_ != nullptr) dlclose(handle_);
    handle_ = nullptr;
  }
  const void* inside() const { return inside_; }

 private:
  void* handle_;
  const void* inside_;
};

TEST(NativeFunctions, AreKnownByTheirNames) {
  NativeFunctions functions;
  functions.begin_walk();
  const Library conversion("torch_python_fake", kConversion), op("fake_operator", kOperator),
      iterator("fake_iterator", kTensorIterator);
  EXPECT_TRUE(functions.at(conversion.inside()).is_conversion_itself);
  EXPECT_TRUE(functions.at(conversion.inside()).in_torch_python);
  EXPECT_TRUE(functions.at(conversion.inside()).op.empty());
  EXPECT_EQ(functions.at(op.inside()).op, "add_Tensor");
  EXPECT_FALSE(functions.at(op.inside()).in_torch_python);
  EXPECT_TRUE(functions.at(iterator.inside()).is_tensor_iterator);
  EXPECT_FALSE(functions.at(iterator.inside()).is_conversion_itself);
}

TEST(NativeFunctions, AnAddressInNoLibraryIsNothing) {
  NativeFunctions functions;
  functions.begin_walk();
  const int nowhere = 0;
  EXPECT_TRUE(functions.at(&nowhere).op.empty());
  EXPECT_FALSE(functions.at(nullptr).in_torch_python);
}

// The loader puts a library of the same size where the unloaded one was.
TEST(NativeFunctions, WhatIsLoadedWhereAnotherLibraryWasIsNamedAnew) {
  NativeFunctions functions;
  functions.begin_walk();
  Library first("fake_operator", kOperator);
  ASSERT_EQ(functions.at(first.inside()).op, "add_Tensor");
  first.close();
  const Library second("fake_iterator", kTensorIterator);
  if (second.inside() != first.inside()) GTEST_SKIP() << "the loader has put it elsewhere";
  EXPECT_EQ(functions.at(second.inside()).op, "add_Tensor") << "it was remembered";
  functions.begin_walk();
  EXPECT_TRUE(functions.at(second.inside()).op.empty());
  EXPECT_TRUE(functions.at(second.inside()).is_tensor_iterator);
}

}  // namespace
}  // namespace castscope::agent
