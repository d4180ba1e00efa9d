#include <algorithm>
#include <cmath>

#include "steps/own_parts.hpp"

namespace scalecalc::steps {
namespace {

/// The polynomial that Muon applies, to a singular value of G/|G|.
double after_polynomials(double value, int times) {
  for (int i = 0; i < times; ++i) {
    const double square = value * value;
    value *= 3.4445 + square * (-4.7750 + square * 2.0315);
  }
  return value;
}

/// G = Y X^T with rows of Y of second moments `gradient` over the samples and of X those of
/// `input`: U V^T x = Y (Y^T Y)^(-1/2) (X^T X)^(1/2), by eigenvalue. Singular values spread as
/// those of a product of two Wishart matrices: Var s^2/(E s^2)^2 = N/n + N/m to first order.
class OrthogonalChange {
 public:
  OrthogonalChange(const Update& update, const MatrixUse& use) : update_(update), use_(use) {
    const Kernel counts = multiplicities(use.samples);
    const double most = std::min(use.fan_in, use.fan_out);
    total_ = trace_of(use.input * use.gradient, use.samples);
    left_ = most;
    add(use.input.all * use.gradient.all, counts.all, made_.response.all, kept_.all);
    add(use.input.sequence * use.gradient.sequence, counts.sequence, made_.response.sequence,
        kept_.sequence);
    add(use.input.token * use.gradient.token, counts.token, made_.response.token, kept_.token);
  }

  OwnChange run() {
    const double size = update_.scale * use_.multiplier;
    const Kernel per_unit = ratio_of(use_.input, use_.gradient);
    OwnChange made;
    const double from = std::sqrt(use_.fan_in / use_.fan_out);
    made.response = made_.response * per_unit * (-size * from);
    const Kernel all = kept_ * use_.input * (size * size * use_.fan_in / use_.fan_out);
    made.noise = at_least_zero(all - made.response * made.response * use_.gradient);
    made.of_row = diagonal_of(made.noise, use_.samples);
    made.update_second = update_.scale * update_.scale * squares_ / (use_.fan_in * use_.fan_out);
    made.left_out = squares_ > 0 ? left_out_ / squares_ : 0;
    made.largest = update_.scale * update_.scale * largest();
    if (!seen_.empty()) made.most = update_.scale * update_.scale * seen_.back().square;
    return made;
  }

 private:
  /// Directions that the gradient has hardly any of are none that the step follows.
  static Kernel ratio_of(const Kernel& a, const Kernel& b) {
    constexpr double kNone = 1e-6;
    const double least = kNone * std::max({b.token, b.sequence, b.all});
    const auto root = [&](double x, double y) { return y > least ? std::sqrt(x / y) : 0; };
    return {root(a.token, b.token), root(a.sequence, b.sequence), root(a.all, b.all)};
  }

  /// `square`: an eigenvalue of the two kernels' product, which is there `count` times.
  void add(double square, double count, double& first, double& second) {
    const double there = std::min(count, left_);
    if (there <= 0 || square <= 0 || total_ <= 0) return;
    left_ -= there;
    // Parts of the output whose own covariances are uneven, averaged over.
    const double uneven = std::max(count * use_.concentration - 1, 0.0) / use_.parts;
    constexpr double most = 2;
    // Gradients come from so many logits, which few samples share.
    const double shared = use_.logits > 0 ? (count - 1) / use_.logits : 0;
    const double spread =
        std::min(count / use_.fan_in + count / use_.fan_out + uneven + shared, most);
    const double size = std::sqrt(square / total_);
    const Averages averages = averages_of(size, spread);
    see(size, spread, there);
    const double share = there / count;  // of the inputs' space that is reached
    first = averages.along * share;
    second = averages.squares * share;
    squares_ += there * averages.squares;
    // The law of the spread is one of its first order.
    constexpr double unsure = 1.5;
    left_out_ += there / 2 *
                 std::fabs(averages_of(size, spread * unsure).squares -
                           averages_of(size, spread / unsure).squares);
  }

  struct Averages {
    double along, squares;
  };
  /// Of singular values s whose s^2/size^2 have the mean 1, the variance `spread` and, as
  /// eigenvalues of a Wishart matrix of few dimensions, many near 0: a gamma law (Wilson and
  /// Hilferty's cube).
  Averages averages_of(double size, double spread) const {
    double weights = 0;
    Averages made{0, 0};
    for (const Node& node : normal_nodes<65>()) {
      const double stretch = stretch_at(node.at, spread), value = after(size * stretch);
      weights += node.weight;
      made.along += node.weight * value * stretch;
      made.squares += node.weight * value * value;
    }
    return {made.along / weights, made.squares / weights};
  }

  static double stretch_at(double node, double spread) {
    const double cube = std::max(1 - spread / 9 + std::sqrt(spread) / 3 * node, 0.0);
    return cube * std::sqrt(cube);
  }
  double after(double value) const {
    if (update_.polynomials == 0) return 1;
    return after_polynomials(std::min(value, 1.0), update_.polynomials);
  }

  void see(double size, double spread, double count) {
    for (const Node& node : normal_nodes<65>()) {
      const double value = after(size * stretch_at(node.at, spread));
      seen_.push_back({value * value, node.weight, counts_.size()});
    }
    counts_.push_back(count);
  }
  /// E of the largest: all of so many of a law are at most x with the chance P(one <= x)^count.
  double largest() {
    std::ranges::sort(seen_, {}, &Seen::square);
    std::vector<double> below(counts_.size(), 0.0);
    double mean = 0, last = 0;
    for (const Seen& one : seen_) {
      below[one.law] += one.weight;
      double chance = 1;
      for (std::size_t i = 0; i < counts_.size(); ++i) chance *= std::pow(below[i], counts_[i]);
      mean += one.square * (chance - last);
      last = chance;
    }
    return mean;
  }

  const Update& update_;
  const MatrixUse& use_;
  OwnChange made_;
  /// Squares of singular values with the chance of each under its law.
  struct Seen {
    double square, weight;
    std::size_t law;
  };
  std::vector<Seen> seen_;
  std::vector<double> counts_;  ///< of each law, how many follow it
  Kernel kept_;
  double total_ = 0, left_ = 0, squares_ = 0, left_out_ = 0;
};

}  // namespace

OwnChange orthogonal_change(const Update& update, const MatrixUse& use) {
  return OrthogonalChange(update, use).run();
}

}  // namespace scalecalc::steps
