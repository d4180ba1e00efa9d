#include "activation/root_search.hpp"

#include <cmath>

#include "base/text.hpp"

namespace scalecalc::activation_room {
namespace {

constexpr mpfr_prec_t search_bits = 96, root_bits = 256;
constexpr int first_octave = -20, last_octave = 64;
/// Roots closer than this share of their size count as one.
constexpr int smallest_range = -32;
/// Ranges looked at: below 50 ms.
constexpr int budget = 1000;

Real middle_of(const Real& a, const Real& b) {
  Real result(std::max(a.bits(), b.bits()));
  mpfr_add(result.get(), a.get(), b.get(), MPFR_RNDN);
  mpfr_div_2ui(result.get(), result.get(), 1, MPFR_RNDN);
  return result;
}

bool is_bounded_away(const Interval& value) {
  return !value.is_nan() && !value.contains_zero();
}

/// The fraction with the smallest denominator within 2^tolerance, if it is below 10^4.
std::optional<Rational> fraction_near(const Real& x, mpfr_exp_t tolerance) {
  Real rest = x;
  Rational before = 0, beyond = 1, last = 1, below = 0;  // convergents p/q
  for (int step = 0; step < 12; ++step) {
    if (mpfr_cmpabs(rest.get(), real(1e9).get()) > 0) return std::nullopt;
    Real whole(root_bits);
    mpfr_floor(whole.get(), rest.get());
    const Rational term(mpfr_get_si(whole.get(), MPFR_RNDN));
    const Rational p = term * last + before, q = term * below + beyond;
    before = last, beyond = below, last = p, below = q;
    if (Rational(10000) < q) return std::nullopt;
    Real error = real(Expr(p / q), root_bits);
    mpfr_sub(error.get(), error.get(), x.get(), MPFR_RNDN);
    if (error.sign() == 0 || mpfr_get_exp(error.get()) < tolerance) return p / q;
    mpfr_sub(rest.get(), rest.get(), whole.get(), MPFR_RNDN);
    mpfr_ui_div(rest.get(), 1, rest.get(), MPFR_RNDN);
  }
  return std::nullopt;
}

/// The sign turns to `direction` between the ends; 0 for a place of its own.
struct Bracket {
  double left, right;
  int direction;
};

class Search {
 public:
  explicit Search(const Expr& expr) : expr_(expr), slope_(differentiate(expr, "x")) {}

  std::vector<Root> run(double low, double high) {
    for (int k = last_octave; k > first_octave; --k) {
      visit(std::ldexp(-1, k), std::ldexp(-1, k - 1), low, high);
    }
    visit(std::ldexp(-1, first_octave), 0, low, high);
    visit(0, std::ldexp(1, first_octave), low, high);
    for (int k = first_octave; k < last_octave; ++k) {
      visit(std::ldexp(1, k), std::ldexp(1, k + 1), low, high);
    }
    close_cluster();
    std::vector<Root> roots;
    for (const Bracket& bracket : brackets_) roots.push_back(root_in(bracket));
    return roots;
  }

 private:
  void visit(double from, double to, double low, double high) {
    const double left = std::max(from, low), right = std::min(to, high);
    if (left < right) explore(left, right, low);
  }

  /// [left, right): a root at the right end is found by the next range.
  void explore(double left, double right, double low) {
    if (++visited_ > budget) give_up("the places where it changes sign cannot all be isolated");
    const Interval x = range(left, right, search_bits);
    if (!may_have_root(x)) return close_cluster();
    const Interval slope = enclose_over(slope_, x);
    const double middle = left + (right - left) / 2;
    if (is_bounded_away(slope)) return monotone(left, right, slope.lower.sign(), low);
    const double size = std::max(std::fabs(left), std::fabs(right));
    if (right - left > std::ldexp(size, smallest_range) && right - left > 0x1p-44) {
      explore(left, middle, low);
      explore(middle, right, low);
      return;
    }
    if (!in_cluster_) cluster_left_ = left;
    in_cluster_ = true;
    cluster_right_ = right;
  }

