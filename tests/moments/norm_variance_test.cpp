#include "moments/norm_variance.hpp"

#include <cmath>
#include <string_view>

#include "moments/width_moments.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

TEST_CASE("what width needs of relu") {
  const WidthMoments w = width_moments(Activation::named("relu"), 0, 2);
  // Steps of 0.04: the kink costs their square.
  CHECK(w.exponent == near(1, 2e-3));
  CHECK(std::fabs(w.curvature) < 2e-3);
  CHECK(w.kurtosis == near(6, 2e-3));
  // E X^3 - 3 E X^2 + 2 of X = 2 z^2 [z > 0].
  CHECK(w.third == near(60 - 18 + 2, 5e-3));
  CHECK(w.slope_kurtosis == near(2, 0.02));
  CHECK(w.covariance(1) == near(5, 2e-3));
  CHECK(w.covariance(0) == 0);
}

// Of moments m_k of relu(z): E phi^3(u)phi(v) is m_3 m_1 at c = 0 and m_4 at 1.
TEST_CASE("squares of relu features beside their products with another token's") {
  const WidthMoments w = width_moments(Activation::named("relu"), 0, 1);
  const double m1 = 1 / std::sqrt(2 * std::acos(-1.0)), m2 = 0.5, m3 = 2 * m1, m4 = 1.5;
  const double square = m1 * m1, variance = m2 - square;
  const double fourth = m4 - 4 * m1 * m3 + 6 * square * m2 - 3 * square * square;
  // Steps of 0.04: the kink costs their square.
  constexpr double kink = 2e-3;
  CHECK(w.lean(0).noise == near(m3 * m1 / (m2 * square) - 1, kink));
  CHECK(w.lean(1).noise == near(m4 / (m2 * m2) - 1, kink));
  // |u| doubles, phi(u)phi(v) does: half of it by either.
  for (const double c : {0.0, 0.3, 1.0}) CHECK(w.lean(c).rise == near(0.5, kink));
  // K = (q/2 pi) (sqrt(1 - c^2) + (pi - acos c) c), whose slope in c is (q/2 pi) (pi - acos c).
  const double pi = std::acos(-1.0);
  // The series' last term stands for all that follow: the less of them the farther c is from 1.
  for (const double c : {0.3, 0.6, 0.8}) {
    const double angle = pi - std::acos(c);
    CHECK(w.lean(c).slope == near(c * angle / (std::sqrt(1 - c * c) + angle * c), 5 * kink));
  }
  CHECK(w.variance == near(variance, kink));
  CHECK(w.variance_exponent == near(1, kink));
  CHECK(w.centred_kurtosis == near(fourth / (variance * variance), kink));
  CHECK(w.centred_lean(1).noise == near(fourth / (variance * variance) - 1, kink));
  // q^2 d^2/dq^2 of sqrt(q) m1.
  CHECK(w.mean_curvature == near(-m1 / 4, kink));
}

// u and w of square orthogonal weights are points of two spheres: E u^2 w^2 is m^2, and the mean of
// n products has E u^4 = 3n/(n + 2) and E u_1^2 u_2^2 = n/(n + 2) of either, n(n + 8)/(n + 2)^2 in
// all.
TEST_CASE("two factors of fixed sizes keep the mean of their product") {
  const double width = 64, exact = width * (width + 8) / ((width + 2) * (width + 2)) - 1;
  const WidthMoments phi = width_moments(Activation::named("identity"), 0, 1);
  const NormVariance fixed = through_gate({}, phi, {0, 1, 0, 0}, 0, width, {1, 1});
  // The next order of both.
  CHECK(fixed.token_variance == near(exact, 16 / width));
  CHECK(std::fabs(fixed.mean_shift) < 1e-9);  // by quadrature
  // Of normal weights behind an x of variance v the same as ever: (e (e - 1)/2) v, e = 2.
  NormVariance normal;
  const double v = 0.1;
  normal.token_variance = v + 2 / width;
  CHECK(through_gate(normal, phi, {0, 1, 0, 0}, 2, width, {1, 1}).mean_shift == near(v, 1e-9));
}

// |u|^2 of Gaussian tokens in d dimensions: variance 2/d, 2 c^2/d of two, 2/d with u.v at every c.
// relu is homogeneous, so that of nearly equal tokens |y|^2 goes with y.z as with itself.
TEST_CASE("sizes of nearly equal tokens behind relu go with their overlap") {
  const double d = 64, width = 1e9, c = 0.999;
  NormVariance spread;
  spread.token_variance = 2 / d + 2 / width;
  spread.batch_variance = (1 + c * c) / d + (1 + c * c) / width;
  const WidthMoments relu = width_moments(Activation::named("relu"), 0, 1);
  const Passage passed{.slope = 1, .noise = 5 / width};
  const NormVariance y = through_activation(spread, passed, relu, Pairs{0, 1, c, 0}, width, {2, 1});
  // K has a term (1 - c)^1.5 beside c there, the series' last one stands for what is cut.
  CHECK(std::fabs(y.decorrelation) < 2 / d * 0.02);
}

