#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/deadline.hpp"
#include "scalecalc/gains.hpp"
#include "scaling/gains/digits.hpp"
#include "scaling/gains/expectation.hpp"
#include "scaling/gains/root.hpp"

namespace scalecalc {
namespace {

using namespace gains_room;

class Digits {
 public:
  Digits(const Activation& activation, const Gains& known, const Rational& mean,
         const Rational& variance, int digits)
      : activation_(activation), known_(known), mean_(mean), variance_(variance), digits_(digits) {}

  GainDigits run() {
    if (known_.second) attempt({"gain_second"}, &Digits::forward);
    if (known_.variance) attempt({"gain_variance"}, &Digits::centred);
    if (known_.backward) attempt({"gain_backward"}, &Digits::backward);
    if (known_.compromise) attempt({"gain_compromise"}, &Digits::compromise);
    if (known_.q_slope) attempt({"q_slope"}, &Digits::slope);
    if (known_.activation && mean_.is_zero())
      attempt({"gain_activation", "q_slope_activation"}, &Digits::scale);
    return std::move(result_);
  }

 private:
  /// What one gain lacks leaves the others as they are.
  void attempt(std::initializer_list<const char*> names, void (Digits::*part)()) {
    const auto out_of_reach = [&](const std::string& reason) {
      for (const char* name : names)
        if (!result_.found.contains(name)) result_.out_of_reach[name] = reason;
    };
    try {
      (this->*part)();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::fault) throw;
      out_of_reach(error.message());
    } catch (const base::DeadlinePassed& passed) {
      out_of_reach(passed.what());
    }
  }

  Rational moment(Moment moment) const {
    return precise_moment(activation_, moment, mean_, variance_, digits_ + guard);
  }
  Rational second() {
    if (!second_) second_ = moment(Moment::second);
    return *second_;
  }
  Rational slope_second() {
    if (!slope_second_) slope_second_ = moment(Moment::slope_second);
    return *slope_second_;
  }
  static Expr inverse_root(const Rational& value) { return pow(Expr(value), Rational(-1, 2)); }
  void add(const std::string& name, const Expr& value) {
    result_.found[name] = digits_of(value, digits_);
  }

  void forward() { add("gain_second", inverse_root(second())); }
  void centred() {
    const Rational shift = moment(Moment::mean);
    add("gain_variance", inverse_root(second() - shift * shift));
  }
  void backward() { add("gain_backward", inverse_root(slope_second())); }
  void compromise() {
    add("gain_compromise", pow(Expr(second() * slope_second()), Rational(-1, 4)));
  }
  void slope() { add("q_slope", slope_at(variance_, second())); }

  Expr slope_at(const Rational& variance, const Rational& second) const {
    return precise_log_slope(activation_, mean_, variance, second, digits_ + guard);
  }

  /// s^2 solves E phi(s u)^2 = 1; its relative error is that of E phi^2 by the slope of ln E phi^2.
  void scale() {
    const double start = known_.activation->value;
    const double slope = std::fabs(known_.q_slope_activation.value_or(0));
    const int lost = slope > 0 ? static_cast<int>(std::ceil(-std::log10(slope))) : guard;
    const Precise excess = [this](const Rational& square, int working) {
      return precise_moment(activation_, Moment::second, 0, square * variance_, working) - 1;
    };
    const Rational square =
        precise_root(excess, start * start, digits_ + 5 + std::clamp(lost, 0, guard));
    add("gain_activation", pow(Expr(square), Rational(1, 2)));
    add("q_slope_activation", slope_at(square * variance_, 1));
  }

  const Activation& activation_;
  const Gains& known_;
  Rational mean_, variance_;
  int digits_;
  std::optional<Rational> second_, slope_second_;
  GainDigits result_;
};

}  // namespace

GainDigits gain_digits(const Activation& activation, const Gains& known, const Rational& mean,
                       const Rational& variance, int digits) {
  return Digits(activation, known, mean, variance, digits).run();
}

}  // namespace scalecalc
