#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "moments/calculus.hpp"
#include "moments/gaussian_function.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::moments {

struct ScoreLine;

/// The calculus of double: closed forms of kinked pairs, quadrature and Hermite series elsewhere.
/// One propagation's own; not for several threads at once. What is virtual are the averages over
/// Gaussians, which another calculus of double takes in its own way under the same compiled rules.
class Numbers {
 public:
  using Number = double;
  using Function = GaussianFunction*;
  static constexpr bool next_orders = true;

  explicit Numbers(const PropagateOptions& options) : options_(options) {}
  Numbers(Numbers&&) = default;
  virtual ~Numbers() = default;
  const PropagateOptions& options() const { return options_; }

  double size(std::int64_t n, std::string_view /*name*/) const { return static_cast<double>(n); }
  double real(double value) const { return value; }
  double variance(const Linear& layer) const;
  double bias_variance(const Linear& layer) const {
    return layer.bias ? layer.bias_std * layer.bias_std : 0;
  }
  double skip(const Residual& layer) const { return layer.skip; }
  double branch(const Residual& layer) const { return layer.branch; }
  double scale(const Attention& layer) const { return layer.scale; }

  Function function(const std::string& name);
  virtual double expectation(Function f, Moment moment, const Token<double>& u);
  virtual double pair(Function f, Moment moment, const Token<double>& u, const Token<double>& v,
                      double cross);
  double value(double number) const { return number; }
  const WidthMoments& width(Function f, double mean, double variance) {
    return f->width(mean, variance);
  }
  SizeMoments sizes(Function f, double mean, double variance) const {
    return size_moments(f->activation(), mean, variance);
  }
  struct HeadSoftmax;
  virtual const HeadSoftmax& softmax_head(std::int64_t classes, double tau2);
  virtual double softmax_second(const HeadSoftmax& head, double tau2);
  virtual double softmax_cross(const HeadSoftmax& head, double tau2_t, double tau2_u, double cross);
  /// Of rows on a line whose scores correlate with c.
  virtual SoftmaxAverages softmax_averages(const ScoreLine& line, double c);
  double log_sum(std::int64_t classes, double tau2) const;
  double positive(double value) const { return value > 0 ? value : 0; }

  void assume(std::string_view rule, std::string_view text);
  void assume(std::string_view rule, std::string_view text, std::string_view name, double value,
              double limit);
  void omit(double second, double cross) {
    omitted_.second += second;
    omitted_.cross += cross;
  }

  /// Where the rules are: for assumptions and errors.
  void enter(const std::string& site) { site_ = &site; }
  /// Empty before the first.
  const std::string& site() const {
    static const std::string none;
    return site_ ? *site_ : none;
  }
  const std::vector<Premise>& assumptions() const { return assumptions_; }
  /// A primitive's absolute error, in the units of the value under way.
  void note_error(double error) { value_error_ = std::max(value_error_, error); }
  double take_slope_error() { return std::exchange(slope_error_, 0.0); }
  template <class X>
  void complete(const std::string& path, Signal<X>& x) {
    complete(path, average(x.x), x.error, x.truncation);
  }
  void check(const std::string& path, const Alike<double>& gradient) const;

  /// One T for the whole propagation.
  template <class T>
  T& cache() {
    std::shared_ptr<void>& kept = caches_[std::type_index(typeid(T))];
    if (!kept) kept = std::make_shared<T>();
    return *static_cast<T*>(kept.get());
  }

 private:
  Premise& assumption(std::string_view rule, std::string_view text);
  void note(const Estimate& estimate, bool is_slope);
  void complete(const std::string& path, const Alike<double>& x, RelativeError& error,
                RelativeError& truncation);

  PropagateOptions options_;
  std::unordered_map<std::string, std::unique_ptr<GaussianFunction>> functions_;
  const std::string* last_name_ = nullptr;
  Function last_function_ = nullptr;
  std::unordered_map<std::type_index, std::shared_ptr<void>> caches_;
  std::vector<Premise> assumptions_;
  std::vector<double> worst_;
  RelativeError omitted_;
  double value_error_ = 0, slope_error_ = 0;
  double ratio_ = 0;
  const std::string* site_ = nullptr;
};

}  // namespace scalecalc::moments