// Jensen: E X^2 >= (E X)^2; of a unit that is off everywhere there is nothing that could fluctuate.
TEST_CASE("kurtoses are not below 1, those of dead units neither") {
  for (const char* name : {"relu", "gelu", "tanh", "silu", "abs", "max(x - 1/2, 0)"})
    for (const double variance : {0.0, 1e-12, 1e-3, 1.0, 100.0}) {
      CAPTURE(name);
      CAPTURE(variance);
      const Activation phi = std::string_view(name).find('(') == std::string_view::npos
                                 ? Activation::named(name)
                                 : Activation::from_expression(name);
      const WidthMoments w = width_moments(phi, 0, variance);
      CHECK(w.kurtosis >= 1);
      CHECK(w.slope_kurtosis >= 1);
    }
}

// docs/theory/finite-width.md#log-variance: 5/n a layer, and 18.5/n^2 in the next order. Measured
// over many seeds: 0.40 at n = 256, 1.74 +- .04 at n = 64 for 20 layers.
TEST_CASE("twenty relu layers fluctuate as measured") {
  const auto spread = [](int width) {
    const Trace trace =
        trace_of_model("model = {kind=\"mlp\", layers=20, sequence=1, activation=\"relu\", width=" +
                       std::to_string(width) + ", features=" + std::to_string(width) +
                       "}\ninit = {scheme=\"he\"}");
    return site(trace, "layer[19].act").spread;
  };
  // The input is random too, 2/n of it.
  CHECK(spread(256) == near(20 * (5.0 / 256 + 18.5 / 65536) + 2.0 / 256, 1e-3));
  CHECK(std::fabs(spread(64) - 1.74) < 0.12);
}

TEST_CASE("averaging over tokens keeps what they share") {
  const Counts counts{10, 1};
  const NormVariance alone = gaussian_spread(Pairs{0, 1, 0, 0}, 100, counts);
  CHECK(alone.token_variance == rounded(0.02, 64));
  CHECK(alone.batch_variance == rounded(0.002, 64));
  const NormVariance together = gaussian_spread(Pairs{0, 1, 1, 0}, 100, counts);
  CHECK(together.batch_variance == rounded(0.02, 64));
}

TEST_CASE("a branch that copies the stream's size keeps its relative spread") {
  NormVariance stream, branch;
  stream.token_variance = stream.batch_variance = 0.3;
  branch.token_variance = branch.batch_variance = 0.3;
  branch.susceptibility = 1;
  const Pairs x{0, 1, 1, 0};
  const NormVariance sum = through_sum(stream, branch, x, x, 1e12, {1, 1});
  CHECK(sum.batch_variance == near(0.3, by_interpolation));
  branch.susceptibility = 0;
  CHECK(through_sum(stream, branch, x, x, 1e12, {1, 1}).batch_variance ==
        near(0.15, by_interpolation));
}

// Behind a norm over samples sizes of tokens are their own: of an attention that all of them move
// by 2 and one of them by 1/2 the sum's size has (1/2 + 1/4)^2 of their variance, where one that
// they share has (1/2 + 1)^2.
TEST_CASE("one token's size moves less of attention than that of all") {
  constexpr double many = 1e12;
  NormVariance stream, branch;
  stream.token_variance = 0.2;
  branch.susceptibility = 2;
  branch.own_ratio = 0.25;
  const Pairs x{0, 1, 0, 0};
  const NormVariance own = through_sum(stream, branch, x, x, many, {many, 1});
  CHECK(own.token_variance == near(0.2 * 0.75 * 0.75, by_interpolation));
  CHECK(own.own_ratio == near(0.5, by_interpolation));
  stream.batch_variance = 0.2;
  const NormVariance shared = through_sum(stream, branch, x, x, many, {many, 1});
  CHECK(shared.token_variance == near(0.2 * 1.5 * 1.5, by_interpolation));
}

TEST_CASE("the mean moves by half the curvature times the variance") {
  const WidthMoments w = width_moments(Activation::named("square"), 0, 1);
  // E u^4 = 3 q^2: exponent 2, q^2 f''/f = 2.
  CHECK(w.exponent == near(2, by_interpolation));
  CHECK(w.curvature == near(2, by_interpolation));
  NormVariance in;
  in.token_variance = in.batch_variance = 0.1 + 2e-6;
  const auto square = [](double scale) {
    return size_moments(Activation::named("square"), 0, scale);
  };
  const Passage passed = passage(square, w, log_size(in, 1e6), 1e6);
  const NormVariance out = through_activation(in, passed, w, Pairs{0, 1, 1, 0}, 1e6, {1, 1});
  // A lognormal of variance v has E q^2 = e^v (E q)^2.
  CHECK(out.mean_shift == near(std::expm1(0.1), 1e-4));
}

