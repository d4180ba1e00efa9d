#include "cli/activation/document.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"

namespace scalecalc::cli {
namespace {

using report::Section;
using report::Table;
using report::Value;

const char* key_of(Method method) {
  switch (method) {
    case Method::closed_form: return "closed_form";
    case Method::quadrature: return "quadrature";
    case Method::monte_carlo: break;
  }
  return "monte_carlo";
}

class Writer {
 public:
  explicit Writer(const ActivationAnswer& answer) : answer_(answer) {}

  Value inputs() const {
    Value inputs = Value::object();
    inputs["activation"] = base::shortened(answer_.activation.name());
    const GaussianInput input = answer_.input.rounded();
    inputs["mean"] = input.mean;
    inputs["variance"] = input.variance;
    inputs["second"] = input.variance + input.mean * input.mean;
    inputs["correlation"] = input.correlation ? Value(*input.correlation) : Value();
    return inputs;
  }

  Value results() {
    Value results = Value::object();
    results["expression"] = to_string(answer_.activation.expression());
    results["derivative"] = to_string(answer_.activation.derivative());
    moments(results);
    gains(results);
    results["closed_form"] = formulas();
    results["methods"] = methods();
    results["kinks"] = kinks();
    tuned(results);
    results["frameworks"] = is_left_out("frameworks") ? Value() : frameworks();
    for (const auto& [name, reason] : answer_.left_out) unavailable_[name] = reason;
    results["unavailable"] = unavailable_;
    for (const auto& [name, reason] : answer_.digits_out_of_reach)
      results["digits_out_of_reach"][name] = reason;
    results["note"] = answer_.gains.note;
    return results;
  }

  Table rows() const {
    Table table{{"moment", "value", "error", "method"}, {}};
    for (const auto& [moment, answer] : answer_.moments) {
      for (const auto& [method, estimate] : answer.methods) {
        table.rows.push_back({to_string(moment), estimate.value, estimate.error, key_of(method)});
      }
    }
    return table;
  }

  std::vector<Section> sections(const Value& results) const {
    const GaussianInput input = answer_.input.rounded();
    std::string title = fmt::format("{} at N({}, {})", base::shortened(answer_.activation.name()),
                                    input.mean, input.variance);
    if (input.correlation) title += fmt::format(", correlation {}", *input.correlation);
    std::vector<Section> sections = {{title, moment_table(results)},
                                     {"Gains", gain_table(results)}};
    if (!answer_.gains.note.empty())
      sections.push_back({"", report::Paragraph{answer_.gains.note}});
    if (const std::string lines = limits(); !lines.empty())
      sections.push_back({"Left out", report::Paragraph{lines}});
    if (answer_.tuned)
      sections.push_back({"Tuned: what a scale or a shift costs in slope", tuned_table()});
    if (!answer_.activation.breaks().empty()) sections.push_back({"Kinks", kink_table()});
    if (!answer_.frameworks.empty()) sections.push_back({"Framework gains", framework_table()});
    return sections;
  }

 private:
  static const char* expectation(Moment moment) {
    switch (moment) {
      case Moment::mean: return "E phi(u)";
      case Moment::second: return "E phi(u)^2";
      case Moment::slope_mean: return "E phi'(u)";
      case Moment::slope_second: return "E phi'(u)^2";
      case Moment::fourth: return "E phi(u)^4";
      case Moment::cross: return "E phi(u)*phi(v)";
      case Moment::slope_cross: return "E phi'(u)*phi'(v)";
    }
    return "";
  }

  bool is_left_out(const std::string& name) const { return answer_.left_out.contains(name); }

  /// What stands in no table: values that the time limit or the digits asked for leave out.
  std::string limits() const {
    std::map<std::string, std::string> names;  // by what is said of them
    const auto add = [&](const std::string& name, const std::string& what) {
      names[what] += (names[what].empty() ? "" : ", ") + name;
    };
    for (const auto& [name, reason] : answer_.left_out) add(name, reason);
    for (const auto& [name, reason] : answer_.digits_out_of_reach)
      add(name, fmt::format("a double instead of {} digits ({})", answer_.digits, reason));
    std::string lines;
    for (const auto& [what, of] : names) lines += (lines.empty() ? "" : "; ") + of + ": " + what;
    return lines;
  }

