#include <cmath>
#include <set>

#include "claims/enclosed.hpp"
#include "claims/sample.hpp"
#include "claims/worst.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;
using namespace scalecalc::test;
using claims::Domain;
using claims::Order;
using claims::Sample;
using claims::SymbolDomain;
using claims::Values;

namespace {

Domain of_kind(Domain::Kind kind) {
  Domain domain;
  domain.kind = kind;
  if (kind == Domain::Kind::interval) domain.low = -1;
  return domain;
}
const std::vector<Domain::Kind> kinds = {Domain::Kind::positive, Domain::Kind::real,
                                         Domain::Kind::integer, Domain::Kind::interval};

}  // namespace

TEST_CASE("points lie within their domains, are the same every time, and differ by symbol") {
  for (const Domain::Kind kind : kinds) {
    const std::vector<SymbolDomain> symbols = {{"a", of_kind(kind)}, {"b", of_kind(kind)}};
    const claims::SampleCounts counts{40, 12, 12, 12, 1000000000, true};
    const std::vector<Sample> samples = claims::sample_points(symbols, counts, 1);
    int together = 0, ordinary = 0;
    for (const Sample& sample : samples) {
      for (const SymbolDomain& symbol : symbols) {
        INFO(symbol.first << " = " << sample.at.at(symbol.first).to_string());
        CHECK(symbol.second.contains(sample.at.at(symbol.first)));
      }
      ordinary += sample.ordinary ? 1 : 0;
      together += sample.ordinary && sample.at.at("a") == sample.at.at("b") ? 1 : 0;
    }
    CHECK(ordinary == 40);
    CHECK(together < 20);
    const std::vector<Sample> again = claims::sample_points(symbols, counts, 1);
    REQUIRE(again.size() == samples.size());
    for (std::size_t k = 0; k < again.size(); ++k) CHECK(again[k].at == samples[k].at);
  }
}

TEST_CASE("each symbol meets both signs, both sizes, its ends and numbers that are not whole") {
  const auto seen = [](Domain::Kind kind, auto property) {
    const claims::SampleCounts counts{36, 12, 12, 0, 1000000000, true};
    for (const Sample& sample : claims::sample_points({{"a", of_kind(kind)}}, counts, 0))
      if (property(sample.at.at("a").to_double())) return true;
    return false;
  };
  for (const Domain::Kind kind : {Domain::Kind::positive, Domain::Kind::real}) {
    // How far out points are to be, on either side and beside the ends.
    CHECK(seen(kind, [](double a) { return std::abs(a) <= 1e-9 && a != 0; }));
    CHECK(seen(kind, [](double a) { return a >= 1e9; }));
    CHECK(seen(kind, [](double a) { return a == 1; }));
    CHECK(seen(kind, [](double a) { return a != std::floor(a); }));
  }
  CHECK(seen(Domain::Kind::real, [](double a) { return a == 0; }));
  CHECK(seen(Domain::Kind::real, [](double a) { return a <= -1e6; }));
  // As near to both ends.
  CHECK(seen(Domain::Kind::interval, [](double a) { return a > 1 - 1e-9; }));
  CHECK(seen(Domain::Kind::interval, [](double a) { return a < -1 + 1e-9; }));
  CHECK(seen(Domain::Kind::interval, [](double a) { return a == 0; }));
  CHECK(seen(Domain::Kind::integer, [](double a) { return std::fmod(a, 2) == 1 && a > 1; }));
  CHECK(seen(Domain::Kind::integer, [](double a) { return a >= 1e9; }));
}

TEST_CASE("the search goes downhill to a narrow valley and stops below 0") {
  const std::vector<SymbolDomain> symbols = {{"a", Domain{}}, {"b", Domain{}}};
  const Values start = {{"a", {1, 4}}, {"b", 3}};
  const claims::Room valley = [](const Values& at) -> std::optional<double> {
    const double a = at.at("a").to_double(), b = at.at("b").to_double();
    return std::pow(std::log(a / b), 2) + std::pow(std::log(b / 7), 2) - 1e-9;
  };
  const Values found = claims::least_room(symbols, start, valley, {800, 1e-8});
  CHECK(*valley(found) < 0);
  // Within the valley a is 7 up to the root of 2e-9, its depth.
  CHECK(found.at("a").to_double() == doctest::Approx(7).epsilon(1e-3));
}

