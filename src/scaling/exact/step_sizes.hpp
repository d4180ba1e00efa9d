#pragma once

#include <cstdint>

#include "scalecalc/scaling.hpp"

/// Norms of one matrix' gradient from the second moment of its entries, and what an update rule
/// makes of them.
namespace scalecalc::exact {

/// One matrix: norms of its gradient g and of the matrix theta itself.
struct MatrixSizes {
  double entries = 0;    ///< rows * columns
  double rank = 0;       ///< of the gradient: at most rows, columns, tokens
  double frobenius = 0;  ///< |g|
  double one = 0;        ///< |g|_1, the sum of |entries|
  double nuclear = 0;    ///< the sum of singular values
  double theta = 0;      ///< |theta|
};

/// E|x|/rms of an entry that is the sum of `tokens` products of two Gaussians: 2/pi for one token,
/// sqrt(2/pi) for many (docs/theory/scaling.md#step-sizes).
double one_norm_shape(std::int64_t tokens);
/// |g|_nuclear/|g| for the sum of `tokens` outer products of Gaussian vectors: sqrt(rank) times a
/// factor for the unequal singular values.
double nuclear_shape(std::int64_t rows, std::int64_t columns, std::int64_t tokens);
/// Mean square root of an eigenvalue of A A^T, A of shape n x n/ratio with entries of variance
/// ratio/n (Marchenko and Pastur's law of mean 1): 1 at ratio 0, 8/(3 pi) at 1.
double mean_singular_value(double ratio);

/// Sizes of a matrix whose entries have these second moments. `spread` is the variance, over weight
/// draws, of log g^2: averages of |g| lie below the root of the average of g^2 by e^(-spread/8).
MatrixSizes matrix_sizes(std::int64_t rows, std::int64_t columns, std::int64_t tokens,
                         double second, double grad_second, double spread);

/// An update rule (theta without -eta, in g and theta) as one direction times numbers.
class Step {
 public:
  /// Throws Error(input) for a rule that is not a product of powers with one direction among g,
  /// sign(g) and orthogonal(g).
  explicit Step(const Expr& update);
  /// <g, dtheta> and |dtheta| of one matrix, without -eta; `global` is the norm of all gradients.
  double change(const MatrixSizes& sizes, double global) const;
  double size(const MatrixSizes& sizes, double global) const;
  /// The shape that enters: "one", "nuclear" or "".
  const char* shape() const;

 private:
  enum class Direction { gradient, sign, orthogonal };
  double factor(const MatrixSizes& sizes, double global) const;
  bool take_direction(const Expr& factor);

  Direction direction_ = Direction::gradient;
  Expr factor_ = 1;  ///< of the direction
};

}  // namespace scalecalc::exact
