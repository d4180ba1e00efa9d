#pragma once

#include <vector>

#include "scalecalc/network.hpp"
#include "tensor/functions.hpp"
#include "tensor/tape.hpp"

/// Differentiable operations: each computes its value on the tape's device and appends its
/// backward. Sizes are the caller's promise (check.hpp checks a whole network before anything
/// runs).
namespace scalecalc::tensor {

/// x w (+ bias, when it is not null).
template <class Real>
Variable<Real> linear(Tape<Real>& tape, const Variable<Real>& x, const Variable<Real>& weight,
                      const Variable<Real>* bias);
/// x table^T (+ bias), of a table with a row for each output.
template <class Real>
Variable<Real> linear_by_rows(Tape<Real>& tape, const Variable<Real>& x,
                              const Variable<Real>& table, const Variable<Real>* bias);
/// The same as linear() followed by an activation, in one go.
template <class Real>
struct Activated {
  Variable<Real> before, after;
};
template <class Real>
Activated<Real> linear_activated(Tape<Real>& tape, const PointFunction& phi,
                                 const Variable<Real>& x, const Variable<Real>& weight,
                                 const Variable<Real>* bias);
template <class Real>
Variable<Real> convolve(Tape<Real>& tape, const ConvShape& shape, const Variable<Real>& x,
                        const Variable<Real>& weight, const Variable<Real>* bias);
/// The transposed convolution of `shape`, which is of its input: the image that leaves is of
/// `height` x `width`. The weight is as in ConvShape.
template <class Real>
Variable<Real> convolve_transposed(Tape<Real>& tape, const ConvShape& shape, std::int64_t height,
                                   std::int64_t width, const Variable<Real>& x,
                                   const Variable<Real>& weight, const Variable<Real>* bias);
/// Each position of an image factor x factor times.
template <class Real>
Variable<Real> upsample(Tape<Real>& tape, const UpsampleShape& shape, const Variable<Real>& x);
/// The columns of a and behind them those of b.
template <class Real>
Variable<Real> concat(Tape<Real>& tape, const Variable<Real>& a, const Variable<Real>& b);
template <class Real>
Variable<Real> activate(Tape<Real>& tape, ActivationKind kind, const Variable<Real>& x);
/// `phi` outlives the tape.
template <class Real>
Variable<Real> activate(Tape<Real>& tape, const PointFunction& phi, const Variable<Real>& x);
/// a b, by entry.
template <class Real>
Variable<Real> multiply(Tape<Real>& tape, const Variable<Real>& a, const Variable<Real>& b);
/// x where the mask's uniform value is at least `rate`, divided by 1 - rate, else 0.
template <class Real>
Variable<Real> drop(Tape<Real>& tape, const Stream& mask, double rate, const Variable<Real>& x,
                    std::int64_t shared = 1);
/// The weights of experts, (tokens, experts), by their scores.
template <class Real>
Variable<Real> route(Tape<Real>& tape, const RouteShape& shape, const Variable<Real>& scores);
/// Each row of x times its entry in a column of w.
template <class Real>
Variable<Real> weigh_rows(Tape<Real>& tape, const Variable<Real>& x, const Variable<Real>& w,
                          std::int64_t column);
/// a x.
template <class Real>
Variable<Real> scale(Tape<Real>& tape, double a, const Variable<Real>& x);
/// a x + b f.
template <class Real>
Variable<Real> blend(Tape<Real>& tape, double a, const Variable<Real>& x, double b,
                     const Variable<Real>& f);
/// The same with a `b` of one entry that wants a gradient.
template <class Real>
Variable<Real> blend(Tape<Real>& tape, double a, const Variable<Real>& x, const Variable<Real>& b,
                     const Variable<Real>& f);
/// Layer norm when centred, else rms norm, of each `width` consecutive entries (0: by row).
template <class Real>
Variable<Real> normalise(Tape<Real>& tape, bool centred, double eps, const Variable<Real>& x,
                         std::int64_t width = 0);
/// The same of the rows of a x + b f.
template <class Real>
Variable<Real> blend_normalised(Tape<Real>& tape, bool centred, double eps, double a,
                                const Variable<Real>& x, double b, const Variable<Real>& f);
/// The same of each column, over `rows` consecutive rows.
template <class Real>
Variable<Real> normalise_columns(Tape<Real>& tape, bool centred, double eps,
                                 const Variable<Real>& x, std::int64_t rows);
/// gain x + shift, by column.
template <class Real>
Variable<Real> affine(Tape<Real>& tape, const Variable<Real>& x, const Variable<Real>& gain,
                      const Variable<Real>& shift);
/// The table of angles t theta_i, whose cosines and sines are multiplied by `size`. Angles are in
/// double: a float has no more than three digits of the sine at position 10000.
template <class Real>
Tensor<Real> rotary_turns(Tape<Real>& tape, std::int64_t tokens, const std::vector<double>& theta,
                          double size);
/// Queries or keys with their rotary positions.
template <class Real>
Variable<Real> rotate(Tape<Real>& tape, const RotaryShape& shape, const Tensor<Real>& turns,
                      const Variable<Real>& x);
/// The mix of softmax attention (before the output projection).
template <class Real>
Variable<Real> attend(Tape<Real>& tape, const AttentionShape& shape, const Variable<Real>& q,
                      const Variable<Real>& k, const Variable<Real>& v);
/// The same in two steps: the scores, to which those of another attention may be added, and the mix
/// by scores as they are.
template <class Real>
Variable<Real> score(Tape<Real>& tape, const AttentionShape& shape, const Variable<Real>& q,
                     const Variable<Real>& k, const Variable<Real>* before);
template <class Real>
Variable<Real> attend_by(Tape<Real>& tape, const AttentionShape& shape,
                         const Variable<Real>& scores, const Variable<Real>& v);
/// Biases for `score`: of each head by the buckets of (query, key), out of the table.
template <class Real>
Variable<Real> relative_biases(Tape<Real>& tape, const BiasShape& shape,
                               const Tensor<std::int32_t>& buckets, const Variable<Real>& table);
/// The entries of a, then those of b, in one row.
template <class Real>
Variable<Real> join(Tape<Real>& tape, const Variable<Real>& a, const Variable<Real>& b);
/// A matrix out of such a row, from entry `first` on.
template <class Real>
Variable<Real> part(Tape<Real>& tape, const Variable<Real>& joined, std::int64_t first,
                    std::int64_t rows, std::int64_t columns);
/// The mean of each `tokens` consecutive rows.
template <class Real>
Variable<Real> pool(Tape<Real>& tape, std::int64_t tokens, const Variable<Real>& x);
/// The largest of each window (operations.def, max_pool_forward).
template <class Real>
Variable<Real> max_pool(Tape<Real>& tape, const ConvShape& shape, const Variable<Real>& x);
/// Rows of the table; ids is a column of row numbers.
template <class Real>
Variable<Real> embed(Tape<Real>& tape, const Variable<Real>& table,
                     const Tensor<std::int32_t>& ids);
/// In each sequence of x, of so many tokens, the rows of `front` and then its own.
template <class Real>
Variable<Real> prepend(Tape<Real>& tape, std::int64_t tokens, const Variable<Real>& front,
                       const Variable<Real>& x);
/// Of each sequence of so many tokens, `count` from `first` on.
template <class Real>
Variable<Real> take(Tape<Real>& tape, std::int64_t tokens, std::int64_t first, std::int64_t count,
                    const Variable<Real>& x);
/// x plus the table, which has as many rows as a sequence has tokens.
template <class Real>
Variable<Real> add_positions(Tape<Real>& tape, const Variable<Real>& x,
                             const Variable<Real>& table);
/// w divided by its largest singular value; zero stays zero.
template <class Real>
Variable<Real> spectral(Tape<Real>& tape, const Variable<Real>& w);
/// Each column of w divided by its length; zero stays zero.
template <class Real>
Variable<Real> demodulate(Tape<Real>& tape, const Variable<Real>& w);

/// -ln softmax(logits)[target], summed over rows or their mean.
template <class Real>
double cross_entropy(Tape<Real>& tape, const Variable<Real>& logits,
                     const Tensor<std::int32_t>& targets, Reduction reduction);
/// |y - target|^2 / 2, summed over rows or their mean.
template <class Real>
double squared_error(Tape<Real>& tape, const Variable<Real>& y, const Tensor<Real>& targets,
                     Reduction reduction);

}  // namespace scalecalc::tensor
