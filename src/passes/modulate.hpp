#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/ops.hpp"

/// What a vector of each sample makes of all of its tokens.
namespace scalecalc::passes {

/// Of each sample its row of `made`, for all of its tokens.
template <class Real>
tensor::Variable<Real> for_tokens(tensor::Tape<Real>& tape, const tensor::Variable<Real>& made,
                                  std::int64_t tokens) {
  std::vector<std::int32_t> samples(static_cast<std::size_t>(made.value.rows() * tokens));
  for (std::size_t row = 0; row < samples.size(); ++row)
    samples[row] = static_cast<std::int32_t>(static_cast<std::int64_t>(row) / tokens);
  return embed(tape, made, tape.indices(samples));
}

/// x s, or with a shift x (1 + s) + t; s and t are of samples.
template <class Real>
tensor::Variable<Real> modulate(tensor::Tape<Real>& tape, const tensor::Variable<Real>& x,
                                std::int64_t tokens, const tensor::Variable<Real>& factor,
                                const tensor::Variable<Real>* shift) {
  const tensor::Variable<Real> product = multiply(tape, x, for_tokens(tape, factor, tokens));
  if (shift == nullptr) return product;
  return blend(tape, 1.0, blend(tape, 1.0, x, 1.0, product), 1.0, for_tokens(tape, *shift, tokens));
}

}  // namespace scalecalc::passes
