#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <tuple>

#include "base/text.hpp"
#include "cli/activation/options.hpp"
#include "cli/app.hpp"
#include "cli/options.hpp"
#include "cli/solve/document.hpp"
#include "cli/time_limit.hpp"

namespace scalecalc::cli {
namespace {

struct SolveFlags {
  std::string what, family = "selu", range = "0.01,100";
  std::string weight_variance, bias_variance, variance = "1", bounds;
  ActivationOptions activation;
  TimeLimit time{""};
};

/// "LOW,HIGH".
std::pair<std::string, std::string> read_pair(const char* option, const std::string& text,
                                              const char* example) {
  const std::size_t comma = text.find(',');
  if (comma != std::string::npos && text.find(',', comma + 1) == std::string::npos) {
    return {text.substr(0, comma), text.substr(comma + 1)};
  }
  throw Error(ErrorKind::input, std::string(option) + " must be two numbers with a comma",
              text.empty() ? "got nothing" : "got '" + base::shortened(text) + "'",
              std::string("for example ") + option + " " + example);
}

Rational read_variance(const char* option, const std::string& text, const char* example) {
  parse_number(option, text, 0, 1e300, example);
  return parse_exact(option, text, example);
}

class Solve {
 public:
  Solve(const SolveFlags& flags, const Context& context)
      : flags_(flags), digits_(context.digits()) {
    if (digits_ <= most_digits) return;
    throw Error(ErrorKind::input, "--digits is at most 100 here", "got " + std::to_string(digits_),
                "for example --digits 50");
  }

  report::Document run() {
    for (const Problem& problem : problems()) {
      if (flags_.what != problem.name) continue;
      refuse_idle();
      return (this->*problem.solve)();
    }
    if (flags_.what.empty()) {
      throw Error(ErrorKind::usage, "solve what?", "scalecalc solve",
                  "for example scalecalc solve self-normalizing");
    }
    throw unknown_name("problem", flags_.what, problem_names(), "scalecalc solve");
  }

  static std::vector<std::string> problem_names() {
    std::vector<std::string> names;
    for (const Problem& problem : problems()) names.push_back(problem.name);
    return names;
  }

 private:
  static constexpr int most_digits = 100;

  struct Problem {
    const char* name;
    report::Document (Solve::*solve)();
  };
  static const std::vector<Problem>& problems() {
    static const std::vector<Problem> all = {{"self-normalizing", &Solve::self_normalizing},
                                             {"tuned", &Solve::tuned_activation},
                                             {"critical", &Solve::critical},
                                             {"fixed-point", &Solve::fixed_point},
                                             {"truncated-normal", &Solve::truncated}};
    return all;
  }

  /// What the problem has no use for. A default that is given in so many words changes nothing.
  void refuse_idle() const {
    const SolveFlags none;
    const auto differs = [&](std::string SolveFlags::*member) {
      return flags_.*member != none.*member;
    };
    const ActivationOptions& activation = flags_.activation;
    const std::vector<std::string> of_activation = {"tuned", "critical", "fixed-point"};
    const std::tuple<bool, std::string, std::vector<std::string>> options[] = {
        {!activation.name.empty(), "ACTIVATION", of_activation},
        {!activation.expression.empty(), "--expr", of_activation},
        {!activation.parameters.empty(), "--param", of_activation},
        {differs(&SolveFlags::family), "--family", {"self-normalizing"}},
        {differs(&SolveFlags::range), "--range", {"self-normalizing"}},
        {differs(&SolveFlags::weight_variance), "--weight-variance", {"fixed-point"}},
        {differs(&SolveFlags::bias_variance), "--bias-variance", {"critical", "fixed-point"}},
        {differs(&SolveFlags::variance), "--variance", {"tuned"}},
        {differs(&SolveFlags::bounds), "--bounds", {"truncated-normal"}}};
    for (const auto& [is_given, option, problems] : options)
      if (is_given && std::ranges::find(problems, flags_.what) == problems.end())
        throw Error(ErrorKind::usage,
                    fmt::format("{} belongs to {}, not to {}", option, fmt::join(problems, ", "),
                                flags_.what),
                    option, "leave it out");
  }

  bool beyond_double() const { return digits_ > 17; }

