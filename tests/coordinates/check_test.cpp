#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scalecalc/coordinates.hpp"
#include "scalecalc/error.hpp"

using namespace scalecalc;

namespace {

ModelSpec block_model(std::int64_t width, std::int64_t layers) {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.placement = Placement::pre;
  spec.layers = layers;
  spec.width = width;
  spec.ffn = 2 * width;
  spec.heads = 2;
  spec.sequence = 6;
  spec.vocab = 40;
  spec.input.kind = InputKind::tokens;
  return spec;
}

CoordinateOptions by_width(const std::vector<std::int64_t>& widths, const std::string& optimizer,
                           const char* parametrization) {
  CoordinateOptions options;
  for (const std::int64_t width : widths)
    options.sizes.push_back({static_cast<double>(width), block_model(width, 2)});
  options.optimizer = optimizer;
  if (parametrization) options.parametrization = parametrization_from(parametrization);
  return options;
}

const CoordinateSite& site_of(const CoordinateCheck& check, const std::string& path) {
  const auto found = std::ranges::find(check.sites, path, &CoordinateSite::path);
  if (found == check.sites.end()) throw Error(ErrorKind::fault, "no site " + path, "test");
  return *found;
}

double mean_of(const std::vector<double>& draws) {
  double sum = 0;
  for (const double draw : draws) sum += draw;
  return sum / static_cast<double>(draws.size());
}
double error_of(const std::vector<double>& draws) {
  const double mean = mean_of(draws), count = static_cast<double>(draws.size());
  double squares = 0;
  for (const double draw : draws) squares += (draw - mean) * (draw - mean);
  return std::sqrt(squares / (count - 1) / count);
}

}  // namespace

TEST_CASE(
    "coordinates: parametrisations that are one up to a factor of multiplier and std move "
    "every site alike") {
  // Under Adam mup, spectral and the tables of maximal updates are one (same_parametrization).
  for (const char* optimizer : {"adamw", "sgd", "muon+adamw"}) {
    CAPTURE(optimizer);
    const std::vector<std::int64_t> widths = {16, 64};
    TransferProblem problem;
    problem.axes = {GrowthAxis::width};
    problem.optimizer = transfer_optimizer(
        optimizer, std::string(optimizer).starts_with("muon") ? "shape" : "none");
    problem.model = transfer_model(block_model(16, 2), problem.axes);
    problem.parametrization = parametrization_from("mup");
    int alike = 0;
    for (const char* other : {"spectral", "depth-mup", "complete-p", "ntk", "standard"}) {
      if (!same_parametrization(problem, parametrization_from(other)).same) continue;
      CAPTURE(other);
      ++alike;
      CoordinateOptions options = by_width(widths, optimizer, "mup");
      options.seeds = 2;
      options.steps = 3;
      const CoordinateCheck first = coordinate_check(options);
      options.parametrization = parametrization_from(other);
      const CoordinateCheck second = coordinate_check(options);
      REQUIRE(first.sites.size() == second.sites.size());
      for (std::size_t i = 0; i < first.sites.size(); ++i)
        for (std::size_t size = 0; size < widths.size(); ++size)
          for (std::size_t step = 0; step <= 3; ++step)
            for (std::size_t seed = 0; seed < 2; ++seed) {
              CAPTURE(first.sites[i].path);
              // Powers of ratios are rounded one by one: a few units in the last place, which three
              // steps of Adam, whose first is a sign, multiply.
              CHECK(second.sites[i].points[size].change[step][seed] ==
                    doctest::Approx(first.sites[i].points[size].change[step][seed]).epsilon(1e-6));
            }
    }
    CHECK(alike >= 3);
  }
}