  Value number(const std::optional<Estimate>& estimate, const std::string& name) {
    const auto digits = answer_.gain_digits.find(name);
    if (digits != answer_.gain_digits.end()) return Value::Digits{digits->second};
    if (estimate) return estimate->value;
    unavailable_[name] = answer_.gains.unavailable.at(name);
    return {};
  }

  void moments(Value& results) {
    for (const auto& [moment, answer] : answer_.moments) {
      const std::string name = to_string(moment);
      results[name] = answer.digits ? Value(Value::Digits{*answer.digits})
                      : answer.best ? Value(answer.best->value)
                                    : Value();
      if (!answer.best) unavailable_[name] = answer.unavailable;
      if (moment == Moment::second) add_variance(results);
    }
  }

  void add_variance(Value& results) {
    const auto& gain = answer_.gains.variance;
    if (!gain && answer_.gains.out_of_time)
      unavailable_["variance"] = answer_.gains.unavailable.at("gain_variance");
    results["variance"] = gain                        ? Value(std::pow(gain->value, -2))
                          : answer_.gains.out_of_time ? Value()
                                                      : Value(0.0);
    const auto digits = answer_.gain_digits.find("gain_variance");
    if (digits == answer_.gain_digits.end()) return;
    const Expr gain_digits = Rational::parse(digits->second);
    results["variance"] = Value::Digits{evaluate_digits(pow(gain_digits, -2), answer_.digits)};
  }

  void gains(Value& results) {
    const Gains& gains = answer_.gains;
    results["gain_second"] = number(gains.second, "gain_second");
    results["gain_activation"] = number(gains.activation, "gain_activation");
    results["gain_variance"] = number(gains.variance, "gain_variance");
    results["gain_backward"] = number(gains.backward, "gain_backward");
    results["gain_compromise"] = number(gains.compromise, "gain_compromise");
    results["q_slope"] = number(gains.q_slope, "q_slope");
    const auto digits = answer_.gain_digits.find("q_slope_activation");
    results["q_slope_activation"] = digits != answer_.gain_digits.end()
                                        ? Value(Value::Digits{digits->second})
                                    : gains.q_slope_activation ? Value(*gains.q_slope_activation)
                                                               : Value();
    const bool is_judged = gains.q_slope || !gains.out_of_time;
    results["stable"] = is_judged ? Value(gains.stable) : Value();
  }

  Value formulas() const {
    Value list = Value::object();
    for (const auto& [moment, answer] : answer_.moments) {
      const bool found = answer.formula.formula.has_value();
      list[to_string(moment)] = found ? Value(to_string(*answer.formula.formula)) : Value();
      if (!found && !answer.formula.why_not.empty()) {
        list["why_not"][to_string(moment)] = answer.formula.why_not;
      }
    }
    return list;
  }

  Value methods() const {
    Value list = Value::object();
    for (const auto& [moment, answer] : answer_.moments) {
      for (const auto& [method, estimate] : answer.methods) {
        Value& entry = list[key_of(method)][to_string(moment)];
        entry["value"] = estimate.value;
        entry["error"] = estimate.error;
      }
      const std::string by_quadrature = "quadrature." + to_string(moment);
      if (is_left_out("methods." + by_quadrature)) list["quadrature"][to_string(moment)] = Value();
    }
    if (is_left_out("methods.monte_carlo")) list["monte_carlo"] = Value();
    return list;
  }

  Value kinks() const {
    Value list = Value::array();
    for (const Break& place : answer_.activation.breaks()) {
      Value entry = Value::object();
      entry["x"] = place.at;
      entry["where"] = to_string(place.where);
      entry["jump"] = place.jump;
      entry["jump_size"] = place.jump_size;
      list.push_back(entry);
    }
    return list;
  }

  void tuned(Value& results) const {
    if (is_left_out("tuned")) results["tuned"] = Value();
    if (!answer_.tuned) return;
    const Tuned& tuned = *answer_.tuned;
    Value& entry = results["tuned"];
    const auto optional = [](const std::optional<Estimate>& value) {
      return value ? Value(value->value) : Value();
    };
    entry["scale"] = tuned.scale.value;
    entry["shift"] = tuned.shift.value;
    entry["centred_scale"] = tuned.centred_scale.value;
    entry["slope_before"] = optional(tuned.slope_before);
    entry["slope_after"] = optional(tuned.slope_after);
    entry["centred_slope_after"] = optional(tuned.centred_slope_after);
  }

