#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "cluster/thread_ranks.hpp"
#include "scalecalc/verify.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

Expr rule(const std::string& text) {
  ParseOptions options;
  options.otherwise = Assumption::real;
  return parse(text, options);
}

SweepOptions small() {
  SweepOptions options;
  options.model.width = 16;
  options.model.heads = 2;
  options.model.ffn = 32;
  options.model.vocab = 11;
  options.model.sequence = 6;
  options.layers = {2, 4, 8};
  options.update = rule("g");
  options.seeds = 3;
  return options;
}

std::string error_of(const SweepOptions& options) {
  try {
    sweep(options);
  } catch (const Error& error) {
    CHECK(error.exit_code() >= 2);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
  return "no error";
}

bool same_bits(const SweepResult& a, const SweepResult& b) {
  if (a.points.size() != b.points.size() || a.exponent != b.exponent) return false;
  for (std::size_t i = 0; i < a.points.size(); ++i)
    if (a.points[i].samples != b.points[i].samples || a.points[i].layers != b.points[i].layers)
      return false;
  return a.exponent_standard_error == b.exponent_standard_error;
}

void set_pair(ModelSpec& model, const std::string& alpha, const std::string& lambda) {
  model.alpha = parse(alpha);
  model.lambda = parse(lambda);
}

}  // namespace

TEST_CASE("a mixture changes the loss by each rule on its own parameters") {
  SweepOptions options = small();
  options.parameters = ParameterSet::all;
  for (const SweepEngine engine : {SweepEngine::passes, SweepEngine::quadrature}) {
    CAPTURE(to_string(engine));
    options.engine = engine;
    const auto change = [&](const char* update, const std::optional<SecondRule>& rest) {
      options.update = rule(update);
      options.rest = rest;
      return sweep(options).points.back().mean;
    };
    const double one = change("sign(g)", {}), other = change("3*g", {});
    const double mixed = change("sign(g)", SecondRule{"", rule("3*g"), {}});
    // The sum over parameters, taken in one order.
    const double epsilon = 64 * std::numeric_limits<double>::epsilon();
    CHECK(mixed + change("3*g", SecondRule{"", rule("sign(g)"), {}}) ==
          doctest::Approx(one + other).epsilon(epsilon));
    CHECK(mixed != doctest::Approx(one).epsilon(epsilon));
    CHECK(change("sign(g)", SecondRule{"", rule("sign(g)"), {}}) ==
          doctest::Approx(one).epsilon(epsilon));
    options.parameters = ParameterSet::branch;
    CHECK(change("sign(g)", SecondRule{"", rule("3*g"), {}}) == change("sign(g)", {}));
    // By role: two shares of the branches add up too.
    const std::vector<std::string> roles = {"ffn"};
    const double shared = change("sign(g)", SecondRule{"", rule("3*g"), roles});
    CHECK(shared + change("3*g", SecondRule{"", rule("sign(g)"), roles}) ==
          doctest::Approx(change("sign(g)", {}) + change("3*g", {})).epsilon(epsilon));
    CHECK(shared != doctest::Approx(change("sign(g)", {})).epsilon(epsilon));
    options.parameters = ParameterSet::all;
  }
}

TEST_CASE("ranks share depths and seeds, and every one has the bits of one process") {
  for (const int seeds : {1, 3}) {
    SweepOptions options = small();
    options.seeds = seeds;
    const SweepResult expected = sweep(options);
    for (const int size : {2, 3, 11}) {
      std::atomic<int> same = 0;
      const auto errors = on_ranks(size, [&](Ranks& ranks) {
        SweepOptions own = options;
        own.ranks = &ranks;
        own.threads = 1 + ranks.rank() % 2;
        if (same_bits(sweep(own), expected)) ++same;
      });
      CHECK(errors == std::vector<std::string>(static_cast<std::size_t>(size)));
      CHECK(same == size);
    }
  }
}

TEST_CASE("what stops one rank's sweep stops all") {
  const auto errors = on_ranks(3, [](Ranks& ranks) {
    SweepOptions options = small();
    options.ranks = &ranks;
    options.progress = [&ranks](double, const std::string&) { return ranks.rank() != 2; };
    sweep(options);
  });
  CHECK(errors == std::vector<std::string>(3, "interrupted (sweep)"));
}

TEST_CASE("points rise in depth, with scales and samples") {
  SweepOptions options = small();
  options.layers = {8, 2, 8, 4};
  set_pair(options.model, "(2*N)^(1/2)", "1/N");
  const SweepResult result = sweep(options);
  REQUIRE(result.points.size() == 3);
  CHECK(result.points[0].layers == 2);
  CHECK(result.points[2].layers == 8);
  CHECK(result.points[2].alpha == rounded(4, 8));
  CHECK(result.points[2].lambda == 0.125);
  for (const SweepPoint& point : result.points) {
    CHECK(point.samples.size() == 3);
    CHECK(point.samples[0] != point.samples[1]);
    CHECK(point.value > 0);
    CHECK(point.standard_error > 0);
  }
  CHECK(std::isfinite(result.exponent));
  CHECK(result.exponent_standard_error > 0);
}