TEST_CASE("sides are compared with certainty where doubles cancel or overflow") {
  const auto order = [](const char* left, const char* right, Rational q) {
    return claims::order_at(parse(left), parse(right), {{"q", std::move(q)}});
  };
  const Rational tiny(1, 1000000000000), large(1000000000000);
  CHECK(order("sqrt(1 + q^2) - 1", "q^2/(1 + sqrt(1 + q^2))", tiny) == Order::equal);
  CHECK(order("sin(q)", "q", tiny) == Order::less);
  CHECK(order("exp(q)", "exp(q)*(1 + 1/10^40)", large) == Order::less);
  CHECK(order("exp(q) - exp(-q)", "2*sinh(q)", large) == Order::equal);
  CHECK_FALSE(order("sqrt(1 - q)", "1", large).has_value());
}

TEST_CASE("a bound is followed to its worst point, which is shown with both sides") {
  const ClaimResult formula = check_one("q^2 + 16 >= 8.000001*q");
  CHECK_FALSE(formula.holds);
  CHECK(formula.methods.at(0).point == "q = 4");
  CHECK(*formula.methods.at(0).left_value == 32);
  // One product, of a decimal that is rounded to a double.
  CHECK(*formula.methods.at(0).right_value == rounded(32.000004, 2));
  // E silu(z)^2/q falls to 0.25 at q = 0 and rises to 0.5: the bound breaks where q is large.
  const ClaimResult number =
      check_one("E[silu(z)^2] <= 0.499*q", "let = { z = 'normal(0, q)' }\nby = ['quadrature']");
  CHECK_FALSE(number.holds);
  CHECK(*number.methods.at(0).left_value > 0.499 / 0.5 * *number.methods.at(0).right_value);
  CHECK(check_one("E[silu(z)^2] < q/2", "let = { z = 'normal(0, q)' }").holds);
}

TEST_CASE("points count only with a value, and too few of them leave a claim undecided") {
  const ClaimResult claim = check_one("asin(q) + acos(q) + sqrt(q)^2 == pi/2 + q*1.5 - q/2");
  CHECK(claim.holds);
  CHECK_FALSE(complaint(claim_text("asin(2 + q) == acos(2 + q)")).empty());
}

TEST_CASE("words that stand for no number are no names") {
  for (const char* word : {"nan", "NaN", "inf", "Inf", "INFINITY", "undefined", "null", "True"}) {
    const std::string name = word;
    INFO(name);
    const std::string use =
        "[[claim]]\nlet = { z = 'normal(0, " + name + ")' }\nassert = '1 == 1'\n";
    CHECK(says(complaint(use), "(test.toml:2:24)"));
    CHECK(says(complaint(claim_text(name + " == 1")), "(test.toml:2:11)"));
    CHECK(says(complaint(claim_text("1 == 1", "let = { " + name + " = 'real' }")), "test.toml:3:"));
    CHECK(says(complaint(claim_text("1 == 1", "for = { " + name + " = [1] }")), "test.toml:3:"));
    CHECK(says(complaint(claim_text("sum(" + name + ", 1, 2, 1) == 2")), "(test.toml:2:15)"));
    CHECK(says(complaint(claim_text("q < 1", "let = { q = 'in (0, " + name + ")' }")),
               "the ends of an interval are numbers (test.toml:3:"));
  }
}

TEST_CASE("iterated integrals far out refuse nothing that is true") {
  const ClaimResult claim =
      check_one("E[sqrt(1 + w^2)] == E[sqrt(1 + (z - y)^2)]",
                "let = { z = 'normal(0, a)', y = 'normal(0, b)', w = 'normal(0, a + b)' }");
  CHECK(claim.holds);
  CHECK(method_of(claim, ClaimMethod::quadrature) != nullptr);
}

TEST_CASE("a verdict says proved, refuted, or at how many points") {
  CHECK(verdict_of(check_one("(q + 1)^2 == q^2 + 2*q + 1")) == "proved");
  CHECK(verdict_of(check_one("q == r", "fails = true")) == "refuted");
  CHECK(verdict_of(check_one("q == r")) == "does not hold");
  CHECK(verdict_of(check_one("E[silu(z)^2] ~= 0.3558")) == "checked");
  const ClaimResult sampled = check_one("tanh(a)*tanh(b) < 1");
  CHECK(sampled.holds);
  CHECK(verdict_of(sampled) ==
        "checked at " + std::to_string(sampled.methods.at(0).points) + " points");
  CHECK(sampled.methods.at(0).points >= 60);
  const ClaimsReport report{{{"test.toml", "", {sampled}}}};
  CHECK(says(junit_xml(report), "<system-out>" + verdict_of(sampled) + "</system-out>"));
}
