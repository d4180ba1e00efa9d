#pragma once

/// Marks what a CUDA compiler makes for both sides and another compiler for the host.
#ifdef __CUDACC__
#define SCALECALC_HOST_DEVICE __host__ __device__
#else
#define SCALECALC_HOST_DEVICE
#endif
