#include "server/rules/evidence/operators/low_kernels.h"

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

// Source: each operator of the float32 list of PyTorch's autocast on the CPU (policies/torch-cpu.json) was tried with
// PyTorch 2.13, with small arguments, outside of autocast: these raise in bfloat16 and in float16 alike, all others
// compute.
constexpr std::string_view kRaise[] = {"_grid_sampler_2d_cpu_fallback",
                                       "_lu_with_info",
                                       "avg_pool3d",
                                       "cdist",
                                       "cholesky",
                                       "cholesky_inverse",
                                       "cholesky_solve",
                                       "ctc_loss",
                                       "fft_fft",
                                       "fft_fft2",
                                       "fft_fftn",
                                       "fft_hfft",
                                       "fft_ifft",
                                       "fft_ifft2",
                                       "fft_ifftn",
                                       "fft_ihfft",
                                       "fft_irfft",
                                       "fft_irfft2",
                                       "fft_irfftn",
                                       "fft_rfft",
                                       "fft_rfft2",
                                       "fft_rfftn",
                                       "geqrf",
                                       "inverse",
                                       "linalg_cholesky",
                                       "linalg_cholesky_ex",
                                       "linalg_cond",
                                       "linalg_eig",
                                       "linalg_eigh",
                                       "linalg_eigvals",
                                       "linalg_eigvalsh",
                                       "linalg_householder_product",
                                       "linalg_inv",
                                       "linalg_inv_ex",
                                       "linalg_lstsq",
                                       "linalg_matrix_rank",
                                       "linalg_qr",
                                       "linalg_solve",
                                       "linalg_svd",
                                       "linalg_svdvals",
                                       "linalg_tensorinv",
                                       "linalg_tensorsolve",
                                       "lu_solve",
                                       "multi_margin_loss",
                                       "multilabel_margin_loss",
                                       "multilabel_margin_loss_forward",
                                       "nanquantile",
                                       "orgqr",
                                       "ormqr",
                                       "pinverse",
                                       "polar",
                                       "qr",
                                       "quantile",
                                       "stft",
                                       "svd",
                                       "triangular_solve"};
// This one raises in bfloat16 alone.
constexpr std::string_view kRaiseInBrain[] = {"view_as_complex"};

}  // namespace

bool raises_in(std::string_view op, std::uint8_t device, std::uint8_t dtype) {
  if (store::device_name(device) != "cpu" || !is_low(dtype)) return false;
  const std::string name = short_name(op);
  return is_one_of(name, kRaise) || (dtype == kBrain && is_one_of(name, kRaiseInBrain));
}

}  // namespace castscope::rules
