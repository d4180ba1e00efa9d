#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scalecalc/export.hpp"
#include "weights/safetensors.hpp"

namespace scalecalc::export_room {

/// Throws Error(input) for a dtype that is none.
weights::WriteOptions file_options(const WeightOptions& options);

/// Writes tensors that have a name and a shape, with values from `source.fill`, weights::Fill.
template <class Tensor, class Source>
void write_tensors(const std::string& path, const std::vector<Tensor>& tensors, Source& source,
                   const WeightOptions& options) {
  std::vector<weights::Outline> outlines;
  for (const Tensor& tensor : tensors) outlines.push_back({tensor.name, tensor.shape});
  weights::write(
      path, outlines,
      [&source](std::size_t index, std::int64_t first, std::int64_t count, float* values) {
        source.fill(index, first, count, values);
      },
      file_options(options));
}

}  // namespace scalecalc::export_room
