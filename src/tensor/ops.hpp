#pragma once

#include "scalecalc/network.hpp"
#include "tensor/tape.hpp"

/// Differentiable operations: each computes its value on the tape's device and appends its
/// backward. Sizes are the caller's promise (check.hpp checks a whole network before anything
/// runs).
namespace scalecalc::tensor {

/// x w (+ bias, when it is not null).
template <class Real>
Variable<Real> linear(Tape<Real>& tape, const Variable<Real>& x, const Variable<Real>& weight,
                      const Variable<Real>* bias);
template <class Real>
Variable<Real> activate(Tape<Real>& tape, ActivationKind kind, const Variable<Real>& x);
/// a x + b f.
template <class Real>
Variable<Real> blend(Tape<Real>& tape, double a, const Variable<Real>& x, double b,
                     const Variable<Real>& f);
/// Layer norm when centred, else rms norm, by row.
template <class Real>
Variable<Real> normalise(Tape<Real>& tape, bool centred, double eps, const Variable<Real>& x);
/// gain x + shift, by column.
template <class Real>
Variable<Real> affine(Tape<Real>& tape, const Variable<Real>& x, const Variable<Real>& gain,
                      const Variable<Real>& shift);
/// The mix of softmax attention (before the output projection).
template <class Real>
Variable<Real> attend(Tape<Real>& tape, const AttentionShape& shape, const Variable<Real>& q,
                      const Variable<Real>& k, const Variable<Real>& v);
/// Rows of the table; ids is a column of row numbers.
template <class Real>
Variable<Real> embed(Tape<Real>& tape, const Variable<Real>& table,
                     const Tensor<std::int32_t>& ids);
/// -ln softmax(logits)[target], summed over tokens or their mean.
template <class Real>
double cross_entropy(Tape<Real>& tape, const Variable<Real>& logits,
                     const Tensor<std::int32_t>& targets, Reduction reduction);

/// The kernel of an activation. Throws Error(input) for one that the passes do not have.
ActivationKind activation_kind(const std::string& function, const std::string& where);

}  // namespace scalecalc::tensor
