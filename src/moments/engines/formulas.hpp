#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "moments/calculus.hpp"
#include "moments/engines/formula.hpp"
#include "scalecalc/trace.hpp"

namespace scalecalc::moments {

/// The same model with sizes that tell which one they are; 1 stays 1, and equal stays equal where
/// the layout asks for it.
ModelSpec distinct_sizes(const ModelSpec& spec);

/// The calculus of formulas, at leading order in 1/width: closed forms where there are any, and
/// unevaluated expectations elsewhere. Sizes are symbols (T, width, ...), but 1 is the
/// number, and so are the sizes of a list of layers.
class Formulas {
 public:
  using Number = Expr;
  using Function = const Activation*;
  static constexpr bool next_orders = false;

  /// For networks of distinct_sizes(spec), whose sizes are called by their names in the spec.
  explicit Formulas(const ModelSpec& spec);

  Expr size(std::int64_t n, std::string_view name) const;
  Expr real(double value) const { return exact(value); }
  Expr variance(const Linear& layer) const;
  Expr bias_variance(const Linear& layer) const;
  Expr skip(const Residual& layer) const;
  Expr branch(const Residual& layer) const;
  Expr scale(const Attention& layer) const;

  Function function(const std::string& name);
  Expr expectation(Function f, Moment moment, const Token<Expr>& u);
  Expr pair(Function f, Moment moment, const Token<Expr>& u, const Token<Expr>& v,
            const Expr& cross);
  Expr positive(const Expr& value) const { return value; }

  struct HeadSoftmax {
    Expr classes;
  };
  HeadSoftmax softmax_head(std::int64_t classes, const Expr&) const {
    return {size(classes, "classes")};
  }
  Expr softmax_second(const HeadSoftmax& head, const Expr& tau2) const;
  Expr softmax_cross(const HeadSoftmax& head, const Expr& tau2_t, const Expr& tau2_u,
                     const Expr& cross) const;
  Expr log_sum(std::int64_t classes, const Expr& tau2) const;

  void assume(std::string_view rule, std::string_view text);
  void assume(std::string_view rule, std::string_view text, std::string_view name, double value,
              double limit);
  void omit(double, double) {}
  /// Finite width is not part of these formulas.
  double value(const Expr&) const { return 0; }
  const WidthMoments& width(Function, double, double) const;
  double take_slope_error() { return 0; }
  void check(const std::string&, const Alike<Expr>&) const {}
  /// Second moments are positive, which no rule of simplification could know of a sum; overlaps
  /// enter the next orders alone.
  template <class X>
  void complete(const std::string&, Signal<X>& x) {
    positive_.push_back(x.x.second);
    x.overlap = {};
  }
  /// |x| for a second moment x is x: what the square root in a norm leaves.
  Expr without_abs(const Expr& formula) const;

  void enter(const std::string& site) { site_ = site; }
  const std::string& site() const { return site_; }
  const std::vector<Premise>& assumptions() const { return assumptions_; }
  /// What the symbols stand for in this spec.
  const Bindings& values() const { return values_; }

  template <class T>
  T& cache() {
    static_assert(sizeof(T) > 0);
    std::shared_ptr<void>& kept = caches_[typeid(T).name()];
    if (!kept) kept = std::make_shared<T>();
    return *static_cast<T*>(kept.get());
  }

 private:
  Expr plain(const Expr& formula) const;
  const ClosedForm& formula(Function f, Moment moment, InputMean mean);

  bool numbers_ = false;                ///< a list of layers, whose sizes have no names
  bool grouped_ = false;                ///< fewer kv_heads than heads
  std::map<std::int64_t, Expr> names_;  ///< of sizes
  std::map<std::string, Expr> known_;   ///< alpha and lambda where they are 1, ...
  std::map<std::string, std::unique_ptr<Activation>> functions_;
  std::map<std::string, ClosedForm> closed_;
  std::map<std::string, std::shared_ptr<void>> caches_;
  std::vector<Premise> assumptions_;
  std::vector<Expr> positive_;
  Bindings values_;
  std::string site_;
};

/// P2, A of one row; O, A_prime of two whose scores correlate with c (attention_softmax.hpp).
Expr softmax_p2(const Formulas& calculus, std::int64_t keys, const Expr& tau2);
Expr softmax_a(const Formulas& calculus, std::int64_t keys, const Expr& tau2);
Expr softmax_overlap(const Formulas& calculus, std::int64_t keys, const Expr& tau2, const Expr& c);
Expr softmax_a_prime(const Formulas& calculus, std::int64_t keys, const Expr& tau2, const Expr& c);

}  // namespace scalecalc::moments
