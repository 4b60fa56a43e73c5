// Two operators as a detection library has them: one casts to float32 and its result back, the other casts to the
// region's dtype. Their kernels on the Autocast key call at::autocast::cached_cast from this library.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace {

constexpr auto kCpu = c10::DeviceType::CPU;

at::Tensor pool_to_float(const at::Tensor& features, const at::Tensor& rois) {
  return at::matmul(features, rois.t()).relu();
}

at::Tensor mix(const at::Tensor& input, const at::Tensor& rois, const at::Tensor& weight) {
  return at::matmul(at::matmul(input, weight), rois.t());
}

at::Tensor pool_to_float_autocast(const at::Tensor& features, const at::Tensor& rois) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  return pool_to_float(at::autocast::cached_cast(at::kFloat, features, kCpu),
                       at::autocast::cached_cast(at::kFloat, rois, kCpu))
      .to(features.scalar_type());
}

at::Tensor mix_autocast(const at::Tensor& input, const at::Tensor& rois, const at::Tensor& weight) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  const auto dtype = at::autocast::get_autocast_dtype(kCpu);
  return mix(at::autocast::cached_cast(dtype, input, kCpu), at::autocast::cached_cast(dtype, rois, kCpu),
             at::autocast::cached_cast(dtype, weight, kCpu));
}

}  // namespace

TORCH_LIBRARY(castscope_tests, m) {
  m.def("pool_to_float(Tensor features, Tensor rois) -> Tensor", pool_to_float);
  m.def("mix(Tensor input, Tensor rois, Tensor weight) -> Tensor", mix);
}

TORCH_LIBRARY_IMPL(castscope_tests, AutocastCPU, m) {
  m.impl("pool_to_float", pool_to_float_autocast);
  m.impl("mix", mix_autocast);
}
