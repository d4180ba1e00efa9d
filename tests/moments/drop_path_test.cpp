#include "moments/drop_path.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tolerance.hpp"

namespace scalecalc::moments {
namespace {

using testing::rounded;

/// Of each sum: the rate of its branch, and the branch's shares of E y^2 and E y_t y_u.
struct Branch {
  double rate = 0, second = 0, cross = 0;
};

/// f(chance, |y|^2, y_t.y_u, b of the last branch) for every set of branches that a sample loses.
template <class F>
void each_loss(const std::vector<Branch>& branches, const F& f) {
  for (std::size_t mask = 0; mask < (std::size_t{1} << branches.size()); ++mask) {
    double chance = 1, second = 1, cross = 1, b = 1;
    for (std::size_t k = 0; k < branches.size(); ++k) {
      const Branch& branch = branches[k];
      const bool is_there = (mask >> k & 1) != 0;
      b = is_there ? 1 / (1 - branch.rate) : 0;
      const double b2 = b * b * (1 - branch.rate);
      chance *= is_there ? 1 - branch.rate : branch.rate;
      second = (1 - branch.second) * second + branch.second * b2;
      cross = (1 - branch.cross) * cross + branch.cross * b2;
    }
    f(chance, second, cross, b);
  }
}

DroppedPaths paths_of(const std::vector<Branch>& branches, double between) {
  DroppedPaths stream;
  for (std::size_t k = 0; k < branches.size(); ++k) {
    const DroppedPaths branch = lost_branch(branches[k].rate);
    stream = sum_of_paths(k > 0 ? &stream : nullptr, &branch, branches[k].second, branches[k].cross,
                          between);
  }
  return stream;
}

TEST_CASE("sums whose branches samples lose, and a norm behind them") {
  const double power = 0.7, between = 0.3;
  for (const std::vector<Branch>& branches :
       {std::vector<Branch>{{0.05, 0.02, 0.4}},
        {{0.3, 0.5, 0.9}},
        {{0.8, 0.9, 0.1}},
        {{0.1, 0.5, 0.3}, {0.2, 0.3, 0.4}, {0.4, 0.2, 0.1}}}) {
    double square = 0, both = 0, inverse = 0, root = 0, cosine = 0, cosine_square = 0, of_kept = 0;
    double powers = 0, below = 0, kept = 0;
    each_loss(branches, [&](double chance, double second, double cross, double b) {
      square += chance * second * second;
      both += chance * second * cross;
      inverse += chance / second;
      root += chance / std::sqrt(second);
      of_kept += chance * b / std::sqrt(second);
      cosine += chance * cross / second;
      cosine_square += chance * cross * cross / (second * second);
      powers += chance * std::pow(second, -power);
      below += chance * std::pow(second, -1 - power);
      kept += chance * b * b * std::pow(second, -power);
    });
    const DroppedPaths paths = paths_of(branches, between);
    // 8 classes of a few products each.
    constexpr double operations = 200;
    CHECK(paths.variance() == rounded(square - 1, operations, square));
    CHECK(paths.covariance() == rounded(both - 1, operations, both));
    const DroppedNorm made = norm_of_paths(paths);
    CHECK(made.inverse == rounded(inverse, operations));
    CHECK(made.inverse_between == rounded(root * root, operations));
    CHECK(made.within == rounded(cosine, operations));
    CHECK(made.overlap_variance ==
          rounded(cosine_square - cosine * cosine, operations, cosine_square));
    CHECK(made.between ==
          rounded((1 - between) * root * root + between * of_kept * of_kept, operations));
    CHECK(inverse_below(paths, power) == rounded(below / (powers * inverse), operations));
    const double rate = branches.back().rate;
    CHECK(kept_gradient(paths, power) == rounded(kept * (1 - rate) / powers, operations));
    // Behind the norm all samples are of one size.
    CHECK(made.classes.variance() == rounded(0, operations, 1));
  }
}

TEST_CASE("of many branches the nearest classes are joined") {
  std::vector<Branch> branches(10, {0.2, 0.15, 0.1});
  double inverse = 0, square = 0;
  each_loss(branches, [&](double chance, double second, double, double) {
    inverse += chance / second;
    square += chance * second * second;
  });
  const DroppedPaths paths = paths_of(branches, 0);
  CHECK(paths.all.size() <= 12);
  // Means are kept; joins take 1.4% of the variance here, and 2.4% of what E 1/|y|^2 has past 1.
  CHECK(std::fabs(paths.variance() / (square - 1) - 1) < 0.03);
  CHECK(std::fabs(norm_of_paths(paths).inverse / inverse - 1) < 0.03 * (inverse - 1));
}

TEST_CASE("a branch that has nothing changes nothing") {
  const DroppedPaths paths = paths_of({{0.4, 0, 0}}, 0);
  const DroppedNorm made = norm_of_paths(paths);
  CHECK(made.inverse == rounded(1, 8));
  CHECK(made.between == rounded(1, 8));
  CHECK(made.within == rounded(1, 8));
  CHECK(made.overlap_variance == rounded(0, 8, 1));
  CHECK(kept_gradient(paths, 1) == rounded(1, 8));
}

// Of the mix, the part of what tokens differ by and that of what they share go with E x^2 - E x_t
// x_u and with E x_t x_u of the sample.
TEST_CASE("mixes of tokens follow the cosines of their sample") {
  DroppedPaths paths;
  paths.all = paths.kept = {{0.5, 1, 0.4}, {0.5, 1, 1.6}};
  const double cosine = 0.5, apart = 0.1, shared = 0.5;
  const DroppedPaths mix = mixed_paths(paths, apart, shared, cosine);
  for (std::size_t k = 0; k < 2; ++k) {
    const double c = paths.all[k].cross;
    CHECK(mix.all[k].second ==
          rounded((apart * (1 - cosine * c) / (1 - cosine) + shared * c) / (apart + shared), 16));
  }
}

// Of one sample |b F|^2 fluctuates by p/(1 - p), of the average over B by that over B.
TEST_CASE("sizes of samples that drop path keeps or loses") {
  const NormVariance made = through_drop_path({}, 0.2, {8, 4});
  CHECK(made.token_variance == rounded(0.25, 8));
  CHECK(made.batch_variance == rounded(0.0625, 8));
  CHECK(made.distance_variance == rounded(0.0625, 8));
  CHECK(made.decorrelation == 0);
}

}  // namespace
}  // namespace scalecalc::moments
