#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "moment_names.hpp"
#include "quadrature_support.hpp"
#include "scalecalc/gaussian.hpp"

using namespace scalecalc;

namespace {

struct Row {
  std::string activation, mean, variance, correlation, digits;
  Moment moment = Moment::mean;
  double value = 0;

  GaussianInput input() const {
    GaussianInput input{
        std::strtod(mean.c_str(), nullptr), std::strtod(variance.c_str(), nullptr), {}};
    if (!correlation.empty()) input.correlation = std::strtod(correlation.c_str(), nullptr);
    return input;
  }
};

std::vector<Row> read_rows() {
  std::ifstream file(SCALECALC_TABLES_DIR "/reference/gaussian.csv");
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    Row row;
    std::string moment;
    for (std::string* cell :
         {&row.activation, &moment, &row.mean, &row.variance, &row.correlation, &row.digits}) {
      std::getline(cells, *cell, ',');
    }
    row.moment = moment_of(moment);
    row.value = std::strtod(row.digits.c_str(), nullptr);
    rows.push_back(row);
  }
  return rows;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = read_rows();
  return all;
}

std::string name_of(const Row& row) {
  return row.activation + " " + to_string(row.moment) + " mean " + row.mean + " variance " +
         row.variance + " correlation " + row.correlation;
}

/// What a mean that vanishes is measured by.
double size_of(const Activation& phi, Moment moment, GaussianInput input) {
  input.correlation.reset();
  if (moment == Moment::slope_mean || moment == Moment::slope_cross) {
    return phi.has_jump() ? 1.0 : std::sqrt(quadrature(phi, Moment::slope_second, input).value);
  }
  return std::sqrt(quadrature(phi, Moment::second, input).value);
}

constexpr double epsilon = 0x1p-52;

/// "0.00123" as 0.123 and -2, so that digits far below the smallest double can be compared.
std::pair<long double, int> scaled(std::string digits) {
  const std::size_t first = digits.find_first_of("123456789");
  if (first == std::string::npos) return {0, 0};
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const int power = first < point ? static_cast<int>(point - first)
                                  : static_cast<int>(point + 1) - static_cast<int>(first);
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  digits.erase(0, digits.find_first_of("123456789"));
  return {std::strtold(("0." + digits).c_str(), nullptr), power};
}

}  // namespace

TEST_CASE("the table holds every activation") {
  for (const ActivationInfo& info : activations()) {
    CAPTURE(info.name);
    CHECK(std::any_of(rows().begin(), rows().end(),
                      [&](const Row& row) { return row.activation == info.name; }));
  }
}

TEST_CASE("quadrature has the digits of the reference, within its own small error") {
  REQUIRE(rows().size() > 1600);
  for (const Row& row : rows()) {
    const std::string name = name_of(row);
    CAPTURE(name);
    const Activation phi = Activation::named(row.activation);
    const Estimate found = quadrature(phi, row.moment, row.input());
    CAPTURE(found.error);
    CHECK(found.method == Method::quadrature);
    // The decimals of the table are not doubles: an input may be half a unit off.
    CHECK(std::fabs(found.value - row.value) <= found.error + 2 * epsilon * std::fabs(row.value));
    const double size = size_of(phi, row.moment, row.input());
    // Waves turn by what a rounding of x is, and a value below all doubles has an error of the
    // smallest of them.
    const bool is_wave = row.activation == "sin" || row.activation == "cos";
    const double turn = is_wave ? epsilon * std::sqrt(row.input().variance) : 0;
    CHECK(found.error <=
          turn + std::max({stated_share * std::fabs(row.value), stated_share / 10 * size, 1e-300}));
  }
}

TEST_CASE("digits by the other code path agree with the reference") {
  constexpr int digits = 20;
  int seen = 0;
  for (const Row& row : rows()) {
    const bool is_first = row.moment == Moment::mean || row.moment == Moment::slope_second;
    const bool is_pair_wanted = row.activation == "silu" || row.activation == "sigmoid";
    const bool is_slow = row.activation == "sin" || row.activation == "cos";
    const bool wanted =
        (row.mean == "0.75" && is_first) ||
        (row.variance == "1e8" && row.mean == "0" && row.moment == Moment::second) ||
        (row.variance == "1" && row.correlation == "0.5" && is_pair_wanted);
    if (!wanted || is_slow || row.digits == "0") continue;
    const std::string name = name_of(row);
    CAPTURE(name);
    std::optional<Expr> c;
    if (!row.correlation.empty()) c = Expr(Rational::parse(row.correlation));
    const auto [value, power] = scaled(quadrature_digits(
        Activation::named(row.activation), row.moment, Expr(Rational::parse(row.mean)),
        Expr(Rational::parse(row.variance)), c, digits));
    const auto [expected, expected_power] = scaled(row.digits);
    CHECK(power == expected_power);
    // Long doubles hold 19 digits.
    CHECK(std::fabs(value - expected) <= 2 * std::numeric_limits<long double>::epsilon());
    ++seen;
  }
  CHECK(seen > 80);
}

TEST_CASE("all moments at once are those one by one") {
  for (const char* name : {"relu", "tanh", "softsign", "hardshrink"}) {
    CAPTURE(name);
    const Activation phi = Activation::named(name);
    const GaussianInput input{0.25, 3.0, {}};
    const Moments1D all = quadrature_1d(phi, input);
    CHECK(all.mean.value == quadrature(phi, Moment::mean, input).value);
    CHECK(all.second.value == quadrature(phi, Moment::second, input).value);
    CHECK(all.slope_mean.value == quadrature(phi, Moment::slope_mean, input).value);
    CHECK(all.fourth.value == quadrature(phi, Moment::fourth, input).value);
    CHECK(all.slope_second.has_value() == !phi.has_jump());
    if (all.slope_second) {
      CHECK(all.slope_second->value == quadrature(phi, Moment::slope_second, input).value);
    }
  }
}

TEST_CASE("closed forms agree with the reference digits to a few units in the last place") {
  int found = 0;
  for (const Row& row : rows()) {
    const std::string name = name_of(row);
    CAPTURE(name);
    const auto value =
        closed_form_value(Activation::named(row.activation), row.moment, row.input());
    if (!value) continue;
    ++found;
    CHECK(std::fabs(value->value - row.value) <= 4 * epsilon * std::fabs(row.value));
  }
  CHECK(found > 900);
}

TEST_CASE("Monte Carlo agrees within six standard errors") {
  // Some 120 comparisons: one past 6 standard errors comes once in a million runs.
  for (const ActivationInfo& info : activations()) {
    if (info.name == "exp") continue;  // the fourth moment of exp(4u) is beyond any sample
    MonteCarloOptions options;
    options.samples = 1 << 18;
    const Activation phi = Activation::named(info.name);
    const auto sampled = monte_carlo(phi, {0, 1, {}}, options);
    // What is rarer than one in all samples is not seen (relu6 above 6).
    const double unseen = 1.0 / static_cast<double>(options.samples);
    for (const Row& row : rows()) {
      if (row.activation != info.name || row.mean != "0" || row.variance != "1") continue;
      if (is_pair(row.moment) || !sampled.count(row.moment)) continue;
      const std::string name = name_of(row);
      CAPTURE(name);
      const Estimate& estimate = sampled.at(row.moment);
      CHECK(std::fabs(estimate.value - row.value) <= 6 * estimate.error + unseen);
    }
  }
}