TEST_CASE("coordinates: the base has its own numbers under every parametrisation") {
  CoordinateOptions options = by_width({16, 32}, "adamw", nullptr);
  options.seeds = 2;
  options.steps = 2;
  const CoordinateCheck own = coordinate_check(options);
  for (const std::string& name : parametrization_names()) {
    CAPTURE(name);
    options.parametrization = parametrization_from(name);
    const CoordinateCheck other = coordinate_check(options);
    for (std::size_t i = 0; i < own.sites.size(); ++i) {
      CAPTURE(own.sites[i].path);
      CHECK(other.sites[i].points[0].second == own.sites[i].points[0].second);
      CHECK(other.sites[i].points[0].change == own.sites[i].points[0].change);
    }
  }
}

TEST_CASE("coordinates: a small first step moves sites as far as predicted at every size") {
  for (const char* optimizer : {"adamw", "sgd", "lion"})
    for (const char* parametrization : {"mup", "standard"}) {
      CAPTURE(optimizer);
      CAPTURE(parametrization);
      CoordinateOptions options = by_width({32, 64, 128}, optimizer, parametrization);
      options.seeds = 12;
      options.steps = 1;
      options.lr = optimizer == std::string("sgd") ? 1e-3 : 2e-5;
      const CoordinateCheck check = coordinate_check(options);
      CHECK(check.finite);
      CHECK(check.findings.empty());
      int compared = 0;
      for (const CoordinateSite& site : check.sites)
        for (const CoordinatePoint& point : site.points) {
          CAPTURE(site.path);
          const Figure& predicted = predicted_square(point, Coordinate::change);
          REQUIRE(predicted.is_known());
          const double measured = mean_of(point.change[1]);
          // Four standard errors, and what the rule leaves out; of the band one standard error of
          // draws is itself unknown by 1/sqrt(2 seeds).
          const double band =
              5 * error_of(point.change[1]) + predicted.error + predicted.truncation;
          CHECK(std::abs(measured - predicted.value) <= band + 0.1 * measured);
          ++compared;
        }
      CHECK(compared > 40);
    }
}

TEST_CASE("coordinates: what a model keeps moves ever more, and what mup says does not") {
  CoordinateOptions options = by_width({32, 64, 128, 256}, "adamw", nullptr);
  options.seeds = 6;
  options.steps = 4;
  const CoordinateCheck kept = coordinate_check(options);
  options.parametrization = parametrization_from("mup");
  const CoordinateCheck moved = coordinate_check(options);
  CHECK(moved.findings.empty());
  const bool names_head = std::ranges::any_of(kept.findings, [](const TransferFinding& finding) {
    return finding.tensor == "head.weight" && finding.quantity == "lr" &&
           finding.wants == Rational(-1);
  });
  CHECK(names_head);
  const std::vector<double> sizes = {32, 64, 128, 256};
  for (const char* path : {"block[*].ffn.out", "block[*].attn.v", "head"}) {
    CAPTURE(path);
    const auto grown = measured_law(sizes, site_of(kept, path), Coordinate::change, 1);
    const auto steady = measured_law(sizes, site_of(moved, path), Coordinate::change, 1);
    REQUIRE(grown);
    REQUIRE(steady);
    // Sums of fan_in terms of one sign: the power 1. The parametrisation takes it away: what is
    // left is the part that does not grow.
    CHECK(grown->exponent - 1 == doctest::Approx(0).epsilon(0.2));
    CHECK(grown->exponent > 0.8);
    CHECK(steady->exponent < 0.1);
    CHECK(steady->exponent > -0.3);
  }
}

TEST_CASE("coordinates: over depth, with the paths of all blocks together") {
  CoordinateOptions options;
  options.axis = GrowthAxis::depth;
  for (const std::int64_t layers : {2, 4, 8})
    options.sizes.push_back({static_cast<double>(layers), block_model(32, layers)});
  options.parametrization = parametrization_from("complete-p");
  options.seeds = 3;
  options.steps = 2;
  const CoordinateCheck check = coordinate_check(options);
  CHECK(check.findings.empty());
  for (const CoordinateSite& site : check.sites) CHECK(site.points.size() == 3);
  const CoordinateSite& stream = site_of(check, "block[*].ffn");
  const auto law = measured_law({2, 4, 8}, stream, Coordinate::value, 0);
  REQUIRE(law);
  const auto predicted = predicted_exponent({2, 4, 8}, stream, Coordinate::value);
  REQUIRE(predicted);
  // Of three seeds a standard error is itself known within a factor of about two.
  CHECK(std::abs(law->exponent - *predicted) < 8 * law->standard_error);
}