  Value frameworks() const {
    Value list = Value::array();
    for (const FrameworkGain& gain : answer_.frameworks) {
      Value entry = Value::object();
      entry["framework"] = gain.framework;
      entry["function"] = gain.function;
      entry["value"] = gain.value;
      entry["formula"] = gain.formula;
      entry["derived"] = gain.derived;
      entry["settles_second"] = gain.settles_second;
      entry["chi"] = gain.chi;
      entry["why"] = gain.why;
      list.push_back(entry);
    }
    return list;
  }

  Table moment_table(const Value& results) const {
    Table table{{"", "", "value", "error", "method", "formula"}, {}};
    for (const auto& [moment, answer] : answer_.moments) {
      if (is_pair(moment) && !answer_.input.correlation) continue;
      const std::string name = to_string(moment);
      const std::string formula =
          answer.formula.formula ? to_string(*answer.formula.formula) : "none";
      if (!answer.best) {
        table.rows.push_back({name, expectation(moment), "-", "", "", answer.unavailable});
        continue;
      }
      bool first = true;
      for (const auto& [method, estimate] : answer.methods) {
        table.rows.push_back({first ? name : "", first ? expectation(moment) : "",
                              first ? *results.find(name) : Value(estimate.value),
                              report::format_number(estimate.error, 2), to_string(method),
                              first ? formula : ""});
        first = false;
      }
    }
    return table;
  }

  Table gain_table(const Value& results) const {
    Table table{{"", "value", "what it is"}, {}};
    const auto add = [&](const char* name, const std::string& meaning) {
      const auto reason = answer_.gains.unavailable.find(name);
      const bool missing = reason != answer_.gains.unavailable.end();
      const Value* value = results.find(name);
      table.rows.push_back(
          {name, missing ? Value("-") : *value, missing ? reason->second : meaning});
    };
    add("gain_second", "1/sqrt(E phi^2): the next pre-activation has second moment 1");
    add("gain_activation", "s with E phi(s*u)^2 = 1: the activation has second moment 1");
    add("gain_variance", "1/std(phi): the same after centring");
    add("gain_backward", "1/sqrt(E phi'^2): gradients keep their second moment");
    add("gain_compromise", "sqrt(gain_second*gain_backward)");
    add("q_slope", "d ln E phi^2/d ln q: a plain stack is stable below 1");
    if (answer_.gains.q_slope_activation) {
      add("q_slope_activation", "the same at gain_activation's point");
    }
    return table;
  }

  Table tuned_table() const {
    const Tuned& tuned = *answer_.tuned;
    const auto slope = [](const std::optional<Estimate>& value) {
      return value ? Value(value->value) : Value("infinite");
    };
    Table table{{"activation", "scale", "shift", "E slope^2"}, {}};
    table.rows = {{"phi(x)", 1, 0, slope(tuned.slope_before)},
                  {"scale*phi(x)", tuned.scale.value, 0, slope(tuned.slope_after)},
                  {"scale*(phi(x) - shift)", tuned.centred_scale.value, tuned.shift.value,
                   slope(tuned.centred_slope_after)}};
    return table;
  }

  Table kink_table() const {
    Table table{{"x", "kind"}, {}};
    for (const Break& place : answer_.activation.breaks()) {
      table.rows.push_back(
          {to_string(place.where),
           place.jump ? "jump of " + report::format_number(place.jump_size) : "kink"});
    }
    return table;
  }

  Table framework_table() const {
    Table table{{"where", "gain", "derived", "why they differ"}, {}};
    for (const FrameworkGain& gain : answer_.frameworks) {
      table.rows.push_back({gain.function,
                            gain.formula + " = " + report::format_number(gain.value, 5),
                            gain.derived, gain.why});
    }
    return table;
  }

  const ActivationAnswer& answer_;
  Value unavailable_ = Value::object();
};

}  // namespace

report::Document activation_document(const ActivationAnswer& answer) {
  Writer writer(answer);
  report::Document document;
  document.command = "activation";
  document.inputs = writer.inputs();
  document.results = writer.results();
  document.rows = writer.rows();
  document.sections = writer.sections(document.results);
  return document;
}

}  // namespace scalecalc::cli
