#include "steps/kernel.hpp"

#include <doctest/doctest.h>

#include <Eigen/Core>

#include "tolerance.hpp"

using namespace scalecalc::steps;
using scalecalc::testing::rounded;

namespace {

/// The matrix that the entries stand for.
Eigen::MatrixXd matrix(const Entries& entries, int tokens, int sequences) {
  const int n = tokens * sequences;
  Eigen::MatrixXd made(n, n);
  for (int s = 0; s < n; ++s)
    for (int t = 0; t < n; ++t)
      made(s, t) = s == t                     ? entries.same
                   : s / tokens == t / tokens ? entries.cross
                                              : entries.between;
  return made;
}

const Entries first{2.0, 0.75, -0.25}, second{1.5, -0.5, 0.125};

}  // namespace

TEST_CASE("kernels: entries come back from eigenvalues, for any number of tokens and sequences") {
  for (const int tokens : {1, 2, 5})
    for (const int sequences : {1, 3}) {
      const Samples samples{double(tokens), double(sequences)};
      const Entries back = entries_of(kernel_of(first, samples), samples);
      CHECK(back.same == rounded(first.same, 8));
      if (tokens > 1) CHECK(back.cross == rounded(first.cross, 8, first.same));
      if (sequences > 1) CHECK(back.between == rounded(first.between, 8, first.same));
    }
}

TEST_CASE("kernels: products are those of the matrices, and so are products of entries") {
  for (const int tokens : {1, 2, 5})
    for (const int sequences : {1, 3}) {
      const Samples samples{double(tokens), double(sequences)};
      const Kernel a = kernel_of(first, samples), b = kernel_of(second, samples);
      const Eigen::MatrixXd product =
          matrix(first, tokens, sequences) * matrix(second, tokens, sequences);
      const Entries entries = entries_of(a * b, samples);
      const double size = product.cwiseAbs().maxCoeff();
      CHECK(entries.same == rounded(product(0, 0), 64, size));
      if (tokens > 1) CHECK(entries.cross == rounded(product(0, 1), 64, size));
      if (sequences > 1) CHECK(entries.between == rounded(product(0, tokens), 64, size));
      CHECK(diagonal_of(a * b, samples) == rounded(product.trace() / samples.count(), 64, size));
      const Entries each = entries_of(by_entry(a, b, samples), samples);
      CHECK(each.same == rounded(first.same * second.same, 16));
      if (tokens > 1) CHECK(each.cross == rounded(first.cross * second.cross, 16, each.same));
    }
}
