#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>

#include "claims/expectation.hpp"
#include "scalecalc/activation.hpp"

namespace scalecalc::claims {
namespace {

using Kind = Expr::Kind;

/// Past this many standard deviations a normal density is below 1e-17.
constexpr double tail = 8.7;

class QuadratureRules : public ExpectationRules {
 public:
  QuadratureRules(Engine& engine, bool with_planes) : engine_(engine), with_planes_(with_planes) {}

  Expr one(const Expr& f, const Gaussian& x) override {
    Expr coefficient = 1, rest = 1;
    for (const Expr& factor : f.kind() == Kind::product ? f.operands() : std::vector<Expr>{f}) {
      Expr& part = factor.contains(x.name) ? rest : coefficient;
      part = part * factor;
    }
    const GaussianInput input = input_of(x, std::nullopt);
    return coefficient * engine_.leaf(quadrature(activation(rest, x), Moment::mean, input));
  }

  Expr pair(const Expr& f, const Gaussian& u, const Expr& correlation) override {
    const Activation phi = activation(f, u);
    const double c = engine_.value(correlation);
    Estimate result = quadrature(phi, Moment::cross, input_of(u, c));
    if (is_steep(c)) {
      const Estimate beside = quadrature(phi, Moment::cross, input_of(u, std::nextafter(c, 0.0)));
      result.error += std::abs(beside.value - result.value);
    }
    return engine_.leaf(result);
  }

  Expr plane(const Expr& f, const Gaussians& gaussians, const Gaussian& x,
             const Gaussian& y) override {
    if (!with_planes_) throw NotApplicable{"not asked for functions of two variables"};
    // Of widths that differ by orders of magnitude the rule sees one, and its error says nothing.
    if (engine_.is_far_out())
      throw NotApplicable{"functions of two variables are integrated at ordinary sizes only"};
    const Expr body = engine_.without_leaves(f);
    const double mean_x = engine_.value(x.mean), mean_y = engine_.value(y.mean);
    const double std_x = std::sqrt(engine_.value(x.variance));
    const double std_y = std::sqrt(engine_.value(y.variance));
    const double c =
        std_x > 0 && std_y > 0
            ? std::clamp(engine_.value(gaussians.covariance(x, y)) / (std_x * std_y), -1.0, 1.0)
            : 0.0;
    Bindings at;
    const auto average = [&](double correlation) {
      return of_standard([&](double a, double b) {
        const double other = std::sqrt((1 - correlation) * (1 + correlation));
        at[x.name] = mean_x + std_x * a;
        at[y.name] = mean_y + std_y * (correlation * a + other * b);
        return evaluate(body, at);
      });
    };
    Estimate result = average(c);
    if (is_steep(c)) {
      const Estimate beside = average(std::nextafter(c, 0.0));
      result.error += std::abs(beside.value - result.value);
    }
    return engine_.leaf(result);
  }

  std::optional<Expr> monomial(const std::vector<std::pair<std::string, int>>& powers,
                               const Gaussians& gaussians) override {
    if (powers.size() > 2) return isserlis(powers, gaussians);
    return std::nullopt;
  }

 private:
  /// Near 1 and -1 a formula may rise as 1/sqrt(1 - c^2), and the rounding of c shows.
  static bool is_steep(double c) { return std::abs(c) > 0.99 && std::abs(c) < 1; }

  /// Over the plane of two independent standard variables.
  template <class F>
  Estimate of_standard(const F& f) {
    const auto density = [](double z) { return std::exp(-z * z / 2) / std::sqrt(2 * M_PI); };
    double inner_error = 0, error = 0;
    const auto inner = [&](double a) {
      engine_.spend();
      double this_error = 0;
      const double value = integrate([&](double b) { return density(b) * f(a, b); }, this_error);
      inner_error = std::max(inner_error, density(a) * this_error);
      return density(a) * value;
    };
    const double value = integrate(inner, error);
    return {value, error + inner_error, Method::quadrature};
  }

  template <class F>
  static double integrate(const F& f, double& error) {
    using Rule = boost::math::quadrature::gauss_kronrod<double, 21>;
    double left = 0, right = 0;
    const double sum = Rule::integrate(f, -tail, 0.0, 9, 1e-9, &left) +
                       Rule::integrate(f, 0.0, tail, 9, 1e-9, &right);
    error = left + right;
    return sum;
  }

  Activation activation(const Expr& f, const Gaussian& x) const {
    const Expr in_x =
        substitute(engine_.without_leaves(f), {{x.name, Expr::symbol("x", Assumption::real)}});
    return Activation::from_expression(to_string(in_x));
  }

  GaussianInput input_of(const Gaussian& x, std::optional<double> correlation) const {
    return {engine_.value(x.mean), engine_.value(x.variance), correlation};
  }

  Engine& engine_;
  bool with_planes_;
};

}  // namespace

std::unique_ptr<ExpectationRules> quadrature_rules(Engine& engine, bool with_planes) {
  return std::make_unique<QuadratureRules>(engine, with_planes);
}

}  // namespace scalecalc::claims