  report::Document self_normalizing() {
    const auto [low, high] = read_pair("--range", flags_.range, "0.01,100");
    SelfNormalizingAnswer answer;
    answer.family = flags_.family;
    answer.low = parse_number("--range", low, -1e6, 1e6, "0.01,100");
    answer.high = parse_number("--range", high, -1e6, 1e6, "0.01,100");
    answer.solutions = solve_self_normalizing(flags_.family, answer.low, answer.high);
    if (beyond_double()) {
      for (const SelfNormalizing& solution : answer.solutions) {
        answer.digits.push_back(self_normalizing_digits(flags_.family, solution, digits_));
      }
    }
    return self_normalizing_document(answer);
  }

  report::Document tuned_activation() {
    const Activation phi = flags_.activation.read("solve tuned");
    const Rational variance = parse_exact("--variance", flags_.variance, "1");
    const double rounded = variance.to_double();
    if (!(rounded > 0) || !std::isfinite(rounded)) {
      throw Error(ErrorKind::input, "--variance must be positive",
                  "got '" + base::shortened(flags_.variance) + "'", "for example --variance 1");
    }
    TunedAnswer answer{phi.name(), rounded, tuned(phi, rounded), {}};
    if (beyond_double()) answer.digits = tuned_digits(phi, answer.tuned, variance, digits_);
    return tuned_document(answer);
  }

  report::Document critical() {
    const Activation phi = flags_.activation.read("solve critical");
    CriticalAnswer answer{phi.name(), {}, flags_.bias_variance.empty(), {}};
    std::optional<Rational> bias;
    if (!answer.both) bias = read_variance("--bias-variance", flags_.bias_variance, "0.05");
    answer.critical = bias ? solve_critical(phi, bias->to_double()) : solve_critical_pair(phi);
    if (beyond_double()) answer.digits = critical_digits(phi, answer.critical, bias, digits_);
    return critical_document(answer);
  }

  report::Document fixed_point() {
    const Activation phi = flags_.activation.read("solve fixed-point");
    if (flags_.weight_variance.empty()) {
      throw Error(ErrorKind::usage, "--weight-variance is missing", "scalecalc solve fixed-point",
                  "for example --weight-variance 2");
    }
    FixedPointAnswer answer;
    answer.activation = phi.name();
    const Rational weight = read_variance("--weight-variance", flags_.weight_variance, "2");
    Rational bias;
    if (!flags_.bias_variance.empty()) {
      bias = read_variance("--bias-variance", flags_.bias_variance, "0.05");
    }
    answer.weight_variance = weight.to_double();
    answer.bias_variance = bias.to_double();
    answer.points = solve_fixed_points(phi, answer.weight_variance, answer.bias_variance);
    for (const FixedPoint& point : answer.points) {
      if (!beyond_double()) break;
      answer.digits.push_back(fixed_point_digits(phi, point, weight, bias, digits_));
    }
    return fixed_point_document(answer);
  }

  report::Document truncated() {
    const auto [low, high] = read_pair("--bounds", flags_.bounds, "-2,2");
    return truncated_document(low, high,
                              truncated_normal(low, high, beyond_double() ? digits_ : 0));
  }

  const SolveFlags& flags_;
  int digits_;
};

}  // namespace

void register_solve(CLI::App& app, Context& context) {
  auto flags = std::make_shared<SolveFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "solve",
       .summary = "constants that make a signal stay: critical points, selu, truncation",
       .examples = {"scalecalc solve self-normalizing --digits 30",
                    "scalecalc solve critical tanh --bias-variance 0.05"},
       .form = solve_form,
       .uses = kNumbers,
       .lists = Lists{}},
      [&context, flags] {
        flags->time.begin();
        context.emit(flags->time.within([&] { return Solve(*flags, context).run(); }));
        return 0;
      });
  const Options add{command};
  add.text("what", flags->what, {"WHAT", Solve::problem_names},
           alternatives(Solve::problem_names()));
  add.axis("activation", flags->activation.name, types::activation(),
           "a name (scalecalc list activations), or an expression in x");
  flags->activation.add_to(command);
  add.axis("--family", flags->family, "F", "selu, or an expression in x and a (self-normalizing)");
  flags->time.add_to(command, "an answer that takes longer is refused");
  add.text("--range", flags->range, "A,B", "where alpha is sought");
  add.axis("--weight-variance", flags->weight_variance, "W", "times fan-in (fixed-point)");
  add.axis("--bias-variance", flags->bias_variance, "B", "left out: critical solves for both");
  add.axis("--variance", flags->variance, "V", "of the input (tuned)");
  add.text("--bounds", flags->bounds, "A,B",
           "in standard deviations (truncated-normal): --bounds=-2,2");
}

}  // namespace scalecalc::cli
