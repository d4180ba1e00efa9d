#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::test;

namespace {
void check_proved(const std::string& assertion, const std::string& more = "") {
  INFO(assertion);
  const ClaimResult claim = check_one(assertion, more);
  CHECK(claim.holds);
  CHECK(claim.methods.at(0).proved);
}
}  // namespace

TEST_CASE("sums and products with a symbolic end are proved") {
  check_proved("sum(k, 1, n, 1) == n");
  check_proved("sum(k, 1, n, k^3) == n^2*(n + 1)^2/4");
  check_proved("sum(k, 0, n, 2^(-k)) == 2 - 2^(-n)");
  check_proved("sum(k, a, b, k) == (b*(b + 1) - a*(a - 1))/2");
  check_proved("product(k, 1, l, 2^(-1/2)) == 2^(-l/2)");
  check_proved("product(k, 1, l, k/(k + 1)) == 1/(l + 1)");
  check_proved("product(k, 1, l, sqrt(k/(k + 2))) == sqrt(2/((l + 1)*(l + 2)))");
  check_proved("product(k, 1, l, 3^k) == 3^(l*(l + 1)/2)");
}

TEST_CASE("sums with ends that are numbers are carried out") {
  check_proved("sum(k, 1, 10, k^2) == 385");
  check_proved("product(k, 1, 5, k) == 120");
  check_proved("sum(k, 3, 2, k) == 0");
  check_proved("sum(k, 1, n, 1/k) == 25/12", "for = { n = [4] }");
}

TEST_CASE("iterations, roots, integrals and extremes") {
  check_proved("iterate(m, 1, 4, m + 1/m) == 1 + 1 + 1/2 + 2/5 + 10/29");
  CHECK(check_one("root(x, 0, 2, x^2 - 2) == sqrt(2)").holds);
  CHECK(check_one("integral(x, 0, pi, sin(x)) == 2").holds);
  CHECK(check_one("largest(x, 0, 1, x - x^2) ~= 0.250000").holds);
  CHECK(check_one("largest(x, 0, 1, x - x^2).at ~= 0.5000").holds);
  CHECK(check_one("smallest(x, -1, 2, abs(x - 1/3)) ~= 0.0000").holds);
  CHECK(check_one("root(s, 1, 3, E[gelu(s*z)^2] - 1) ~= 1.46801").holds);
  CHECK(check_one("largest(a, 0, 1, gain(leaky_relu, a=a)) ~= 1.41421").holds);
}

TEST_CASE("functions of the library") {
  check_proved("deepnorm(layers=N, optimizer=sgd).lambda == (2*N)^(-1/4)");
  check_proved("deepnorm(layers=4, optimizer=adam).alpha == 8^(1/2)");
  check_proved("deepnet(encoder, layers=N).alpha == (2*N)^(1/4)");
  check_proved("family(lamb).parameter_power == 1");
  check_proved("gain(relu) == sqrt(2)");
  check_proved("gain(leaky_relu, a=1/5) == sqrt(2/(1 + 1/25))");
  check_proved("framework(pytorch, tanh) == 5/3");
  check_proved("softmax(T, 0).p2 == 1/T");
  check_proved("law(\"stream_second\", preset=\"pre-ln-12\", l=l) == 1 + l*b",
               "let = { b = 'law(\"stream_second\", preset=\"pre-ln-12\", l=1) - 1' }");
  CHECK(check_one("solve(\"self-normalizing\").alpha ~= 1.6732632423543772").holds);
  CHECK(check_one("solve(\"truncated-normal\", low=-2, high=2).variance ~= 0.7737413...").holds);
  CHECK(check_one("solve(critical_pair, sigmoid).exists == 0").holds);
  CHECK(check_one("softmax(32, 3.5).p2 ~= 0.2049").holds);
  CHECK(check_one("site(preset=\"mlp-relu\", path=\"layer[9].act\").second == 1").holds);
  CHECK(check_one("parameter(preset=\"mlp-relu\", path=\"layer[3].linear.weight\").second == 2/512")
            .holds);
  const std::string small = "preset=\"deepnet-encoder\", width=32, heads=4, ffn=128";
  CHECK(check_one("slope(delta_loss, " + small +
                  ", optimizer=sgd, layers=[2, 8, 32]) == 0 within "
                  "0.1")
            .holds);
  // Heads stay, ffn grows: as in tables/claims/width.toml, of another model.
  CHECK(check_one("slope(delta_loss, preset=\"deepnet-encoder\", heads=4, placement=pre, alpha=1, "
                  "lambda=1, scheme=lecun, vocab=32, layers=1, optimizer=sgd, "
                  "width=[64, 128, 256]) == 1 within 0.1")
            .holds);
}

