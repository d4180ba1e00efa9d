#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

/// Softmax rows drawn one by one, for averages that softmax_monte_carlo does not have.
namespace scalecalc::testing {

struct DrawnRow {
  std::vector<double> z, p;
  double sum(int power) const {
    double total = 0;
    for (const double x : p) total += std::pow(x, power);
    return total;
  }
};

/// Mean and standard error.
class Tally {
 public:
  void add(double x) {
    sum_ += x;
    squares_ += x * x;
    ++count_;
  }
  double mean() const { return sum_ / count_; }
  double error() const {
    return std::sqrt(std::max(squares_ / count_ - mean() * mean(), 0.0) / (count_ - 1));
  }

 private:
  double sum_ = 0, squares_ = 0;
  int count_ = 0;
};

class RowDraws {
 public:
  explicit RowDraws(std::uint64_t seed) : random_(seed) {}
  std::vector<double> normals(std::size_t count) {
    std::vector<double> z(count);
    for (double& x : z) x = normal_(random_);
    return z;
  }
  static DrawnRow row(std::vector<double> z, double tau) {
    DrawnRow out{std::move(z), {}};
    double total = 0;
    const double top = *std::max_element(out.z.begin(), out.z.end());
    for (const double x : out.z) out.p.push_back(std::exp(tau * (x - top)));
    for (const double x : out.p) total += x;
    for (double& x : out.p) x /= total;
    return out;
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

}  // namespace scalecalc::testing
