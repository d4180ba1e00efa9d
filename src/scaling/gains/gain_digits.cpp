#include "scalecalc/gains.hpp"
#include "scaling/gains/digits.hpp"
#include "scaling/gains/expectation.hpp"
#include "scaling/gains/root.hpp"

namespace scalecalc {
namespace {

using namespace gains_room;

class GainDigits {
 public:
  GainDigits(const Activation& activation, const Rational& mean, const Rational& variance,
             int digits)
      : activation_(activation), mean_(mean), variance_(variance), digits_(digits) {}

  std::map<std::string, std::string> run() {
    const Gains known = gains(activation_, {mean_.to_double(), variance_.to_double(), {}});
    const Rational second = moment(Moment::second, variance_);
    if (known.second) add("gain_second", inverse_root(second));
    if (known.variance) {
      const Rational shift = moment(Moment::mean, variance_);
      add("gain_variance", inverse_root(second - shift * shift));
    }
    if (known.backward) backward(known, second);
    if (known.q_slope) add("q_slope", slope_at(variance_, second));
    if (known.activation && mean_.is_zero()) scale(known.activation->value);
    return std::move(found_);
  }

 private:
  Rational moment(Moment moment, const Rational& variance) const {
    return precise_moment(activation_, moment, mean_, variance, digits_ + guard);
  }
  static Expr inverse_root(const Rational& value) { return pow(Expr(value), Rational(-1, 2)); }
  void add(const std::string& name, const Expr& value) { found_[name] = digits_of(value, digits_); }

  void backward(const Gains& known, const Rational& second) {
    const Rational slope = moment(Moment::slope_second, variance_);
    add("gain_backward", inverse_root(slope));
    if (known.compromise) add("gain_compromise", pow(Expr(second * slope), Rational(-1, 4)));
  }

  Expr slope_at(const Rational& variance, const Rational& second) const {
    return precise_log_slope(activation_, mean_, variance, second, digits_ + guard);
  }

  /// s^2 solves E phi(s u)^2 = 1.
  void scale(double start) {
    const Precise excess = [this](const Rational& square, int working) {
      return precise_moment(activation_, Moment::second, 0, square * variance_, working) - 1;
    };
    const Rational square = precise_root(excess, start * start, digits_ + guard);
    add("gain_activation", pow(Expr(square), Rational(1, 2)));
    add("q_slope_activation", slope_at(square * variance_, 1));
  }

  const Activation& activation_;
  Rational mean_, variance_;
  int digits_;
  std::map<std::string, std::string> found_;
};

}  // namespace

std::map<std::string, std::string> gain_digits(const Activation& activation, const Rational& mean,
                                               const Rational& variance, int digits) {
  return GainDigits(activation, mean, variance, digits).run();
}

}  // namespace scalecalc
