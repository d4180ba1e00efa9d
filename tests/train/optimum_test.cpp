#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "base/statistics.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/optimum.hpp"
#include "tolerance.hpp"

namespace scalecalc {
namespace {

using testing::rounded, testing::within;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Normal draws, the same on every machine.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : engine_(seed) {}
  double operator()() {
    const double size = std::sqrt(-2 * std::log(uniform()));
    return size * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  double uniform() { return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1p-53; }
  std::mt19937_64 engine_;
};

std::vector<double> values_by(double factor, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(1e-3 * std::pow(factor, i));
  return values;
}

/// One seed, no noise.
std::vector<CurvePoint> curve_of(const std::vector<double>& losses) {
  const std::vector<double> values = values_by(2, static_cast<int>(losses.size()));
  std::vector<CurvePoint> curve;
  for (std::size_t i = 0; i < losses.size(); ++i) curve.push_back({values[i], {losses[i]}});
  return curve;
}

/// A curve whose optimum is known.
struct Made {
  double optimum = 1e-2;
  double curvature = 0.2, skew = 0;
  double offset = 0.05;    ///< standard deviation of what a seed has at all values
  double noise = 0.02;     ///< of each loss
  double noise_slope = 0;  ///< of the logarithm of the noise by ln(value)
  int seeds = 4;

  std::vector<CurvePoint> draw(Normal& normal) const {
    std::vector<CurvePoint> curve;
    for (const double value : values_by(2, 8)) curve.push_back({value, {}});
    for (int seed = 0; seed < seeds; ++seed) {
      const double own = offset * normal();
      for (CurvePoint& point : curve) {
        const double away = std::log(point.value / optimum);
        const double deviation = noise * std::exp(noise_slope * away);
        point.losses.push_back(2 + own + curvature / 2 * away * away + skew * away * away * away +
                               deviation * normal());
      }
    }
    return curve;
  }
};

/// Of many draws: the part whose optimum lies within two standard errors of the true one, and the
/// mean miss in standard errors.
struct Coverage {
  double part = 0, bias = 0;
  int inside = 0, draws = 0;
};
Coverage coverage_of(const Made& made, int draws, std::uint64_t seed) {
  Normal normal(seed);
  Coverage coverage;
  coverage.draws = draws;
  for (int i = 0; i < draws; ++i) {
    const CurveOptimum found = curve_optimum(made.draw(normal));
    if (found.kind != OptimumKind::inside) continue;
    ++coverage.inside;
    const double miss = std::log(found.value / made.optimum) / found.log_error;
    coverage.part += std::fabs(miss) <= 2 ? 1 : 0;
    coverage.bias += miss;
  }
  coverage.part /= coverage.inside;
  coverage.bias /= coverage.inside;
  return coverage;
}

/// Two standard errors of a normal distribution cover 0.954, of t with 6 degrees of freedom 0.908:
/// variances are known from few seeds, and drawn towards their mean. Errors that grow by chi^2, and
/// never shrink by it, cover more.
constexpr double least_covered = 0.908, most_covered = 0.99;

void check_refused(const std::vector<CurvePoint>& curve, const std::string& message) {
  try {
    curve_optimum(curve);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.message() == message);
  }
}

}  // namespace

TEST_CASE("optimum: the vertex of a parabola without noise") {
  for (const double at : {2.3e-3, 7e-3, 1.1e-2, 3.9e-2}) {
    std::vector<CurvePoint> curve;
    for (const double value : values_by(2, 8)) {
      const double away = std::log(value / at);
      curve.push_back({value, {3 + 0.35 * away * away}});
    }
    const CurveOptimum found = curve_optimum(curve);
    CHECK(found.kind == OptimumKind::inside);
    // Sums of fourth powers of logarithms up to 3 cancel by some three digits.
    constexpr double operations = 1e4;
    CHECK(found.value == rounded(at, operations));
    CHECK(found.loss == rounded(3, operations));
    CHECK(found.curvature == rounded(0.7, operations));
    CHECK(std::isnan(found.rival));
    CHECK(found.last - found.first >= 3);
  }
}

