//! kernel soft_clip "x / sqrt(1 + (x / limit)^2): bends what comes near the limit"
//! element soft_clip f32 -> f32
//! param limit real 1 0.001 1000 V "what no result exceeds" per_job

// The GPU calls this for every element; the file needs nothing more. A real parameter arrives as
// double, an integer as int64_t, a choice as its index (uint64_t): take it as that, or as what it
// converts to. What a job sends is element after element, and so is what it gets back.
__device__ float soft_clip(float x, float limit) {
  const float part = x / limit;
  return x / sqrtf(1.0f + part * part);
}
