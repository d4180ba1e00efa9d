#include "moments/window_maximum.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

namespace scalecalc::moments {
namespace {

constexpr std::size_t cells = 1024;
constexpr double reach = 7;  ///< of the cells, in standard deviations: 1e-12 lies beyond
/// Of what positions have in common; a step of half a deviation leaves exp(-2 pi^2/step^2).
constexpr double node_reach = 6.5, node_step = 0.5;
constexpr int hermite_terms = 12;

double below(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}

/// One side of an image: positions that each window has, and pairs of windows.
struct Side {
  struct Pair {
    std::int64_t first = 0, second = 0, both = 0;
    bool operator<(const Pair& other) const {
      return std::tie(first, second, both) < std::tie(other.first, other.second, other.both);
    }
  };
  std::map<Pair, double> pairs;  ///< counts, each window with itself too
  std::map<std::int64_t, double> single;
};

Side side_of(std::int64_t size, std::int64_t outputs, const MaxPool& layer) {
  const auto range = [&](std::int64_t out) {
    const std::int64_t first = out * layer.stride - layer.padding;
    return std::pair{std::max<std::int64_t>(first, 0), std::min(first + layer.kernel, size)};
  };
  Side side;
  for (std::int64_t a = 0; a < outputs; ++a) {
    const auto [from, to] = range(a);
    side.single[to - from] += 1;
    for (std::int64_t b = 0; b < outputs; ++b) {
      const auto [other_from, other_to] = range(b);
      const std::int64_t both = std::min(to, other_to) - std::max(from, other_from);
      side.pairs[{to - from, other_to - other_from, std::max<std::int64_t>(both, 0)}] += 1;
    }
  }
  return side;
}

/// e is in a cell of this chance; y = phi(u) there, s = phi'(u), and (u - E u) s; sorted by y.
class ValueGrid {
 public:
  /// `common`: of u - E u, what all positions have.
  ValueGrid(const Activation& phi, double mean, double common, double deviation) {
    std::vector<double> u(cells), y(cells), s(cells), p(cells);
    const double step = 2 * reach / static_cast<double>(cells);
    for (std::size_t j = 0; j < cells; ++j) {
      const double from = -reach + step * static_cast<double>(j);
      p[j] = below(from + step) - below(from);
      u[j] = mean + common + deviation * (from + step / 2);
    }
    phi.evaluate(u.data(), y.data(), s.data(), cells);
    std::vector<std::size_t> order(cells);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!std::is_sorted(y.begin(), y.end()))
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return y[a] < y[b]; });
    double sum = 0;
    for (const std::size_t j : order) {
      middle_.push_back(sum + p[j] / 2);
      sum += p[j];
      upto_.push_back(sum);
      y_.push_back(y[j]);
      s_.push_back(s[j]);
      input_.push_back((u[j] - mean) * s[j]);
    }
    for (double& value : upto_) value = std::min(1.0, value / sum);
    for (double& value : middle_) value = std::min(1.0, value / sum);
  }

  const std::vector<double>& values() const { return y_; }
  const std::vector<double>& slopes() const { return s_; }
  const std::vector<double>& input_slopes() const { return input_; }

  /// Chance that all of `taps` are no larger.
  const std::vector<double>& all_below(std::int64_t taps) { return power(powers_, upto_, taps); }
  /// The same, of others beside one in this cell.
  const std::vector<double>& others_below(std::int64_t taps) {
    return power(middles_, middle_, taps);
  }

  /// E f of the largest of `taps`.
  template <class F>
  double mean(std::int64_t taps, const F& f) {
    const std::vector<double>& upto = all_below(taps);
    double sum = 0, last = 0;
    for (std::size_t j = 0; j < cells; ++j) {
      sum += (upto[j] - last) * f(j);
      last = upto[j];
    }
    return sum;
  }

  /// E f of the largest of `outer` and one in cell j.
  std::vector<double> with_outer(std::int64_t outer, const std::vector<double>& f) {
    const std::vector<double>& upto = all_below(outer);
    std::vector<double> made(cells);
    double above = 0;
    for (std::size_t j = cells; j-- > 0;) {
      made[j] = f[j] * upto[j] + above;
      above += f[j] * (upto[j] - (j > 0 ? upto[j - 1] : 0));
    }
    return made;
  }

  /// E f f' of two windows.
  double pair(const Windows::Two& two, const std::vector<double>& f) {
    if (two.both == 0) {
      const auto one = [&](std::int64_t taps) {
        return mean(taps, [&](std::size_t j) { return f[j]; });
      };
      return one(two.first) * one(two.second);
    }
    const std::vector<double> a = with_outer(two.first - two.both, f),
                              b = with_outer(two.second - two.both, f);
    return mean(two.both, [&](std::size_t j) { return a[j] * b[j]; });
  }

  /// E f^2 where the largest of two windows is one and the same.
  double same(const Windows::Two& two, const std::vector<double>* f) {
    if (two.both == 0) return 0;
    const std::vector<double>& others = others_below(two.first + two.second - 2 * two.both);
    return mean(two.both, [&](std::size_t j) {
      const double value = f != nullptr ? (*f)[j] : 1;
      return others[j] * value * value;
    });
  }

 private:
  using Powers = std::map<std::int64_t, std::vector<double>>;
  static const std::vector<double>& power(Powers& known, const std::vector<double>& of,
                                          std::int64_t exponent) {
    std::vector<double>& made = known[exponent];
    if (made.empty())
      for (const double value : of) made.push_back(std::pow(value, static_cast<double>(exponent)));
    return made;
  }

  std::vector<double> upto_, middle_, y_, s_, input_;
  Powers powers_, middles_;
};

