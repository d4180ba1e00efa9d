#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scalecalc/verify.hpp"

namespace scalecalc {

/// The models of a sweep, one a size, rising, each size once. Throws Error(input) for sizes that
/// are out of range, and as scale_width() does.
std::vector<ModelSpec> sweep_models(const SweepOptions& options);
/// Its sizes, without a value.
SweepPoint sweep_point(const ModelSpec& model, const SweepOptions& options);
/// "N = 8", "width = 64".
std::string size_text(const SweepPoint& point);
/// Depth times squared width, which the work of a pass goes with, of the first as 1 a layer.
double relative_work(const ModelSpec& model, const ModelSpec& first);

}  // namespace scalecalc
