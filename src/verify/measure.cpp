#include "verify/measure.hpp"

#include <cmath>
#include <limits>

#include "scalecalc/optimizer_mixture.hpp"
#include "scalecalc/passes.hpp"
#include "verify/dot.hpp"

namespace scalecalc {
namespace {

double total(const std::vector<double>& parts) {
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

/// Passes over one draw. Sums are kept by parameter and added in the parameters' order.
template <class Real>
class Meter {
 public:
  using Matrix = MatrixView<Real>;

  Meter(const Network& network, const Measurement& measurement)
      : measurement_(measurement),
        passes_(network,
                {measurement.seed, measurement.threads, measurement.device, measurement.recompute}),
        power_(measurement.rest ? std::nullopt : global_norm_power(measurement.update)) {
    if (needs_update(measurement.quantity) && needs_norm_first()) ++stages_;
    if (measurement.quantity == Quantity::actual_delta_loss) ++stages_;
  }

  double value() {
    switch (measurement_.quantity) {
      case Quantity::delta_loss: return delta_loss(nullptr);
      case Quantity::actual_delta_loss: return actual_delta_loss();
      case Quantity::grad_norm: return gradient_norm();
      case Quantity::update_ratio: return update_ratio();
      case Quantity::probe: return probe();
    }
    return std::nan("");
  }

 private:
  using Directions = std::vector<std::vector<Real>>;

  /// Backward; `visit(index, parameter, gradient)` for each parameter that counts. Returns the
  /// loss.
  template <class Visit>
  double run(Visit visit) {
    const std::vector<ParameterInfo>& infos = passes_.parameters();
    std::size_t seen = 0;
    const double loss = passes_.backward([&](std::size_t index, Matrix gradient) {
      if (counts(infos[index], measurement_.parameters))
        visit(index, passes_.parameter(index), gradient);
      report(static_cast<double>(++seen) / static_cast<double>(infos.size()));
    });
    ++stage_;
    return loss;
  }

  void report(double share) const {
    if (measurement_.advance) measurement_.advance((stage_ + share) / stages_);
  }

  std::vector<double> zeros() const { return std::vector<double>(passes_.parameters().size()); }
  bool is_matrix(std::size_t index) const { return passes_.parameters()[index].is_matrix; }

  double gradient_norm() {
    std::vector<double> squares = zeros();
    run([&](std::size_t i, Matrix, Matrix g) { squares[i] = dot(g.data, g.data, g.size()); });
    return std::sqrt(total(squares));
  }

  /// The step of one matrix; a norm over all gradients stands in as 1 where its power is known.
  const std::vector<Real>& step(std::size_t index, Matrix theta, Matrix g) {
    step_.resize(static_cast<std::size_t>(g.size()));
    const std::optional<SecondRule>& rest = measurement_.rest;
    const bool other = rest && !steps_first(rest->first_roles, passes_.parameters()[index]);
    update_direction(other ? rest->update : measurement_.update, theta, g, streaming_norm_,
                     step_.data());
    return step_;
  }

  /// The norm over all gradients is no mere factor of the steps.
  bool needs_norm_first() const {
    const bool uses = uses_global_norm(measurement_.update) ||
                      (measurement_.rest && uses_global_norm(measurement_.rest->update));
    return uses && !power_;
  }

  void prepare_global_norm() {
    if (needs_norm_first()) streaming_norm_ = gradient_norm();
  }

  double correction(const std::vector<double>& squares) const {
    return power_ ? std::pow(std::sqrt(total(squares)), power_->to_double()) : 1.0;
  }

  /// Sum of <g, u>; keeps the corrected steps when asked to.
  double delta_loss(Directions* directions) {
    prepare_global_norm();
    std::vector<double> products = zeros(), squares = zeros();
    if (directions != nullptr) directions->resize(products.size());
    loss_ = run([&](std::size_t i, Matrix theta, Matrix g) {
      const std::vector<Real>& u = step(i, theta, g);
      products[i] = dot(g.data, u.data(), g.size());
      if (power_) squares[i] = dot(g.data, g.data, g.size());
      if (directions != nullptr) (*directions)[i] = u;
    });
    step_scale_ = correction(squares);
    return total(products) * step_scale_;
  }

  /// Loss at theta - eta u; moves there from where the last call left theta.
  double loss_at(const Directions& directions, double eta) {
    for (std::size_t i = 0; i < directions.size(); ++i)
      if (!directions[i].empty())
        passes_.add(i, directions[i].data(), (position_ - eta) * step_scale_);
    position_ = eta;
    return passes_.loss();
  }

  /// (L(0) - L(eta))/eta, by the given eta or extrapolated to 0.
  double actual_delta_loss() {
    Directions directions;
    const double first = delta_loss(&directions);
    const auto ratio = [&](double eta) { return (loss_ - loss_at(directions, eta)) / eta; };
    if (measurement_.eta > 0) return ratio(measurement_.eta);
    if (first == 0 || !std::isfinite(first)) return first;
    return extrapolate(ratio, 1e-4 * loss_ / std::fabs(first));
  }

  /// 2 D(eta/2) - D(eta) is free of the second order. eta starts where it changes the loss by a
  /// small share of itself, and falls until the two steps agree; if they never do, the pair that
  /// agrees best is taken.
  template <class Ratio>
  static double extrapolate(Ratio ratio, double eta) {
    double best = 0, least = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < 6 && least > 0.001; ++attempt, eta /= 16) {
      const double whole = ratio(eta), half = ratio(eta / 2);
      const double disagreement = std::fabs(whole / half - 1);
      if (disagreement < least || attempt == 0) {
        best = 2 * half - whole;
        least = disagreement;
      }
    }
    return best;
  }

  double update_ratio() {
    prepare_global_norm();
    std::vector<double> ratios = zeros(), squares = zeros();
    std::size_t matrices = 0;
    run([&](std::size_t i, Matrix theta, Matrix g) {
      if (power_) squares[i] = dot(g.data, g.data, g.size());
      if (!is_matrix(i)) return;
      const std::vector<Real>& u = step(i, theta, g);
      ratios[i] = dot(u.data(), u.data(), g.size()) / dot(theta.data, theta.data, g.size());
      ++matrices;
    });
    return std::sqrt(total(ratios) / static_cast<double>(matrices)) * correction(squares);
  }

  /// dL/dlambda = <g, U> = <g, W>/lambda.
  double probe() {
    std::vector<double> squares = zeros();
    std::size_t matrices = 0;
    run([&](std::size_t i, Matrix theta, Matrix g) {
      if (!is_matrix(i)) return;
      const double slope =
          dot(g.data, theta.data, g.size()) / fitted_scale(theta.data, theta.rows, theta.columns);
      squares[i] = slope * slope;
      ++matrices;
    });
    return std::sqrt(total(squares) / static_cast<double>(matrices));
  }

  const Measurement& measurement_;
  Passes<Real> passes_;
  std::optional<Rational> power_;
  std::vector<Real> step_;
  double streaming_norm_ = 1, step_scale_ = 1, loss_ = 0, position_ = 0;
  int stage_ = 0, stages_ = 1;
};

bool is_global_norm(const Expr& expr) {
  return expr.kind() == Expr::Kind::function && expr.name() == "global_norm";
}

}  // namespace

bool counts(const ParameterInfo& info, ParameterSet set) {
  return set == ParameterSet::all || (info.in_branch && info.is_matrix);
}

bool needs_update(Quantity quantity) {
  return quantity == Quantity::delta_loss || quantity == Quantity::actual_delta_loss ||
         quantity == Quantity::update_ratio;
}

bool in_single_precision(const SweepOptions& options) {
  return options.single_precision && options.quantity != Quantity::actual_delta_loss;
}

std::optional<Rational> global_norm_power(const Expr& rule) {
  if (is_global_norm(rule)) return Rational(1);
  if (rule.kind() == Expr::Kind::power && is_global_norm(rule.operands()[0]) &&
      rule.operands()[1].is_number())
    return rule.operands()[1].number();
  if (rule.kind() != Expr::Kind::product) return {};
  std::optional<Rational> power;
  for (const Expr& factor : rule.operands()) {
    if (!uses_global_norm(factor)) continue;
    const std::optional<Rational> of_factor = global_norm_power(factor);
    if (!of_factor) return {};
    power = power.value_or(Rational(0)) + *of_factor;
  }
  return power;
}

template <class Real>
double measure(const Network& network, const Measurement& measurement) {
  return Meter<Real>(network, measurement).value();
}
template double measure<float>(const Network&, const Measurement&);
template double measure<double>(const Network&, const Measurement&);

}  // namespace scalecalc
