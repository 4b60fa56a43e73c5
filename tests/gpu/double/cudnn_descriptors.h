// The data behind the handles and descriptors of cuDNN's double.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>

namespace nogpu {

struct DnnHandle {
  cudaStream_t stream = nullptr;
};

struct TensorDescriptor {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int dimensions = 0;
  std::array<int, CUDNN_DIM_MAX> sizes{}, strides{};
};

struct RnnDescriptor {
  cudnnRNNMode_t mode = CUDNN_LSTM;
  cudnnDirectionMode_t direction = CUDNN_UNIDIRECTIONAL;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int64_t input = 0, hidden = 0, projected = 0, layers = 0;
};

struct RnnDataDescriptor {
  int64_t length = 0, batch = 0, width = 0;
};

// In cuDNN it has the states of a generator of random numbers; there is none here.
struct DropoutDescriptor {};

inline DnnHandle* behind(cudnnHandle_t handle) { return reinterpret_cast<DnnHandle*>(handle); }
inline TensorDescriptor* behind(cudnnTensorDescriptor_t d) { return reinterpret_cast<TensorDescriptor*>(d); }
inline RnnDescriptor* behind(cudnnRNNDescriptor_t d) { return reinterpret_cast<RnnDescriptor*>(d); }
inline RnnDataDescriptor* behind(cudnnRNNDataDescriptor_t d) { return reinterpret_cast<RnnDataDescriptor*>(d); }
inline DropoutDescriptor* behind(cudnnDropoutDescriptor_t d) { return reinterpret_cast<DropoutDescriptor*>(d); }

}  // namespace nogpu