TEST_CASE("the number of threads, the order of depths and more of them change no bit") {
  const SweepOptions options = small();
  const SweepResult one = sweep(options);
  for (const int threads : {2, 3, 16}) {
    SweepOptions other = options;
    other.threads = threads;
    CHECK(same_bits(one, sweep(other)));
  }
  SweepOptions shuffled = options;
  shuffled.layers = {8, 4, 2, 4};
  CHECK(same_bits(one, sweep(shuffled)));
  SweepOptions single = options;
  single.layers = {4};
  single.seeds = 1;
  single.threads = 2;  // all threads in one pass
  CHECK(sweep(single).points[0].samples[0] == one.points[1].samples[0]);
}

TEST_CASE("seeds count up from the given one") {
  SweepOptions options = small();
  options.layers = {2};
  const SweepResult from_0 = sweep(options);
  options.seed = 1;
  options.seeds = 2;
  const SweepResult from_1 = sweep(options);
  CHECK(from_1.points[0].samples[0] == from_0.points[0].samples[1]);
  CHECK(from_1.points[0].samples[1] == from_0.points[0].samples[2]);
}

TEST_CASE("every quantity, both precisions and an mlp") {
  for (const std::string& name : quantity_names()) {
    for (const bool single : {false, true}) {
      SweepOptions options = small();
      options.quantity = quantity_from(name);
      options.single_precision = single;
      options.layers = {2, 4};
      options.seeds = 2;
      CAPTURE(name);
      CHECK(std::isfinite(sweep(options).exponent));
    }
  }
  SweepOptions options = small();
  options.model = default_spec(ModelSpec::Kind::mlp);
  options.model.width = 16;
  CHECK(std::isfinite(sweep(options).exponent));
}

TEST_CASE("one depth has values and no exponent") {
  SweepOptions options = small();
  options.layers = {4, 4};
  const SweepResult result = sweep(options);
  CHECK(result.points.size() == 1);
  CHECK(result.points[0].value > 0);
  CHECK(std::isnan(result.exponent));
  CHECK(result.finite);
  CHECK(result.no_exponent == "an exponent needs two depths at least");
}

TEST_CASE("a stream that overflows is marked, not averaged away") {
  SweepOptions options = small();
  options.model.placement = Placement::none;
  set_pair(options.model, "10^30", "1");
  options.layers = {2, 16};
  const SweepResult result = sweep(options);
  CHECK_FALSE(result.finite);
  CHECK(std::isnan(result.exponent));
  CHECK(result.no_exponent == "a pass gave an infinity or a NaN");
}

TEST_CASE("exponents of small networks") {
  SweepOptions options = small();
  options.layers = {2, 8, 32};
  options.seeds = 6;
  options.threads = 2;
  // The pair of the plain gradient keeps its own loss change and lets that of signs grow as
  // N^(1/2). Six seeds and three short depths know an exponent to one digit.
  set_pair(options.model, "(2*N)^(1/4)", "(2*N)^(-1/4)");
  CHECK(std::fabs(sweep(options).exponent) < 0.2);
  options.update = rule("sign(g)");
  CHECK(sweep(options).exponent == doctest::Approx(0.5).epsilon(0.3));
  // The pair of signs keeps theirs, again to one digit.
  set_pair(options.model, "(2*N)^(1/2)", "(2*N)^(-1/2)");
  CHECK(std::fabs(sweep(options).exponent) < 0.2);
}

TEST_CASE("progress rises to 1 and may stop the run") {
  SweepOptions options = small();
  options.threads = 2;
  double last = -1;
  bool falls = false;
  options.progress = [&](double done, const std::string& what) {
    falls = falls || done < last;
    last = done;
    CHECK(what.starts_with("N = "));
    return true;
  };
  sweep(options);
  CHECK_FALSE(falls);
  CHECK(last == rounded(1, 400));

  options.progress = [](double done, const std::string&) { return done < 0.3; };
  CHECK_THROWS_WITH_AS(sweep(options), "interrupted (sweep)", Error);
  options.progress = [](double, const std::string&) { return false; };
  CHECK_THROWS_WITH_AS(sweep(options), "interrupted (sweep)", Error);
  options.progress = [](double done, const std::string&) -> bool {
    if (done > 0.2) throw std::runtime_error("from the receiver");
    return true;
  };
  CHECK_THROWS_WITH_AS(sweep(options), "from the receiver", std::runtime_error);
}