/// Averages over windows, given what the positions have in common.
struct Given {
  /// Of a function s of the u that is the largest, as in WindowSlopes; its mean too.
  struct Slopes {
    double mean = 0, own = 0, pairs = 0, same = 0;
  };
  double y = 0, y2 = 0, y4 = 0, yy = 0, same = 0;
  Slopes slopes, inputs;
};

Given given(ValueGrid& grid, const Windows& windows) {
  Given made;
  const std::vector<double>& y = grid.values();
  const std::pair<const std::vector<double>&, Given::Slopes&> functions[] = {
      {grid.slopes(), made.slopes}, {grid.input_slopes(), made.inputs}};
  for (const Windows::One& one : windows.single) {
    const auto add = [&](double& to, const auto& f) { to += one.share * grid.mean(one.taps, f); };
    add(made.y, [&](std::size_t j) { return y[j]; });
    add(made.y2, [&](std::size_t j) { return y[j] * y[j]; });
    add(made.y4, [&](std::size_t j) { return y[j] * y[j] * y[j] * y[j]; });
    for (const auto& [s, to] : functions) {
      add(to.mean, [&of = s](std::size_t j) { return of[j]; });
      add(to.own, [&of = s](std::size_t j) { return of[j] * of[j]; });
    }
  }
  for (const Windows::Two& two : windows.pairs) {
    made.yy += two.share * grid.pair(two, y);
    made.same += two.share * grid.same(two, nullptr);
    for (const auto& [s, to] : functions) {
      to.pairs += two.share * grid.pair(two, s);
      to.same += two.share * grid.same(two, &s);
    }
  }
  return made;
}