TEST_CASE("optimum: two standard errors cover the optimum as often as they say") {
  constexpr int draws = 3000;
  for (const int seeds : {2, 3, 5, 10})
    for (const double noise : {0.005, 0.02})
      // From end to end of the parabola's points the noise grows by 16^slope; of few seeds only so
      // much of that is seen.
      for (const double slope : {0.0, seeds < 5 ? 0.25 : 0.5})
        for (const double optimum : {8e-3, 1.1e-2}) {
          CAPTURE(seeds);
          CAPTURE(noise);
          CAPTURE(slope);
          CAPTURE(optimum);
          Made made;
          made.seeds = seeds;
          made.noise = noise;
          made.noise_slope = slope;
          made.optimum = optimum;
          const Coverage found = coverage_of(made, draws, 7);
          // 2.5 standard errors of a share of that many draws.
          const double sampling =
              2.5 * std::sqrt(least_covered * (1 - least_covered) / found.inside);
          CHECK(found.inside > draws / 2);
          CHECK(found.part > least_covered - sampling);
          CHECK(found.part < most_covered + sampling);
        }
}

TEST_CASE("optimum: an offset of a whole seed neither moves the optimum nor widens its error") {
  Normal first(3), second(3);
  Made made;
  const std::vector<CurvePoint> plain = made.draw(first);
  std::vector<CurvePoint> moved = plain;
  for (CurvePoint& point : moved)
    for (std::size_t seed = 0; seed < point.losses.size(); ++seed)
      point.losses[seed] += 7.0 * static_cast<double>(seed);
  const CurveOptimum a = curve_optimum(plain), b = curve_optimum(moved);
  // Losses of 20 where those of the other curve are 2, differences of 1e-2.
  constexpr double operations = 1e5;
  CHECK(a.value == rounded(b.value, operations));
  CHECK(a.log_error == rounded(b.log_error, operations));
}

TEST_CASE("optimum: a minimum that is not inside of the grid is called so") {
  const auto kind = [](const std::vector<double>& losses) {
    return curve_optimum(curve_of(losses)).kind;
  };
  CHECK(kind({1, 2, 3, 4, 5}) == OptimumKind::lower_edge);
  CHECK(kind({5, 4, 3, 2, 1}) == OptimumKind::upper_edge);
  CHECK(kind({5, 4, 3, infinite, infinite}) == OptimumKind::at_divergence);
  CHECK(kind({5, 4, 3, std::nan(""), 2.5}) == OptimumKind::upper_edge);
  CHECK(kind({infinite, 3, 4, 5, 6}) == OptimumKind::at_divergence);
  CHECK(kind({infinite, infinite, infinite}) == OptimumKind::diverged);
  CHECK(kind({2, 2, 2, 2, 2}) == OptimumKind::lower_edge);
  CHECK(kind({2.001, 2, 2, 2, 2.001}) == OptimumKind::inside);
  const CurveOptimum beside = curve_optimum(curve_of({5, 4, 3, infinite, infinite}));
  CHECK(beside.value == rounded(4e-3, 4));
  CHECK(beside.log_error == rounded(std::log(4.0) / std::sqrt(12.0), 100));
  const CurveOptimum edge = curve_optimum(curve_of({5, 4, 3, 2, 1}));
  CHECK(edge.value == rounded(1.6e-2, 4));
  CHECK(edge.loss == 1);
  CHECK(std::isnan(edge.log_error));
  CHECK(std::isnan(curve_optimum(curve_of({infinite, infinite, infinite})).value));
}

TEST_CASE("optimum: values that diverged bound the parabola") {
  // One seed of three is enough.
  Made made;
  made.seeds = 3;
  Normal normal(5);
  std::vector<CurvePoint> curve = made.draw(normal);
  curve[6].losses[1] = std::nan("");
  curve[7].losses = {infinite, infinite, infinite};
  const CurveOptimum found = curve_optimum(curve);
  CHECK(found.kind == OptimumKind::inside);
  CHECK(found.last < 6);
  CHECK(std::fabs(std::log(found.value / made.optimum)) < 4 * found.log_error);
  curve[found.last].losses[0] = std::nan("");
  CHECK(curve_optimum(curve).last < found.last);
}

