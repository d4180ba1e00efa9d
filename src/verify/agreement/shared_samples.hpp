#pragma once

#include <functional>

#include "scalecalc/passes.hpp"
#include "scalecalc/verify.hpp"

namespace scalecalc {

/// sample_passes() over the seeds of `options`, each rank a run of them; all ranks get all samples,
/// in the order of one process. `progress` is told of this rank's share.
PassSamples shared_samples(const Network& network, const VerifyOptions& options,
                           const std::function<bool(double done)>& progress);

}  // namespace scalecalc
