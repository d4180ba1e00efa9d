#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "gaussian/quadrature/line.hpp"

/// The sum over panels, refined where the two rules differ.
namespace scalecalc::gaussian::quadrature {

inline constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// An integral over one panel, or over all: the Kronrod value, its error, and the integral of the
/// absolute value, which rounding is proportional to.
struct Integral {
  long double value = 0;  ///< there may be many thousand panels
  double error = 0, absolute = 0;
  /// The integral of |z^2 f| + |x f'|: what relative roundings of z and x do.
  double moved = 0;

  void add(const Integral& part) {
    value += part.value;
    error += part.error;
    absolute += part.absolute;
    moved += part.moved;
  }
};

/// The error of the finer rule from its difference to the coarser, whose order is about two thirds
/// of it (Piessens et al., QUADPACK, 1983).
inline double kronrod_error(double difference, double absolute) {
  if (!(absolute > 0)) return 0;
  const double ratio = 200 * std::fabs(difference) / absolute;
  return absolute * std::min(1.0, ratio * std::sqrt(ratio));
}

struct Limits {
  double tolerance = 0.5 * epsilon;  ///< relative to the absolute integral
  double floor = 0;                  ///< an absolute integral to take at least
  std::size_t panels = 1 << 17;      ///< evaluated in all
  int depth = 60;
};

/// An Integrand has `channels`, a `line()`, and `evaluate(panels, results)`: one array of integrals
/// for each panel.
template <class Integrand>
std::array<Integral, Integrand::channels> integrate(Integrand& f, std::vector<Panel>& panels,
                                                    const Limits& limits = {}) {
  using Row = std::array<Integral, Integrand::channels>;
  std::vector<Panel> active;
  active.swap(panels);
  std::vector<Row> rows;
  Row done{};
  std::size_t evaluated = 0, finished = 0;
  while (true) {
    rows.assign(active.size(), Row{});
    f.evaluate(active, rows.data());
    evaluated += active.size();
    Row total = done;
    for (const Row& row : rows) {
      for (std::size_t c = 0; c < row.size(); ++c) total[c].add(row[c]);
    }
    const double count = static_cast<double>(finished + active.size());
    std::array<double, Integrand::channels> allowed;
    bool enough = true;
    for (std::size_t c = 0; c < total.size(); ++c) {
      const double sum = limits.tolerance * std::max(total[c].absolute, limits.floor);
      enough = enough && total[c].error <= sum;
      allowed[c] = sum / count;
    }
    if (enough || evaluated > limits.panels) return total;
    std::vector<Panel> next;
    for (std::size_t k = 0; k < active.size(); ++k) {
      bool good = active[k].depth >= limits.depth;
      if (!good) {
        good = true;
        for (std::size_t c = 0; c < total.size(); ++c) good &= rows[k][c].error <= allowed[c];
      }
      if (good) {
        for (std::size_t c = 0; c < total.size(); ++c) done[c].add(rows[k][c]);
        ++finished;
        continue;
      }
      const double half = 0.5 * active[k].half;
      for (const double shift : {-half, half}) {
        next.push_back(active[k].part(f.line(), shift, half));
        ++next.back().depth;
      }
    }
    if (next.empty()) return total;
    active.swap(next);
  }
}

}  // namespace scalecalc::gaussian::quadrature