TEST_CASE("a homogeneous map keeps any spread") {
  const auto sizes = [](double scale) { return size_moments(Activation::named("relu"), 0, scale); };
  const double v = 9;
  const Passage made = passage(sizes, width_moments(Activation::named("relu"), 0, 1), {0, v}, 1e9);
  // Sums at steps of 0.04 of a variance.
  CHECK(made.slope == near(1, 1e-3));
  CHECK(made.rest < 1e-3 * v);
  CHECK(std::fabs(made.back_mean) < 1e-3);
}

// The slope of hard_tanh jumps at 1: E phi'^2 = P(|z| < 1/sqrt(q)). Two breaks, each off by at most
// the square of a step, 0.04, times the slope 0.24 of the density, halved.
TEST_CASE("a jump of the slope between the points of the sum") {
  for (const double q : {0.3, 0.7, 1.1}) {
    const double within = std::erf(1 / std::sqrt(2 * q));
    CHECK(size_moments(Activation::named("hard_tanh"), 0, q).slope == near(within, 4e-4 / within));
  }
}

TEST_CASE("gradients are infinite width's, and a plain stack knows those of its own width too") {
  const std::string stack = "model = {kind=\"mlp\", layers=12, sequence=1, activation=\"tanh\", ";
  const Trace trace = trace_of_model(stack + "width=64, features=64}\ninit = {scheme=\"he\"}");
  const Trace wide =
      trace_of_model(stack + "width=1000000, features=1000000}\ninit = {scheme=\"he\"}");
  for (const char* path : {"layer[0].linear", "layer[6].act"}) {
    const double ratio = site(trace, path).grad_second_finite / site(trace, path).grad_second.value;
    const double none = site(wide, path).grad_second_finite / site(wide, path).grad_second.value;
    CHECK(ratio > 1.01);
    // What is left is of the order of layers/width.
    CHECK(std::fabs(none - 1) < 100.0 / 1e6);
  }
  const ParameterMoments& weight = parameter(trace, "layer[0].linear.weight");
  CHECK(weight.grad_second_finite > 1.01 * weight.grad_second.value);
}

TEST_CASE("draws part ways where the map of the second moment is steeper than 1") {
  const auto parts = [](const std::string& activation) {
    const Trace trace = trace_of_model(
        "model = {kind=\"mlp\", layers=40, sequence=1, width=32, "
        "features=32, activation=\"" +
        activation + "\"}\ninit = {scheme=\"he\"}");
    for (const Premise& premise : trace.assumptions)
      if (premise.text.find("part ways") != std::string::npos) {
        const Site& last = site(trace, "layer[39].act");
        CHECK_FALSE(premise.holds);
        CHECK(std::isnan(last.second_typical));
        CHECK(std::isnan(last.second_finite));
        CHECK(last.second.truncation > std::expm1(3.0) * last.second.value);
        const Site& first = site(trace, "layer[0].linear");
        CHECK(std::isnan(first.grad_second_finite));
        CHECK(first.grad_second.truncation > 0);
        return true;
      }
    return false;
  };
  for (const char* unstable : {"gelu", "silu", "mish", "quick_gelu", "hard_swish"})
    CHECK_MESSAGE(parts(unstable), unstable);
  for (const char* stable : {"relu", "tanh", "elu", "sigmoid", "softplus"})
    CHECK_MESSAGE(!parts(stable), stable);
}

TEST_CASE("two tokens of a sum fluctuate together as one does where they are nearly equal") {
  // A branch that follows the stream's size: Cov(x_t.x_t, x_t.x_u) has to follow it too, else a
  // norm behind the sum would make a cosine larger than 1.
  const Pairs x{0, 1, 1, 0};
  NormVariance stream, branch;
  stream.token_variance = stream.batch_variance = 0.2;
  branch.token_variance = branch.batch_variance = 0.25;
  branch.susceptibility = 1;
  const NormVariance sum = through_sum(stream, branch, x, x, 64, {2, 1});
  CHECK(std::fabs(sum.decorrelation) < rounding(64));
}

TEST_CASE("the mix of Gaussian tokens is Gaussian, that of equal tokens fluctuates as they do") {
  const Counts counts{16, 1};
  const Pairs x{0, 1, 0.5, 0};
  const Mixed mix{{0, 0.6, 0.52, 0}, 0.8, 0.2};
  const NormVariance gaussian = through_mix(gaussian_spread(x, 32, counts), x, mix, 32, counts);
  CHECK(gaussian.token_variance == near(2.0 / 32));
  CHECK(gaussian.batch_variance == near(2.0 / 32 * pairs_squared(mix.y, counts)));
  // Tokens of one length: what p picks alone keeps it.
  const NormVariance none = through_mix(NormVariance{}, x, {{0, 1, 0.5, 0}, 0.5, 1}, 32, counts);
  CHECK(none.token_variance == 0);
  CHECK(none.batch_variance == 0);
}

TEST_CASE("where draws part ways what was not known before is not forgotten") {
  RelativeError large{20, 30}, small{0.1, 0.2};
  for (RelativeError* error : {&large, &small}) add_range(*error, std::log(3.0));
  CHECK(large.second == 20);
  CHECK(large.cross == 30);
  CHECK(small.second == rounded(2, 8));
  CHECK(small.cross == rounded(2, 8));
}