  /// Bounds by the terms themselves, and by the mean value form, which is sharper on small ranges.
  bool may_have_root(const Interval& x) const {
    const Interval direct = enclose_over(expr_, x);
    if (direct.is_nan() || is_bounded_away(direct)) return false;
    const Real middle = middle_of(x.lower, x.upper);
    const Interval centre = point(middle);
    const Interval bound = enclose_over(expr_, centre) + enclose_over(slope_, x) * (x - centre);
    return !is_bounded_away(bound);
  }

  void monotone(double left, double right, int direction, double low) {
    close_cluster();
    const int at_left = sign_at(expr_, real(left)), at_right = sign_at(expr_, real(right));
    if (at_left == 0 && left != low && may_vanish_at(expr_, real(left))) {
      return add({left, left, 0});
    }
    if (at_left == -direction && at_right == direction) add({left, right, direction});
  }

  Real refined(double left, double right, int direction) const {
    Real a = real(left, root_bits), b = real(right, root_bits);
    for (int step = 0; step < 300; ++step) {
      const Real middle = middle_of(a, b);
      const int sign = sign_at(expr_, middle);
      if (sign == 0) return middle;
      (sign == direction ? b : a) = middle;
      const Real next = newton(middle);
      if (mpfr_cmp(next.get(), a.get()) <= 0 || mpfr_cmp(next.get(), b.get()) >= 0) continue;
      const int there = sign_at(expr_, next);
      if (there == 0) return next;
      (there == direction ? b : a) = next;
      Real gap(root_bits);
      mpfr_sub(gap.get(), next.get(), middle.get(), MPFR_RNDN);
      if (gap.sign() == 0 || mpfr_get_exp(gap.get()) < mpfr_get_exp(next.get()) - 240) return next;
    }
    return middle_of(a, b);
  }

  Real newton(const Real& x) const {
    const Interval slope = enclose_over(slope_, point(x)), value = enclose_over(expr_, point(x));
    Real step(root_bits);
    mpfr_div(step.get(), value.lower.get(), slope.lower.get(), MPFR_RNDN);
    mpfr_sub(step.get(), x.get(), step.get(), MPFR_RNDN);
    return step;
  }

  /// Ranges too small to go on, side by side: a multiple root.
  void close_cluster() {
    if (!in_cluster_) return;
    in_cluster_ = false;
    const int left = sign_at(expr_, real(cluster_left_));
    const int right = sign_at(expr_, real(cluster_right_));
    const Real middle = middle_of(real(cluster_left_, root_bits), real(cluster_right_, root_bits));
    if (const auto fraction = fraction_near(middle, -30)) {
      const double there = fraction->to_double();
      if (sign_at(expr_, real(Expr(*fraction), root_bits)) == 0) return add({there, there, 0});
    }
    add({cluster_left_, cluster_right_, left * right < 0 ? right : 0});
  }

  void add(const Bracket& bracket) {
    if (brackets_.size() == most_roots) give_up("it changes sign more than 64 times");
    brackets_.push_back(bracket);
  }

  Root root_in(const Bracket& bracket) const {
    const Real left = real(bracket.left, root_bits), right = real(bracket.right, root_bits);
    const Real x = bracket.direction == 0 ? middle_of(left, right)
                                          : refined(bracket.left, bracket.right, bracket.direction);
    const double at = mpfr_get_d(x.get(), MPFR_RNDN);
    // A bracket without width is a fraction rounded to double.
    const std::optional<Rational> fraction = fraction_near(x, bracket.direction == 0 ? -40 : -200);
    return {fraction ? Expr(*fraction) : Expr(Rational::parse(decimal(x, 60))), at};
  }

  [[noreturn]] void give_up(const std::string& what) const {
    throw Error(ErrorKind::input, what + ": " + base::shortened(to_string(expr_), 80), {},
                "kinks, jumps and poles must be few: at most 64");
  }

  const Expr& expr_;
  Expr slope_;
  std::vector<Bracket> brackets_;
  int visited_ = 0;
  bool in_cluster_ = false;
  double cluster_left_ = 0, cluster_right_ = 0;
};

}  // namespace

std::vector<Root> search_roots(const Expr& expr, double low, double high) {
  return Search(expr).run(low, high);
}

}  // namespace scalecalc::activation_room
