#include "agent/gpu/device_names.h"

#include <dlfcn.h>

namespace castscope::gpu {
namespace {

constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_…

struct Driver {
  int (*count)(int*) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
};

}  // namespace

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return names;
  Driver driver;
  driver.count = reinterpret_cast<decltype(driver.count)>(dlsym(library, "cuDeviceGetCount"));
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, "cuDeviceGetName"));
  driver.attribute = reinterpret_cast<decltype(driver.attribute)>(dlsym(library, "cuDeviceGetAttribute"));
  int count = 0;
  if (driver.count == nullptr || driver.name == nullptr || driver.attribute == nullptr || driver.count(&count) != 0)
    count = 0;
  for (int device = 0; device < count; ++device) {
    char name[128] = "";
    int major = 0, minor = 0;
    if (driver.name(name, sizeof name, device) != 0) continue;
    driver.attribute(&major, kMajor, device);
    driver.attribute(&minor, kMinor, device);
    names.push_back(std::to_string(device) + " " + name + ", compute capability " + std::to_string(major) + "." +
                    std::to_string(minor));
  }
  dlclose(library);
  return names;
}

}  // namespace castscope::gpu