TEST_CASE("wrong options are refused before any pass") {
  const auto with = [](auto change) {
    SweepOptions options = small();
    change(options);
    return error_of(options);
  };
  CHECK(with([](SweepOptions& o) { o.layers.clear(); }) ==
        "no depth to measure at (sweep); for example 2,8,32");
  CHECK(with([](SweepOptions& o) {
          o.layers = {2, 0};
        }) == "layers must be from 1 to 1000000, got 0 (sweep); use 1 to 1000000");
  CHECK(with([](SweepOptions& o) { o.layers = {1000001}; }).find("1000001") != std::string::npos);
  CHECK(with([](SweepOptions& o) { o.seeds = 0; }).starts_with("seeds must be from 1 to 10000"));
  CHECK(with([](SweepOptions& o) { o.seeds = 10001; }).starts_with("seeds must be from 1"));
  CHECK(with([](SweepOptions& o) { o.threads = 0; }).starts_with("threads must be from 1 to 1024"));
  CHECK(with([](SweepOptions& o) { o.eta = -1; }).starts_with("eta must be"));
  CHECK(with([](SweepOptions& o) { o.eta = std::nan(""); }).starts_with("eta must be"));
  CHECK(with([](SweepOptions& o) { o.model.alpha.reset(); }).starts_with("alpha is \"auto\""));
  CHECK(with([](SweepOptions& o) { o.model.lambda = 0; }).starts_with("lambda must be"));
  CHECK(with([](SweepOptions& o) { o.model.width = 17; }).starts_with("[attention] heads"));
  CHECK(with([](SweepOptions& o) { o.update = parse("x + 1"); }).find("x") != std::string::npos);
  CHECK(with([](SweepOptions& o) { o.device = "gpu"; }) != "no error");
}

TEST_CASE("a pass that cannot fit is refused with both numbers") {
  SweepOptions options = small();
  options.model.width = 64;
  options.model.heads = 4;
  options.model.ffn = 256;
  options.layers = {2, 40000};  // attention alone: 4 heads * 1000^2 * 8 bytes a layer
  options.model.sequence = 1000;
  const std::string error = error_of(options);
  CHECK(error.find("one pass needs") != std::string::npos);
  CHECK(error.find("the limit is") != std::string::npos);
  CHECK(error.find("layers = 40000") != std::string::npos);
  options.model.sequence = 6;
  options.layers = {1000000};
  CHECK_MESSAGE(error_of(options).find("laid-out layers is too large") != std::string::npos,
                error_of(options));
}

TEST_CASE("a network without counted matrices is refused") {
  SweepOptions options = small();
  options.model = default_spec(ModelSpec::Kind::mlp);
  options.model.placement = Placement::pre;
  options.model.norm = NormKind::rmsnorm;
  options.layers = {1, 4};  // one layer has no branch
  CHECK(error_of(options) ==
        "the network has no weight matrix inside a residual branch (sweep); use all parameters, or "
        "more layers");
  options.parameters = ParameterSet::all;
  CHECK(error_of(options) == "no error");
}

TEST_CASE("a sweep over widths: ffn grows with them, and the exponent is that of the width") {
  SweepOptions options = small();
  options.layers = {2};
  options.widths = {64, 16, 32, 32};
  options.seeds = 32;
  const SweepResult measured = sweep(options);
  REQUIRE(measured.points.size() == 3);
  CHECK(measured.by_width);
  CHECK(measured.points[0].width == 16);
  CHECK(measured.points[2].width == 64);
  CHECK(measured.points[2].layers == 2);
  CHECK(measured.size_of(measured.points[1]) == 32);
  options.engine = SweepEngine::quadrature;
  const SweepResult predicted = sweep(options);
  // Passes and moments agree within five standard errors of the fit, and what 1/width leaves out of
  // the moments at width 16.
  const double allowed = 5 * measured.exponent_standard_error + 1.0 / 16;
  CHECK(std::fabs(measured.exponent - predicted.exponent) < allowed);
  options.model.width = 64;
  options.model.ffn = 128;
  options.widths = {64};
  const SweepResult one = sweep(options);
  CHECK(one.points[0].value == predicted.points[2].value);
  CHECK(one.no_exponent == "an exponent needs two widths at least");
}

TEST_CASE("a sweep over widths says what is wrong with them") {
  SweepOptions options = small();
  options.widths = {16, 32};
  CHECK(error_of(options).find("depths and widths are given") != std::string::npos);
  options.layers = {2};
  options.widths = {0};
  CHECK(error_of(options).find("width must be from 1 to 1000000000") != std::string::npos);
  options.widths = {17};
  CHECK(error_of(options).find("heads") != std::string::npos);
  options.model = default_spec(ModelSpec::Kind::layers);
  options.widths = {16};
  CHECK(error_of(options).find("a list of layers has no one width") != std::string::npos);
}
