#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc {
namespace {

/// A row of tables/reference/gradient_growth.csv: a simulated block in numpy, with standard errors.
struct Growth {
  std::string activation;
  std::int64_t width = 0;
  double mean = 0, mean_error = 0, variance = 0, variance_error = 0;
};

std::vector<Growth> simulated_growth() {
  std::ifstream file(SCALECALC_TABLES_DIR "/reference/gradient_growth.csv");
  std::vector<Growth> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    for (char& c : line)
      if (c == ',') c = ' ';
    Growth row;
    std::istringstream(line) >> row.activation >> row.width >> row.mean >> row.mean_error >>
        row.variance >> row.variance_error;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

// A block has two norms, each of a factor 1 + o with o = E[1/s2]E[s2] - 1 of at most (2 + 1/2)/n,
// whose square is left out; the variance has 1/n alone, and features' noise to a product of two: as
// large a share of it. Rates are rounded to four decimals.
TEST_CASE("gradients of post-norm blocks grow as simulated ones do") {
  const std::vector<Growth> rows = simulated_growth();
  REQUIRE(rows.size() == 8);
  for (const Growth& row : rows) {
    ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
    spec.activation = row.activation;
    spec.width = row.width;
    spec.ffn = 4 * row.width;
    const BlockMoments moments = block_moments(spec);
    const double order = 2.5 / static_cast<double>(row.width), rounding = 0.5e-4;
    CAPTURE(row.activation);
    CAPTURE(row.width);
    CHECK(std::fabs(moments.rate.to_double() - row.mean) <
          2 * order * order + 3 * row.mean_error + rounding);
    CHECK(std::fabs(moments.spread.to_double() - row.variance) <
          order * row.variance + 3 * row.variance_error + rounding);
  }
}

TEST_CASE("blocks that differ in the scale of their norms have no moments of one block") {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.placement = Placement::pre;
  spec.norm_scale = parse("l^(-1/2)");
  CHECK_THROWS_AS(block_moments(spec), Error);
  CHECK_THROWS_AS(propagate_symbolic(spec), Error);
}

TEST_CASE("tokens that are alike have moments under every norm, eps and placement") {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.width = 16;
  spec.heads = 2;
  spec.ffn = 32;
  spec.sequence = 4;
  spec.vocab = 8;
  for (const std::string& placement : placement_names()) {
    spec.placement = placement_from(placement);
    for (const NormKind norm : {NormKind::layernorm, NormKind::rmsnorm}) {
      spec.norm = norm;
      for (const double eps : {0.0, 1e-12, 1e-8, 1e-5, 1e-3, 0.1}) {
        spec.norm_eps = eps;
        CAPTURE(placement);
        CAPTURE(eps);
        // Of placements that have an equation.
        try {
          const BlockMoments moments = block_moments(spec);
          CHECK(std::isfinite(moments.growth.to_double()));
          CHECK(std::isfinite(moments.kappa.to_double()));
          CHECK(std::isfinite(moments.rate.to_double()));
        } catch (const Error& error) {
          if (error.kind() != ErrorKind::usage) FAIL_CHECK(error.what());
        }
      }
    }
  }
}

}  // namespace scalecalc