TEST_CASE("optimum: a plateau in the noise is no minimum") {
  Normal normal(11);
  Made made;
  made.curvature = 0;
  constexpr int draws = 2000;
  int inside = 0;
  for (int i = 0; i < draws; ++i)
    if (has_place(curve_optimum(made.draw(normal)).kind)) ++inside;
  // A curvature is above two of its errors by chance in some 0.03 of parabolas, more often in those
  // whose middle was chosen for being low; a good tenth would be a fault.
  CHECK(inside < draws / 10);
}

TEST_CASE("optimum: a flat bottom between what lies above it has a place") {
  // As under sgd: falling, level within the noise of the seeds, then diverged.
  std::vector<CurvePoint> curve = {{1e-3, {3.0, 3.1, 3.05}},   {2e-3, {2.5, 2.52, 2.47}},
                                   {4e-3, {2.01, 2.0, 2.02}},  {8e-3, {2.0, 2.01, 2.005}},
                                   {16e-3, {2.02, 1.99, 2.0}}, {32e-3, {2.0, 2.0, 2.02}},
                                   {64e-3, {2.01, 2.0, 2.0}},  {128e-3, {infinite, 2, 2}}};
  const CurveOptimum found = curve_optimum(curve);
  CHECK(found.kind == OptimumKind::flat_bottom);
  CHECK(has_place(found.kind));
  CHECK(found.value == rounded(16e-3, 16));
  CHECK(found.log_error == rounded(std::log(64.0) / std::sqrt(12.0), 100));
  // Not where one side is level to the end of the grid.
  curve.pop_back();
  CHECK(curve_optimum(curve).kind == OptimumKind::not_convex);
}

TEST_CASE("optimum: of two minima that are as good, the other is named") {
  const CurveOptimum found =
      curve_optimum(curve_of({3.2, 2.4, 2.0, 2.4, 3.0, 3.4, 3.0, 2.4, 2.0, 2.5}));
  CHECK(found.kind == OptimumKind::inside);
  CHECK(found.last < 5);
  CHECK(found.rival == rounded(1e-3 * 256, 4));
  CHECK(std::isnan(
      curve_optimum(curve_of({3.2, 2.4, 2.0, 2.4, 3.0, 3.4, 3.0, 2.6, 2.3, 2.5})).rival));
}

TEST_CASE("optimum: of one seed the scatter about the parabola is the error") {
  const CurveOptimum four = curve_optimum(curve_of({3.1, 2.0, 2.45, 4.1}));
  CHECK(four.kind == OptimumKind::inside);
  CHECK(four.log_error > 0);
  const CurveOptimum three = curve_optimum(curve_of({3, 2, 2.5}));
  CHECK(three.kind == OptimumKind::inside);
  CHECK(std::isnan(three.log_error));
}

TEST_CASE("optimum: what is no curve is refused") {
  check_refused(curve_of({1, 2}), "a minimum needs three values at least");
  std::vector<CurvePoint> curve = curve_of({3, 2, 3});
  curve[1].losses.push_back(2);
  check_refused(curve, "the points have unequal seeds");
  curve = curve_of({3, 2, 3});
  std::swap(curve[0], curve[1]);
  check_refused(curve, "values are above 0 and rise");
  curve = curve_of({3, 2, 3});
  curve[0].value = 0;
  check_refused(curve, "values are above 0 and rise");
}