TEST_CASE("real passes decide where they are asked for") {
  const std::string small =
      "preset=\"mlp-relu\", width=64, features=64, layers=3, path=\"layer[2].act\", seeds=32";
  const ClaimResult claim =
      check_one("site(" + small + ").second == 1 within 30%", "by = ['quadrature', 'passes']");
  CHECK(claim.holds);
  CHECK(method_of(claim, ClaimMethod::passes) != nullptr);
}

TEST_CASE("wrong calls name the nearest right one") {
  const auto says_of = [](const std::string& call) {
    return complaint(claim_text(call + " == 1"));
  };
  CHECK(says(says_of("deepnorm(layers=4, optimizer=adm).alpha"), "did you mean 'adam'"));
  CHECK(says(says_of("deepnorm(layers=4, optimiser=adam).alpha"), "did you mean 'optimizer'"));
  CHECK(says(says_of("deepnorm(layers=4).alpa"), "did you mean 'alpha'"));
  const std::string slope = "slope(delta_loss, preset=\"pre-ln-12\", ";
  CHECK(says(says_of(slope + "layers=[1, 2], width=[8, 16])"), "along layers or along width"));
  CHECK(says(says_of(slope + "width=[64])"), "a slope needs two widths"));
  CHECK(says(says_of("site(preset=\"mlp-rel\", path=\"head\").second"), "did you mean 'mlp-relu'"));
  CHECK(says(says_of("site(preset=\"mlp-relu\", path=\"layer[9].at\").second"), "unknown site"));
  CHECK(says(says_of("site(path=\"head\").second"), "one of preset, model and kind"));
  CHECK(says(says_of("solve(critical_pair, sigmoid).q_star"), "test.toml:2:11"));
}

TEST_CASE("exponents of transfer") {
  check_proved("transfer(mup, optimizer=adam, kind=hidden, axes=\"width\").lr == r_n^-1");
  check_proved("transfer(\"complete-p\", matrices=1, axes=\"depth\").branch == r_L^(-1/2)");
  check_proved("transfer(mup, depth_alpha=3/4, axes=\"depth\").lr == r_L^(-1/4)");
  check_proved("transfer(mup, preset=\"gpt2\", kind=norm_gain, axes=\"width\").lr == 1");
  check_proved("same(mup, spectral, optimizer=sgd) == 1");
  check_proved("same(mup, standard, optimizer=sgd) == 0");
  CHECK_FALSE(check_one("transfer(mup, optimizer=sgd).lr == r_n").holds);
  CHECK(says(complaint(claim_text("transfer(mupp).lr == 1")), "unknown parametrization"));
  CHECK(says(complaint(claim_text("transfer(mup, kind=hiden).lr == 1")), "did you mean 'hidden'"));
  CHECK(
      says(complaint(claim_text("transfer(mup, axes=\"widht\").lr == 1")), "did you mean 'width'"));
  CHECK(says(complaint(claim_text("transfer(mup, alignment=half).lr == 1")), "full, none"));
  CHECK(says(complaint(claim_text("same(mup).value == 1")), "needs second"));
  // What is out of range, or has no effect, beside what would be right.
  for (const auto& [call, why] :
       {std::pair{"transfer(mup, matrices=4294967297).lr", "from 1 to 100"},
        {"transfer(mup, matrices=0).lr", "from 1 to 100"},
        {"transfer(mup, matrices=3/2).lr", "whole number"},
        {"transfer(mup, matrices=2, axes=\"width\").lr", "none of the axes"},
        {"transfer(mup, matrices=2, preset=\"gpt2\").lr", "the model says"},
        {"transfer(mup, depth_alpha=-1/2).lr", "from 0 to 2"},
        {"transfer(mup, depth_alpha=5/2).lr", "from 0 to 2"},
        {"transfer(mup, depth_alpha=1/2, axes=\"width\").lr", "none of the axes"},
        {"transfer(mup, muon_scale=spectral).lr", "muon_scale is of muon"},
        {"transfer(mup, axes=\"heads\").lr", "of a model"},
        {"same(mup, spectral, kind=hidden)", "kind"},
        {"same(mup, spectral, depth_alpha=-1)", "from 0 to 2"}}) {
    CAPTURE(call);
    CHECK(says(complaint(claim_text(std::string(call) + " == 1")), why));
  }
}
