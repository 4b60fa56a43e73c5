// libcuda for tests: whether its one device has a context.
namespace {
int active = 0;
}

extern "C" {
int* cuda_double_active() { return &active; }

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = active;
  return device == 0 ? 0 : 101;
}
}