/// E m m' of a function of what positions of either of two images have in common, whose
/// correlation is `c`: sum a_n^2 c^n by the Hermite coefficients of m.
double of_two_images(const std::vector<double>& m, const std::vector<double>& nodes,
                     const std::vector<double>& weights, double c) {
  double all = 0;
  for (std::size_t i = 0; i < m.size(); ++i) all += weights[i] * m[i] * m[i];
  std::vector<double> h(nodes.size(), 1), before(nodes.size(), 0);
  double sum = 0, found = 0, power = 1;
  for (int n = 0; n <= hermite_terms; ++n, power *= c) {
    double a = 0;
    for (std::size_t i = 0; i < m.size(); ++i) a += weights[i] * m[i] * h[i];
    sum += a * a * power;
    found += a * a;
    // He_(n+1)/sqrt((n+1)!) = (z He_n/sqrt(n!) - sqrt(n) He_(n-1)/sqrt((n-1)!))/sqrt(n+1).
    for (std::size_t i = 0; i < m.size(); ++i) {
      const double next = (nodes[i] * h[i] - std::sqrt(static_cast<double>(n)) * before[i]) /
                          std::sqrt(static_cast<double>(n + 1));
      before[i] = h[i];
      h[i] = next;
    }
  }
  return sum + power * std::max(0.0, all - found);
}

/// At a correlation of at least 0 in one image.
WindowMaximum at_covariance(const Activation& phi, double mean, double variance, double within,
                            double between, const Windows& windows) {
  std::vector<double> nodes{0}, weights{1};
  if (within > 0) {
    nodes.clear();
    weights.clear();
    double sum = 0;
    for (double z = -node_reach; z <= node_reach + node_step / 2; z += node_step) {
      nodes.push_back(z);
      weights.push_back(std::exp(-z * z / 2));
      sum += weights.back();
    }
    for (double& weight : weights) weight /= sum;
  }
  const double common = std::sqrt(within), own = std::sqrt(std::max(0.0, variance - within));
  WindowMaximum made;
  made.plain = {1, 1, 1, 0};
  made.slopes = made.inputs = {0, 0, 0, 0};
  std::vector<double> y, s, inputs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ValueGrid grid(phi, mean, common * nodes[i], own);
    const Given at = given(grid, windows);
    const double w = weights[i];
    made.value.mean += w * at.y;
    made.value.second += w * at.y2;
    made.fourth += w * at.y4;
    made.value.cross += w * at.yy;
    const auto add = [&](WindowSlopes& to, const Given::Slopes& of) {
      to.own += w * of.own;
      to.pairs += w * of.pairs;
      to.same += w * of.same * (windows.outputs - 1);
    };
    add(made.slopes, at.slopes);
    add(made.inputs, at.inputs);
    made.plain.same += w * at.same * (windows.outputs - 1);
    y.push_back(at.y);
    s.push_back(at.slopes.mean);
    inputs.push_back(at.inputs.mean);
  }
  const double ratio = within > 0 ? std::clamp(between / within, -1.0, 1.0) : 0;
  made.value.between = of_two_images(y, nodes, weights, ratio);
  made.slopes.between = of_two_images(s, nodes, weights, ratio);
  made.inputs.between = of_two_images(inputs, nodes, weights, ratio);
  // Values inside of a cell, and at its middle.
  const double step = 2 * reach / static_cast<double>(cells);
  made.error = step * step / 2;
  return made;
}

/// As far from a as b is, to the other side: 2 a - b, but for the pairs of two images.
WindowMaximum beyond(const WindowMaximum& a, const WindowMaximum& b) {
  const auto two = [](double at, double other) { return 2 * at - other; };
  const auto slopes = [&](const WindowSlopes& at, const WindowSlopes& other) {
    return WindowSlopes{two(at.own, other.own), two(at.pairs, other.pairs),
                        two(at.between, other.between), two(at.same, other.same)};
  };
  WindowMaximum made = a;
  made.value = {two(a.value.mean, b.value.mean), two(a.value.second, b.value.second),
                two(a.value.cross, b.value.cross), a.value.between};
  made.slopes = slopes(a.slopes, b.slopes);
  made.plain = slopes(a.plain, b.plain);
  made.inputs = slopes(a.inputs, b.inputs);
  return made;
}

}  // namespace

