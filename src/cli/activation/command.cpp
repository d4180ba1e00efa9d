#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/activation/document.hpp"
#include "cli/app.hpp"
#include "cli/figures.hpp"
#include "cli/options.hpp"
#include "cli/plot_option.hpp"

namespace scalecalc::cli {
namespace {

struct ActivationFlags {
  ActivationOptions activation;
  InputOptions input;
  std::string methods, samples;
  PlotOption plot;
};

const std::vector<std::string> method_names = {"closed_form", "quadrature", "montecarlo"};

/// "quadrature,montecarlo"; the two exact ones when nothing is said, all with --samples.
std::vector<std::string> read_methods(const ActivationFlags& flags) {
  if (flags.methods == "all") return method_names;
  std::vector<std::string> chosen;
  for (std::size_t start = 0; start < flags.methods.size();) {
    const std::size_t end = std::min(flags.methods.find(',', start), flags.methods.size());
    chosen.push_back(
        parse_choice("--methods", flags.methods.substr(start, end - start), method_names));
    start = end + 1;
  }
  if (chosen.empty()) chosen = {"closed_form", "quadrature"};
  if (!flags.samples.empty()) chosen.push_back("montecarlo");
  return chosen;
}

class ActivationRun {
 public:
  ActivationRun(const ActivationFlags& flags, const Context& context)
      : methods_(read_methods(flags)),
        answer_{
            flags.activation.read("activation"), read_input(flags.input), {}, {}, {}, {}, {}, 0} {
    options_.seed = context.seed();
    options_.threads = context.threads();
    if (!flags.samples.empty()) {
      options_.samples = parse_integer("--samples", flags.samples, 1, 1LL << 40, "1000000");
    }
    answer_.digits = context.digits();
    if (answer_.digits > most_digits) {
      throw Error(ErrorKind::input, "--digits is at most 100 here",
                  "got " + std::to_string(answer_.digits), "for example --digits 50");
    }
  }

  ActivationAnswer run() {
    answer_.gains = gains(answer_.activation, input());
    for (Moment moment : all_moments()) answer_.moments[moment] = exactly(moment);
    if (wants("montecarlo")) sample();
    if (answer_.digits > 17) {
      answer_.gain_digits = gain_digits(answer_.activation, answer_.input.mean,
                                        answer_.input.variance, answer_.digits);
    }
    try {
      if (answer_.input.mean.is_zero()) {
        answer_.tuned = tuned(answer_.activation, input().variance);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsolvable) throw;
    }
    const std::vector<std::string> names = activation_names();
    if (std::find(names.begin(), names.end(), answer_.activation.name()) != names.end()) {
      answer_.frameworks = framework_gains(answer_.activation.name());
    }
    return std::move(answer_);
  }

 private:
  static constexpr int most_digits = 100;

  GaussianInput input() const { return answer_.input.rounded(); }
  bool wants(const char* method) const {
    return std::find(methods_.begin(), methods_.end(), method) != methods_.end();
  }

  MomentAnswer exactly(Moment moment) const {
    MomentAnswer result;
    if (is_pair(moment) && !answer_.input.correlation) {
      result.unavailable = "it is of two inputs: give --correlation";
      return result;
    }
    const bool centred = answer_.input.mean.is_zero();
    result.formula =
        closed_form(answer_.activation, moment, centred ? InputMean::zero : InputMean::symbol);
    try {
      evaluate_both(moment, result);
    } catch (const Error& error) {
      const bool is_answer =
          error.kind() == ErrorKind::input || error.kind() == ErrorKind::unsolvable;
      if (!is_answer) throw;
      if (!result.best) result.unavailable = error.what();
    }
    return result;
  }

  void evaluate_both(Moment moment, MomentAnswer& result) const {
    if (wants("closed_form")) {
      const auto value = closed_form_value(answer_.activation, moment, input());
      if (value) result.methods[Method::closed_form] = *value;
      result.best = value;
    }
    std::optional<Expr> correlation;
    if (answer_.input.correlation) correlation = Expr(*answer_.input.correlation);
    const ExactInput& exact = answer_.input;
    const bool wants_digits = answer_.digits > 17;
    if (wants_digits) {
      result.digits = closed_form_digits(answer_.activation, moment, exact.mean, exact.variance,
                                         correlation, answer_.digits);
    }
    if (wants("quadrature") || !result.best) {
      const Estimate value = quadrature(answer_.activation, moment, input());
      result.methods[Method::quadrature] = value;
      if (!result.best) result.best = value;
    }
    if (wants_digits && !result.digits) {
      result.digits = quadrature_digits(answer_.activation, moment, exact.mean, exact.variance,
                                        correlation, answer_.digits);
    }
  }

  void sample() {
    for (const auto& [moment, value] : monte_carlo(answer_.activation, input(), options_)) {
      answer_.moments[moment].methods[Method::monte_carlo] = value;
    }
  }

  std::vector<std::string> methods_;
  MonteCarloOptions options_;
  ActivationAnswer answer_;
};

}  // namespace

void register_activation(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ActivationFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "activation",
       .summary = "Gaussian moments and gains of an activation, by closed form and quadrature",
       .examples = {"scalecalc activation gelu",
                    "scalecalc activation --expr \"x*sigmoid(1.7*x)\" --digits 20"},
       .form = activation_form,
       .uses = {.seed = true, .threads = true, .digits = true},
       .lists = Lists{.parts = {{"tuned"}}}},
      [&context, flags] {
        flags->plot.check();
        const ActivationAnswer answer = ActivationRun(*flags, context).run();
        context.emit(activation_document(answer));
        if (flags->plot.is_given()) context.draw(flags->plot, activation_figure(answer));
        return 0;
      });
  const Options add{command};
  add.axis("activation", flags->activation.name, types::activation(), "scalecalc list activations");
  add.text("name", flags->activation.name, types::activation(),
           "a name (scalecalc list activations), or an expression in x");
  flags->activation.add_to(command);
  flags->input.add_to(command);
  add.text("--methods", flags->methods, list_of({"METHOD", method_names}),
           "closed_form, quadrature, montecarlo, or all (default: the first two)");
  add.axis(
      "--samples", flags->samples, "N",
      fmt::format("of Monte Carlo, which it asks for (default {})", MonteCarloOptions().samples));
  flags->plot.add_to(command);
}

}  // namespace scalecalc::cli
