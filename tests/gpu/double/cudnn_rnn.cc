// cuDNN's double: RNNs. The buffer of weights is laid out as in cuDNN for its standard algorithm: for each layer and
// direction the matrices of all gates, first those for the input, then those for the hidden state, then the
// projection's; all biases follow behind them, in the same order.
#include <string>

#include "cudnn_descriptors.h"
#include "gemm.h"

using namespace nogpu;

namespace {

int64_t gates(const RnnDescriptor& rnn) { return rnn.mode == CUDNN_LSTM ? 4 : rnn.mode == CUDNN_GRU ? 3 : 1; }
int64_t directions(const RnnDescriptor& rnn) { return rnn.direction == CUDNN_BIDIRECTIONAL ? 2 : 1; }
bool has_projection(const RnnDescriptor& rnn) { return rnn.projected != rnn.hidden; }

struct Matrix {
  int64_t offset = 0, rows = 0, columns = 0;
  int64_t elements() const { return rows * columns; }
};

// `layer` counts each direction; `id` is that of a gate's matrix: for the input, for the hidden state, or the
// projection.
Matrix matrix_of(const RnnDescriptor& rnn, int64_t layer, int64_t id) {
  Matrix matrix;
  const int64_t ids = 2 * gates(rnn) + (has_projection(rnn) ? 1 : 0);
  for (int64_t at = 0; at <= layer; ++at)
    for (int64_t i = 0; i < (at == layer ? id + 1 : ids); ++i) {
      matrix.offset += matrix.elements();
      const int64_t input = at < directions(rnn) ? rnn.input : rnn.projected * directions(rnn);
      if (i == 2 * gates(rnn))
        matrix = {matrix.offset, rnn.projected, rnn.hidden};
      else
        matrix = {matrix.offset, rnn.hidden, i < gates(rnn) ? input : rnn.projected};
    }
  return matrix;
}

int64_t elements_of_matrices(const RnnDescriptor& rnn) {
  const Matrix last = matrix_of(rnn, rnn.layers * directions(rnn) - 1, 2 * gates(rnn) - (has_projection(rnn) ? 0 : 1));
  return last.offset + last.elements();
}

Matrix bias_of(const RnnDescriptor& rnn, int64_t layer, int64_t id) {
  return {elements_of_matrices(rnn) + (layer * 2 * gates(rnn) + id) * rnn.hidden, rnn.hidden, 1};
}

int64_t element_bytes(cudnnDataType_t type) { return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2; }

void* place(const RnnDescriptor& rnn, const void* space, const Matrix& matrix, cudnnTensorDescriptor_t descriptor) {
  TensorDescriptor& told = *behind(descriptor);
  told.type = rnn.type;
  told.dimensions = 3;
  told.sizes = {1, static_cast<int>(matrix.rows), static_cast<int>(matrix.columns)};
  told.strides = {static_cast<int>(matrix.elements()), static_cast<int>(matrix.columns), 1};
  char* const begin = static_cast<char*>(const_cast<void*>(space));
  return begin + matrix.offset * element_bytes(rnn.type);
}

const char* dtype_name(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return "f16";
    case CUDNN_DATA_BFLOAT16:
      return "bf16";
    case CUDNN_DATA_FLOAT:
      return "f32";
    case CUDNN_DATA_DOUBLE:
      return "f64";
    default:
      return "other";
  }
}