Windows windows_of(const MaxPool& layer) {
  const Side rows = side_of(layer.height, layer.out_height(), layer),
             columns = side_of(layer.width, layer.out_width(), layer);
  Windows made;
  made.inputs = static_cast<double>(layer.height * layer.width);
  made.outputs = static_cast<double>(layer.out_height() * layer.out_width());
  std::map<std::int64_t, double> single;
  for (const auto& [down, times] : rows.single)
    for (const auto& [across, count] : columns.single) single[down * across] += times * count;
  std::map<Side::Pair, double> pairs;
  for (const auto& [down, times] : rows.pairs)
    for (const auto& [across, count] : columns.pairs)
      pairs[{down.first * across.first, down.second * across.second, down.both * across.both}] +=
          times * count;
  for (const auto& [taps, count] : single) {
    made.single.push_back({taps, count / made.outputs});
    // Each window with itself is no pair.
    pairs[{taps, taps, taps}] -= count;
  }
  const double all = made.outputs * (made.outputs - 1);
  for (const auto& [pair, count] : pairs)
    if (count > 0) made.pairs.push_back({pair.first, pair.second, pair.both, count / all});
  return made;
}

double mean_taps(const Windows& windows) {
  double sum = 0;
  for (const Windows::One& one : windows.single) sum += one.share * static_cast<double>(one.taps);
  return sum;
}

WindowMaximum window_maximum(const Activation& phi, const Alike<double>& u,
                             const Windows& windows) {
  const double square = u.mean * u.mean, variance = std::max(0.0, u.second - square);
  const double within = std::clamp(u.cross - square, -variance, variance),
               between = std::clamp(u.between - square, -variance, variance);
  const auto at = [&](double covariance) {
    return at_covariance(phi, u.mean, variance, covariance, between, windows);
  };
  if (within >= 0) return at(within);
  // Of tokens that a norm has taken the mean of: as far below 0 as -within is above.
  return beyond(at(0), at(-within));
}

Alike<double> through_windows(const Windows& windows, const WindowSlopes& slopes,
                              const Alike<double>& g) {
  const double in = windows.inputs, out = windows.outputs, ratio = out / in;
  Alike<double> made;
  made.second = ratio * (slopes.own * g.second + slopes.same * g.cross);
  if (in > 1) made.cross = ratio * ((out - 1) * slopes.pairs - slopes.same) * g.cross / (in - 1);
  made.between = ratio * ratio * slopes.between * g.between;
  return made;
}

namespace {

/// Calls found(window, position, share of the window's positions).
template <class Found>
void for_windows(const MaxPool& layer, const Found& found) {
  const auto range = [&](std::int64_t out, std::int64_t size) {
    const std::int64_t first = out * layer.stride - layer.padding;
    return std::pair{std::max<std::int64_t>(first, 0), std::min(first + layer.kernel, size)};
  };
  for (std::int64_t row = 0; row < layer.out_height(); ++row)
    for (std::int64_t column = 0; column < layer.out_width(); ++column) {
      const auto [top, bottom] = range(row, layer.height);
      const auto [left, right] = range(column, layer.width);
      const double share = 1 / static_cast<double>((bottom - top) * (right - left));
      for (std::int64_t i = top; i < bottom; ++i)
        for (std::int64_t j = left; j < right; ++j)
          found(row * layer.out_width() + column, i * layer.width + j, share);
    }
}

}  // namespace

Eigen::ArrayXd over_windows(const MaxPool& layer, const Eigen::ArrayXd& positions) {
  Eigen::ArrayXd windows = Eigen::ArrayXd::Zero(layer.out_height() * layer.out_width());
  for_windows(layer, [&](std::int64_t window, std::int64_t position, double share) {
    windows[window] += share * positions[position];
  });
  return windows;
}

Eigen::ArrayXd from_windows(const MaxPool& layer, const Eigen::ArrayXd& windows) {
  Eigen::ArrayXd positions = Eigen::ArrayXd::Zero(layer.height * layer.width);
  for_windows(layer, [&](std::int64_t window, std::int64_t position, double share) {
    positions[position] += share * windows[window];
  });
  return positions;
}

}  // namespace scalecalc::moments
