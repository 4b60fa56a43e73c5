// cuDNN's double: handles, versions, and the descriptors that have nothing to do with RNNs.
#include <algorithm>

#include "cudnn_descriptors.h"
#include "device.h"
#include "gemm.h"

using namespace nogpu;

namespace {

template <typename Descriptor>
cudnnStatus_t make(Descriptor* descriptor) {
  *descriptor = reinterpret_cast<Descriptor>(new std::remove_pointer_t<decltype(behind(*descriptor))>);
  return CUDNN_STATUS_SUCCESS;
}

template <typename Descriptor>
cudnnStatus_t unmake(Descriptor descriptor) {
  delete behind(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_dropout(cudnnHandle_t handle, void* states) {
  // Without states there is no dropout.
  if (states != nullptr) launch_named("nogpu_cudnn_dropout_states", 1, behind(handle)->stream);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetCudartVersion() { return CUDART_VERSION; }

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? CUDNN_MAJOR : type == MINOR_VERSION ? CUDNN_MINOR : CUDNN_PATCHLEVEL;
  return CUDNN_STATUS_SUCCESS;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "refused by cuDNN's double";
}

void cudnnGetLastErrorString(char* message, size_t size) {
  if (size > 0) message[0] = '\0';
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  context_of(current_device());
  return make(handle);
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return unmake(handle); }

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  behind(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = behind(handle)->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) { return make(tensor); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) { return unmake(tensor); }

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int dimensions,
                                         const int sizes[], const int strides[]) {
  if (dimensions < 1 || dimensions > CUDNN_DIM_MAX) return CUDNN_STATUS_BAD_PARAM;
  *behind(tensor) = {type, dimensions, {}, {}};
  std::copy_n(sizes, dimensions, behind(tensor)->sizes.begin());
  std::copy_n(strides, dimensions, behind(tensor)->strides.begin());
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int wanted, cudnnDataType_t* type,
                                         int* dimensions, int sizes[], int strides[]) {
  const TensorDescriptor& known = *behind(tensor);
  *type = known.type;
  *dimensions = known.dimensions;
  std::copy_n(known.sizes.begin(), std::min(wanted, known.dimensions), sizes);
  std::copy_n(known.strides.begin(), std::min(wanted, known.dimensions), strides);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* dropout) { return make(dropout); }
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropout) { return unmake(dropout); }

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t, size_t* bytes) {
  *bytes = 1 << 20;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t, cudnnHandle_t handle, float, void* states, size_t,
                                        unsigned long long) {
  return set_dropout(handle, states);
}

// The states already exist.
cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t, cudnnHandle_t, float, void*, size_t,
                                            unsigned long long) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* rnn) { return make(rnn); }
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t rnn) { return unmake(rnn); }
cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* data) { return make(data); }
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t data) { return unmake(data); }
