#include "cli/activation/answer.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::cli {
namespace {

class Parts {
 public:
  explicit Parts(const ActivationQuestion& question)
      : question_(question),
        answer_{question.activation, question.input, {}, {}, {}, {}, {}, {}, {}, question.digits} {}

  ActivationAnswer run(const TimeLimit& limit) {
    for (const Moment moment : all_moments()) {
      if (is_pair(moment) && !question_.input.correlation) {
        answer_.moments[moment].unavailable = "it is of two inputs: give --correlation";
      } else {
        asked_.push_back(moment);
      }
    }
    add_doubles();
    add_digits();
    answer_.is_complete = find_in_time(limit, parts_);
    return std::move(answer_);
  }

 private:
  using Reason = const std::string&;

  GaussianInput input() const { return question_.input.rounded(); }
  bool wants(const char* method) const {
    const auto& methods = question_.methods;
    return std::find(methods.begin(), methods.end(), method) != methods.end();
  }
  bool wants_digits() const { return question_.digits > 17; }
  std::optional<Expr> correlation() const {
    if (!question_.input.correlation) return std::nullopt;
    return Expr(*question_.input.correlation);
  }

  void add(std::function<void()> find, std::function<void(Reason)> miss) {
    parts_.push_back({std::move(find), std::move(miss)});
  }
  void add(std::function<void()> find, const std::string& name) {
    add(std::move(find), [this, name](Reason reason) { answer_.left_out[name] = reason; });
  }

  void add_doubles() {
    for (const Moment moment : asked_) {
      MomentAnswer& result = answer_.moments[moment];
      add([this, moment, &result] { find_formula(moment, result); },
          [&result](Reason reason) { result.formula.why_not = "a formula was " + reason; });
    }
    for (const Moment moment : asked_) {
      MomentAnswer& result = answer_.moments[moment];
      add([this, moment, &result] { find_by_quadrature(moment, result); },
          [this, moment, &result](Reason reason) {
            if (!result.best) result.unavailable = reason;
            if (wants("quadrature"))
              answer_.left_out["methods.quadrature." + to_string(moment)] = reason;
          });
    }
    add([this] { find_gains(); }, [](Reason) {});
    if (question_.input.mean.is_zero()) add([this] { tune(); }, "tuned");
    add([this] { compare_frameworks(); }, "frameworks");
    if (wants("montecarlo")) add([this] { sample(); }, "methods.monte_carlo");
  }

  void add_digits() {
    if (!wants_digits()) return;
    for (const Moment moment : asked_) {
      add([this, moment] { find_digits(moment); },
          [this, moment](Reason reason) { out_of_reach(to_string(moment), reason); });
    }
    add([this] { find_gain_digits(); }, [](Reason) {});
  }

  /// Runs `body`; its error is why there is no value, unless there is one already.
  template <class Body>
  static void or_unavailable(MomentAnswer& result, Body body) {
    try {
      body();
    } catch (const Error& error) {
      const bool is_answer =
          error.kind() == ErrorKind::input || error.kind() == ErrorKind::unsolvable;
      if (!is_answer) throw;
      if (!result.best) result.unavailable = error.what();
    }
  }

  void find_formula(Moment moment, MomentAnswer& result) const {
    const bool centred = question_.input.mean.is_zero();
    result.formula =
        closed_form(question_.activation, moment, centred ? InputMean::zero : InputMean::symbol);
    if (!wants("closed_form")) return;
    or_unavailable(result, [&] {
      const auto value = closed_form_value(question_.activation, moment, input());
      if (value) result.methods[Method::closed_form] = *value;
      result.best = value;
    });
  }

  void find_by_quadrature(Moment moment, MomentAnswer& result) const {
    if (!result.unavailable.empty() || (result.best && !wants("quadrature"))) return;
    or_unavailable(result, [&] {
      const Estimate value = quadrature(question_.activation, moment, input());
      result.methods[Method::quadrature] = value;
      if (!result.best) result.best = value;
    });
  }

  void find_gains() {
    const Gains found = gains(question_.activation, input());
    const bool is_more = found.unavailable.size() < answer_.gains.unavailable.size();
    if (!has_gains_ || is_more) answer_.gains = found;
    has_gains_ = true;
    if (answer_.gains.out_of_time) base::check_deadline();
  }

  void tune() {
    try {
      answer_.tuned = tuned(question_.activation, input().variance);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsolvable) throw;
    }
  }

  void compare_frameworks() {
    const std::string& name = question_.activation.name();
    const std::vector<std::string> names = activation_names();
    if (std::find(names.begin(), names.end(), name) != names.end())
      answer_.frameworks = framework_gains(name);
  }

  void sample() {
    for (const auto& [moment, value] :
         monte_carlo(question_.activation, input(), question_.sampling)) {
      answer_.moments[moment].methods[Method::monte_carlo] = value;
    }
  }

  void out_of_reach(const std::string& name, const std::string& reason) {
    answer_.digits_out_of_reach[name] = reason;
  }

  void find_digits(Moment moment) {
    MomentAnswer& result = answer_.moments[moment];
    if (!result.best) return base::check_deadline();
    if (!std::isfinite(result.best->value)) return;
    const Expr mean = question_.input.mean, variance = question_.input.variance;
    try {
      result.digits = closed_form_digits(question_.activation, moment, mean, variance,
                                         correlation(), question_.digits);
      if (!result.digits) {
        result.digits = quadrature_digits(question_.activation, moment, mean, variance,
                                          correlation(), question_.digits);
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::fault) throw;
      out_of_reach(to_string(moment), error.message());
    }
  }

  void find_gain_digits() {
    const ExactInput& exact = question_.input;
    GainDigits found = gain_digits(question_.activation, answer_.gains, exact.mean, exact.variance,
                                   question_.digits);
    for (const auto& [name, reason] : found.out_of_reach) out_of_reach(name, reason);
    answer_.gain_digits.merge(found.found);
    for (const auto& [name, digits] : answer_.gain_digits) answer_.digits_out_of_reach.erase(name);
    if (!found.out_of_reach.empty()) base::check_deadline();
  }

  const ActivationQuestion& question_;
  ActivationAnswer answer_;
  std::vector<Moment> asked_;
  std::vector<TimedPart> parts_;
  bool has_gains_ = false;
};

}  // namespace

ActivationAnswer answer_of(const ActivationQuestion& question, const TimeLimit& limit) {
  return Parts(question).run(limit);
}

}  // namespace scalecalc::cli