TEST_CASE("coordinates: stds with powers of the depth are not judged, and it is said") {
  CoordinateOptions options;
  options.axis = GrowthAxis::depth;
  for (const std::int64_t layers : {2, 4}) {
    ModelSpec spec = block_model(32, layers);
    spec.init.scheme = "gpt2";
    options.sizes.push_back({static_cast<double>(layers), spec});
  }
  options.seeds = 1;
  options.steps = 1;
  const CoordinateCheck check = coordinate_check(options);
  CHECK(check.findings.empty());
  REQUIRE(check.remarks.size() == 1);
  CHECK(check.remarks.front().find("powers of its depth") != std::string::npos);
}

TEST_CASE("coordinates: layers without a rule are measured without a prediction") {
  CoordinateOptions options = by_width({16, 32}, "adamw", "mup");
  for (CoordinateSize& size : options.sizes) size.model.dropout = 0.1;
  options.seeds = 1;
  options.steps = 1;
  const CoordinateCheck check = coordinate_check(options);
  const CoordinateSite& head = site_of(check, "head");
  CHECK(head.points[0].change[1].size() == 1);
  CHECK_FALSE(predicted_square(head.points[0], Coordinate::change).is_known());
  CHECK(head.points[1].predicted_second.is_known());
  CHECK(std::ranges::any_of(check.remarks, [](const std::string& remark) {
    return remark.starts_with("no prediction of the first step");
  }));
}

TEST_CASE("coordinates: steps that blow up are told from numbers that fit") {
  CoordinateOptions options;
  for (const std::int64_t width : {16, 32}) {
    ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
    spec.width = width;
    spec.layers = 4;
    spec.activation = "x";
    spec.loss = Loss::mse;
    options.sizes.push_back({static_cast<double>(width), spec});
  }
  options.parametrization = parametrization_from("mup");
  options.optimizer = "sgd";
  options.lr = 1e6;
  options.seeds = 1;
  options.steps = 8;
  CHECK_FALSE(coordinate_check(options).finite);
}

TEST_CASE("coordinates: a mixture has two rates, and each moves its own parameters") {
  CoordinateOptions options = by_width({16, 32}, "muon+adamw", "mup");
  options.seeds = 1;
  options.steps = 1;
  options.lr = options.rest_lr = 1e-3;
  const auto moved = [&](const char* path) {
    return site_of(coordinate_check(options), path).points[0].change[1][0];
  };
  const double table = moved("embedding"), query = moved("block[*].attn.q");
  options.rest_lr = 4e-3;
  // Rows of the table go by AdamW; its first step is a sign, and linear in the rate.
  CHECK(moved("embedding") == doctest::Approx(16 * table));
  options.rest_lr = 1e-3;
  options.lr = 4e-3;
  CHECK(moved("embedding") == table);
  CHECK(moved("block[*].attn.q") > 4 * query);
}

TEST_CASE("coordinates: each tensor of a mixture of one rule has the rate of its own part") {
  CoordinateOptions options = by_width({16, 32}, "adam(head)+adam", nullptr);
  options.seeds = 1;
  options.steps = 1;
  options.lr = 0.1;
  options.rest_lr = 0.001;
  const CoordinateCheck check = coordinate_check(options);
  CHECK(check.base_lr.at("head.weight") == 0.1);
  CHECK(check.base_lr.at("block[*].attn.q.weight") == 0.001);
}

