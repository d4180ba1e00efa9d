#pragma once

#include <vector>

#include "steps/entry_rule.hpp"
#include "steps/kernel.hpp"

/// What the first step of one parameter does to what the parameter puts out
/// (docs/theory/first-step.md#own-change).
namespace scalecalc::steps {

/// theta -= scale * rule(G), G the gradient of theta.
struct Update {
  enum class Rule { entry, orthogonal };
  Rule rule = Rule::entry;
  double scale = 0;
  EntryRule entry;
  /// Of orthogonal: how often the polynomial of Newton and Schulz is applied to G/|G|; 0: the
  /// singular values become 1.
  int polynomials = 0;
};

/// Features of an input, so large a share of all: in every sample of this mean and variance, each
/// sample by itself; Gaussian but for E (x - mean)^3/variance^(3/2) and E (x - mean)^4/variance^2
/// - 3.
struct FeatureClass {
  double share = 1, mean = 0, variance = 0;
  double skewness = 0, excess = 0;
};
/// Of Gaussian features.
std::vector<FeatureClass> gaussian_features(double mean, const Kernel& values,
                                            const Samples& samples);

/// A row g of a gradient over the samples, so large a share of a class: |g|^2, in its average over
/// the class, and which share of it lies along the vector of ones.
struct GradientRow {
  double share = 1, square = 1, along = 0;
};

/// Features of an output, so large a share of all, whose gradients have these second moments.
struct GradientClass {
  double share = 1;
  Kernel gradient;
  double peaked = 1;  ///< E g^4/(3 (E g^2)^2), each sample by itself
  /// None: Gaussian.
  std::vector<GradientRow> rows = {};
};

/// A matrix of fan_in x fan_out that multiplies inputs with these second moments, per feature.
struct MatrixUse {
  double fan_in = 1, fan_out = 1;
  Kernel input, gradient;
  std::vector<FeatureClass> features;  ///< their second moments are those of `input`
  double multiplier = 1;               ///< y = multiplier x W
  Samples samples;
  /// One row is read by a sample, with a factor of 1: `input` says which samples read the same.
  bool is_table = false;
  double rows_read = 1;  ///< share of a table's rows that a batch reads
  /// Their second moments are those of `gradient`; none: all alike.
  std::vector<GradientClass> outputs = {};
  /// Var, over draws, of the average over features of x_s x_t, s != t.
  double overlap_variance = 0;
  /// E x^4/(3 (E x^2)^2) - 1 of a feature, where it is above 0.
  double excess = 0;
  double logits = 0;  ///< of the network: the gradients of a feature come from so many; 0: more
  /// sum lambda^2/(sum lambda)^2 of the covariance over samples that a row's gradients have in one
  /// draw, where it is above that of `gradient`, the average over draws.
  double concentration = 0;
  double parts = 1;  ///< of the output, that have such a covariance each: heads
  /// Of a row's gradients, what the overlaps of two samples vary by over draws, of their squares,
  /// beside what fan_out rows make them vary by: of layers behind.
  double behind = 0;
  /// Tokens are not alike, and averages over them stand for each: of a mask.
  bool averaged = false;
};

/// The change of a feature in sample s is sum_t response_st g_t + noise, g the gradient of that
/// feature.
struct OwnChange {
  Kernel response, noise;
  double truncation = 0;     ///< of E (dy)^2, of the orders that are left out
  double update_second = 0;  ///< E of the change of one entry, squared
  double left_out = 0;       ///< of E (dy)^2, a share: of how singular values are spread
  double of_row = 0;         ///< of E (dy)^2, what of the noise goes with the sample's own g^2
  /// What one eigenvector of the samples adds to update_second, by eigenvalue; the rest of it is in
  /// entries that are independent (docs/theory/first-step.md#operator-norm).
  Kernel parts;
  /// Of an orthogonal rule: E of the largest singular value squared, and the most it can be.
  double largest = 0, most = 0;
};
OwnChange own_change(const Update& update, const MatrixUse& use);

}  // namespace scalecalc::steps
