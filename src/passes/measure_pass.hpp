#pragma once

#include <string>
#include <vector>

#include "passes/model.hpp"

namespace scalecalc::passes {

struct SiteName {
  std::string path;
  const char* kind = "";
  std::int64_t width = 0, tokens = 0;
};
struct MeasuredParameter {
  double second = 0.0, grad_second = 0.0;
};
/// One forward and backward pass, measured at every site and parameter.
struct MeasuredPass {
  std::vector<SiteName> names;
  std::vector<tensor::Moments> values, gradients;  ///< by site; a gradient is 0 where none arrives
  std::vector<MeasuredParameter> parameters;
  double loss = 0.0;
};

/// `between` is called now and then with the share that is done, and may throw to end the pass.
template <class Real>
MeasuredPass measure_pass(std::shared_ptr<const Plan> plan, std::uint64_t seed,
                          std::shared_ptr<tensor::Device<Real>> device, bool recompute,
                          const std::function<void(double)>& between);

}  // namespace scalecalc::passes
