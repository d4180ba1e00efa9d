#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "weights/safetensors.hpp"

namespace scalecalc::test {

/// All values of the tensor of that name in a file.
inline std::vector<double> tensor_values(const weights::Reader& file, const std::string& name) {
  for (const weights::Tensor& tensor : file.tensors()) {
    if (tensor.name != name) continue;
    std::vector<double> values(static_cast<std::size_t>(tensor.elements));
    file.read(tensor, 0, tensor.elements, values.data());
    return values;
  }
  FAIL("no tensor " << name);
  return {};
}

}  // namespace scalecalc::test