TEST_CASE("optimum law: the exponent of drawn optima, within its error as often as it says") {
  const std::vector<double> sizes = {32, 64, 128, 256};
  constexpr int draws = 1500;
  for (const double exponent : {-1.0, -0.5, 0.0}) {
    CAPTURE(exponent);
    Normal normal(13);
    int covered = 0, fitted = 0;
    double sum = 0;
    for (int i = 0; i < draws; ++i) {
      std::vector<CurveOptimum> optima;
      for (const double size : sizes) {
        Made made;
        made.optimum = 1e-2 * std::pow(size / 90, exponent);
        optima.push_back(curve_optimum(made.draw(normal)));
      }
      const OptimumLaw law = optimum_law(sizes, optima);
      if (law.sizes < 3) continue;
      ++fitted;
      sum += law.exponent - exponent;
      if (std::fabs(law.exponent - exponent) <= 2 * law.standard_error) ++covered;
    }
    const double part = static_cast<double>(covered) / fitted;
    const double sampling = 2.5 * std::sqrt(least_covered * (1 - least_covered) / fitted);
    CHECK(fitted > draws / 2);
    CHECK(part > least_covered - sampling);
    CHECK(part <= 1);
    // Optima of some 0.1 over sizes whose logarithms have a spread of 0.8: 0.07 a draw, of which
    // the mean of that many has an error of 0.002.
    CHECK(std::fabs(sum / fitted) < 0.01);
  }
}

TEST_CASE("optimum law: curves that are steeper on one side have the same power") {
  Normal unused(1);
  Made made;
  made.seeds = 1;
  made.offset = made.noise = 0;
  made.skew = 0.02;
  const auto found_at = [&](double optimum) {
    made.optimum = optimum;
    return curve_optimum(made.draw(unused));
  };
  // Where the grid's points lie about the optimum moves the vertex.
  double least = infinite, most = -infinite;
  constexpr int phases = 64;
  for (int i = 0; i < phases; ++i) {
    const double optimum = 8e-3 * std::pow(2.0, static_cast<double>(i) / phases);
    const double off = std::log(found_at(optimum).value / optimum);
    least = std::min(least, off);
    most = std::max(most, off);
  }
  CHECK(most - least < std::numbers::ln2);
  const std::vector<double> sizes = {1, 2, 4, 8};
  for (const double exponent : {-1.0, -0.7, -0.3, 0.0}) {
    std::vector<CurveOptimum> optima;
    for (const double size : sizes) {
      optima.push_back(found_at((exponent < -0.5 ? 3.5e-2 : 1e-2) * std::pow(size, exponent)));
      REQUIRE(optima.back().kind == OptimumKind::inside);
      optima.back().log_error = 1;
    }
    // Of x = -1.5, -0.5, 0.5, 1.5 times ln 2: sum |x|/sum x^2 = 0.8/ln 2, each off by half the
    // range.
    const double bound = 0.8 / std::numbers::ln2 * (most - least) / 2;
    CHECK(std::fabs(optimum_law(sizes, optima).exponent - exponent) < bound + 1e-9);  // rounding
  }
}

TEST_CASE("optimum law: what has no minimum is left out") {
  const std::vector<double> sizes = {32, 64, 128};
  CurveOptimum inside{OptimumKind::inside, 1e-2, 2, 0.1, 1, 0, 4};
  CurveOptimum half = inside, edge = inside;
  half.value = 5e-3;
  edge.kind = OptimumKind::upper_edge;
  const OptimumLaw law = optimum_law(sizes, {inside, half, edge});
  CHECK(law.sizes == 2);
  // Logarithms of sizes whose squares cancel to a hundredth.
  CHECK(law.exponent == rounded(-1, 1e4));
  // Of two sizes: both errors over ln 2.
  CHECK(law.standard_error == rounded(0.1 * std::numbers::sqrt2 / std::numbers::ln2, 1e4));
  CHECK(law.at(64) == rounded(5e-3, 1e4));
  CurveOptimum beside = half;
  beside.kind = OptimumKind::at_divergence;
  CHECK(optimum_law(sizes, {inside, beside, edge}).exponent == law.exponent);
  CHECK(optimum_law(sizes, {inside, edge, edge}).sizes == 1);
  CHECK(std::isnan(optimum_law(sizes, {inside, edge, edge}).exponent));
  CHECK(optimum_law({}, {}).sizes == 0);
}

}  // namespace scalecalc