// Each call is one kernel: nogpu_cudnn_rnn_forward_lstm_f16.
cudnnStatus_t launch(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, cudnnRNNDataDescriptor_t data,
                     const char* what) {
  const RnnDescriptor& rnn = *behind(descriptor);
  const char* mode = rnn.mode == CUDNN_LSTM ? "lstm" : rnn.mode == CUDNN_GRU ? "gru" : "rnn";
  const std::string name = std::string("nogpu_cudnn_rnn_") + what + "_" + mode + "_" + dtype_name(rnn.type);
  const int64_t blocks = rnn.layers * directions(rnn) * behind(data)->length;
  launch_named(name, static_cast<uint64_t>(blocks), behind(handle)->stream);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t, cudnnRNNMode_t mode,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction, cudnnRNNInputMode_t,
                                       cudnnDataType_t type, cudnnDataType_t, cudnnMathType_t, int32_t input,
                                       int32_t hidden, int32_t projected, int32_t layers, cudnnDropoutDescriptor_t,
                                       uint32_t) {
  // PyTorch makes cuDNN keep both biases, and passes zeros where a module has none.
  if (bias != CUDNN_RNN_DOUBLE_BIAS) return CUDNN_STATUS_NOT_SUPPORTED;
  if (input < 1 || hidden < 1 || projected < 1 || layers < 1) return CUDNN_STATUS_BAD_PARAM;
  *behind(rnn) = {mode, direction, type, input, hidden, projected, layers};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t, cudnnRNNDataLayout_t,
                                        int length, int batch, int width, const int[], void*) {
  *behind(data) = {length, batch, width};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t descriptor, size_t* bytes) {
  const RnnDescriptor& rnn = *behind(descriptor);
  const Matrix behind_all = bias_of(rnn, rnn.layers * directions(rnn), 0);
  *bytes = static_cast<size_t>(behind_all.offset * element_bytes(rnn.type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t descriptor, int32_t layer, size_t,
                                      const void* space, int32_t id, cudnnTensorDescriptor_t matrix, void** matrix_at,
                                      cudnnTensorDescriptor_t bias, void** bias_at) {
  const RnnDescriptor& rnn = *behind(descriptor);
  const bool is_projection = id == 8 && has_projection(rnn);
  if (layer < 0 || layer >= rnn.layers * directions(rnn) || id < 0) return CUDNN_STATUS_BAD_PARAM;
  if (id >= 2 * gates(rnn) && !is_projection) return CUDNN_STATUS_BAD_PARAM;
  if (matrix != nullptr) *matrix_at = place(rnn, space, matrix_of(rnn, layer, id), matrix);
  if (bias != nullptr) *bias_at = is_projection ? nullptr : place(rnn, space, bias_of(rnn, layer, id), bias);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t descriptor, cudnnForwardMode_t,
                                        cudnnRNNDataDescriptor_t data, size_t* work, size_t* reserve) {
  const RnnDescriptor& rnn = *behind(descriptor);
  const int64_t states = behind(data)->length * behind(data)->batch * rnn.hidden * rnn.layers * directions(rnn);
  const auto bytes = static_cast<size_t>(states * element_bytes(rnn.type));
  if (work != nullptr) *work = bytes;
  if (reserve != nullptr) *reserve = bytes;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t, const int32_t[],
                              cudnnRNNDataDescriptor_t x, const void*, cudnnRNNDataDescriptor_t, void*,
                              cudnnTensorDescriptor_t, const void*, void*, cudnnTensorDescriptor_t, const void*, void*,
                              size_t, const void*, size_t, void*, size_t, void*) {
  return launch(handle, rnn, x, "forward");
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, const int32_t[],
                                      cudnnRNNDataDescriptor_t, const void*, const void*, cudnnRNNDataDescriptor_t x,
                                      void*, cudnnTensorDescriptor_t, const void*, const void*, void*,
                                      cudnnTensorDescriptor_t, const void*, const void*, void*, size_t, const void*,
                                      size_t, void*, size_t, void*) {
  return launch(handle, rnn, x, "backward_data");
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, cudnnWgradMode_t,
                                         const int32_t[], cudnnRNNDataDescriptor_t x, const void*,
                                         cudnnTensorDescriptor_t, const void*, cudnnRNNDataDescriptor_t, const void*,
                                         size_t, void*, size_t, void*, size_t, void*) {
  return launch(handle, rnn, x, "backward_weights");
}
