//! kernel row_sums "sums rows of 1024 f32, each scaled by the table's 1024 weights"
//! batch row_sums
//! granule 4096
//! output 1/1024
//! threads 256
//! block_bytes 4096
//! table 4096 "1024 f32: the weight of each column"
//! param bias real 0 any any - "added to every sum"

// One launch for the whole batch: jobs in y, blocks in x. A block takes row after row of its job, and
// every block counts with jobs that are longer, shorter or empty.
__global__ void __launch_bounds__(256)
    row_sums(const __grid_constant__ overlap::Batch batch, double bias) {
  constexpr uint32_t kColumns = 1024;
  __shared__ float parts[8];
  for (uint32_t index = blockIdx.y; index < batch.count; index += gridDim.y) {
    const overlap::Item item = batch.item_for_block(index);
    const float4* const weights = static_cast<const float4*>(item.table);
    const float4 weight = weights[threadIdx.x];
    const uint64_t rows = item.input_bytes / (kColumns * sizeof(float));
    for (uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
      const float4* const columns = static_cast<const float4*>(item.input) + row * kColumns / 4;
      const float4 value = columns[threadIdx.x];
      float sum = value.x * weight.x + value.y * weight.y + value.z * weight.z + value.w * weight.w;
      for (int distance = 16; distance != 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
      }
      __syncthreads();
      if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = sum;
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        float total = static_cast<float>(bias);
        for (const float part : parts) {
          total += part;
        }
        static_cast<float*>(item.output)[row] = total;
      }
    }
  }
}
