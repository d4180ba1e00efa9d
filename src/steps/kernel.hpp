#pragma once

#include "scalecalc/trace.hpp"

/// Matrices over the samples of a batch whose entries depend on how two samples hang together
/// alone: one sample with itself, two tokens of one sequence, tokens of two sequences. They
/// commute, and have three eigenvalues (docs/theory/first-step.md#kernels).
namespace scalecalc::steps {

struct Samples {
  double tokens = 1, sequences = 1;
  double count() const { return tokens * sequences; }
};

/// The eigenvalues of such a matrix, each 0 where it has no eigenvectors.
struct Kernel {
  double token = 0;     ///< of what differs within a sequence
  double sequence = 0;  ///< of means of sequences, but for their own mean
  double all = 0;       ///< of what all samples share
};
struct Entries {
  double same = 0, cross = 0, between = 0;
};

/// Entries that stand for no pair (of one token, of one sequence) are not read.
Kernel kernel_of(const Entries& entries, const Samples& samples);
Entries entries_of(const Kernel& kernel, const Samples& samples);
/// Of a site's values, and of the loss' gradient there (at least 0).
Kernel values_of(const Site& site, const Samples& samples);
Kernel gradients_of(const Site& site, const Samples& samples);

Kernel operator+(const Kernel& a, const Kernel& b);
Kernel operator-(const Kernel& a, const Kernel& b);
/// The product of the matrices.
Kernel operator*(const Kernel& a, const Kernel& b);
Kernel operator*(const Kernel& a, double factor);
inline Kernel operator*(double factor, const Kernel& a) {
  return a * factor;
}
/// Products of entries.
Kernel by_entry(const Kernel& a, const Kernel& b, const Samples& samples);
/// The same in the diagonal alone.
Kernel diagonal(double same);
/// Every eigenvalue at least 0: a second moment that rounding, or a rule's truncation, makes less.
Kernel at_least_zero(const Kernel& a);
/// The average of the diagonal.
double diagonal_of(const Kernel& kernel, const Samples& samples);

}  // namespace scalecalc::steps