TEST_CASE("coordinates: what the solver says of a set-up stands among the remarks") {
  CoordinateOptions options = by_width({16, 32}, "adam", "standard");
  options.seeds = 1;
  options.steps = 1;
  const CoordinateCheck check = coordinate_check(options);
  CHECK(std::ranges::any_of(check.remarks, [](const std::string& remark) {
    return remark.find("once features align with it logits grow") != std::string::npos;
  }));
}

TEST_CASE("coordinates: refuses sizes that do not rise, no learning rate, and no steps") {
  CoordinateOptions options = by_width({16, 32}, "adamw", "mup");
  const auto refused = [](const CoordinateOptions& wrong) {
    CHECK_THROWS_AS(coordinate_check(wrong), Error);
  };
  CoordinateOptions one = options, falling = options, still = options, none = options,
                    seedless = options, unknown = options, restless = options;
  one.sizes.pop_back();
  std::swap(falling.sizes[0], falling.sizes[1]);
  still.lr = 0;
  restless.rest_lr = 0;
  none.steps = 0;
  seedless.seeds = 0;
  unknown.optimizer = "adamant";
  for (const CoordinateOptions& wrong : {one, falling, still, none, seedless, unknown, restless})
    refused(wrong);
}

TEST_CASE(
    "coordinates: powers of the first step are those of the predicted curves over 8 x width") {
  struct Rule {
    const char* name;
    double lr;
  };
  for (const Rule& rule :
       {Rule{"sgd", 1e-3}, {"adamw", 1e-4}, {"lion", 1e-4}, {"muon+adamw", 1e-3}, {"lamb", 1e-3}})
    for (const char* parametrization : {"standard", "mup", "ntk", "spectral"}) {
      CAPTURE(rule.name);
      CAPTURE(parametrization);
      CoordinateOptions options = by_width({64, 128, 256, 512}, rule.name, parametrization);
      options.lr = options.rest_lr = rule.lr;
      options.seeds = 6;
      options.steps = 1;
      options.passes.threads = 2;
      const CoordinateCheck check = coordinate_check(options);
      CHECK(check.findings.empty());
      const std::vector<double> sizes = {64, 128, 256, 512};
      for (const CoordinateSite& site : check.sites) {
        CAPTURE(site.path);
        const auto law = measured_law(sizes, site, Coordinate::change, 1);
        const auto predicted = predicted_exponent(sizes, site, Coordinate::change);
        REQUIRE(law);
        REQUIRE(predicted);
        // 0.05 is what is asked; the rest is chance: one of some hundred comparisons with six
        // seeds each lies beyond three standard errors.
        CHECK(std::abs(law->exponent - *predicted) <= 0.05 + 3 * law->standard_error);
      }
    }
}

TEST_CASE("coordinates: bands of the first step are no wider than 5% where tokens are few") {
  struct Rule {
    std::string name;
    double lr, rest_lr;
  };
  for (const Rule& rule : {Rule{"sgd", 1e-4, 1e-4},
                           {"adamw", 2e-6, 2e-6},
                           {"lion", 2e-6, 2e-6},
                           {"muon+adamw", 2e-5, 2e-6},
                           {"lamb", 2e-5, 2e-5}})
    for (const char* parametrization : {"standard", "mup", "ntk", "spectral"}) {
      CAPTURE(rule.name);
      CAPTURE(parametrization);
      CoordinateOptions options = by_width({320, 448, 576}, rule.name, parametrization);
      for (CoordinateSize& size : options.sizes) {
        size.model.layers = 1;
        size.model.sequence = 4;
        size.model.vocab = 400;
      }
      options.lr = rule.lr;
      options.rest_lr = rule.rest_lr;
      options.seeds = options.steps = 1;
      const CoordinateCheck check = coordinate_check(options);
      for (const CoordinateSite& site : check.sites)
        for (const CoordinatePoint& point : site.points) {
          CAPTURE(site.path);
          const Figure& said = predicted_square(point, Coordinate::change);
          CHECK(said.truncation <= 2 * 0.05 * said.value);  // of the square twice that
        }
    }
}
