#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/activation/answer.hpp"
#include "cli/activation/document.hpp"
#include "cli/app.hpp"
#include "cli/figures.hpp"
#include "cli/options.hpp"
#include "cli/plot_option.hpp"
#include "cli/time_limit.hpp"

namespace scalecalc::cli {
namespace {

struct ActivationFlags {
  ActivationOptions activation;
  InputOptions input;
  std::string methods, samples;
  PlotOption plot;
  TimeLimit time{"4"};
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

ActivationQuestion read_question(const ActivationFlags& flags, const Context& context) {
  constexpr int most_digits = 100;
  ActivationQuestion question{flags.activation.read("activation"),
                              read_input(flags.input),
                              read_methods(flags),
                              {},
                              context.digits()};
  question.sampling.seed = context.seed();
  question.sampling.threads = context.threads();
  if (!flags.samples.empty()) {
    question.sampling.samples = parse_integer("--samples", flags.samples, 1, 1LL << 40, "1000000");
  }
  if (question.digits > most_digits) {
    throw Error(ErrorKind::input, "--digits is at most 100 here",
                "got " + std::to_string(question.digits), "for example --digits 50");
  }
  return question;
}

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
        flags->time.begin();
        const ActivationAnswer answer = flags->time.within(
            [&] { return answer_of(read_question(*flags, context), flags->time); });
        std::optional<report::Figure> figure;
        flags->time.leave_an_eighth();
        if (flags->plot.is_given())
          figure = flags->time.within([&] { return activation_figure(answer); });
        if (!answer.is_complete) context.note(flags->time.note());
        context.emit(activation_document(answer));
        if (figure) context.draw(flags->plot, *figure);
        return 0;
      });
  const Options add{command};
  add.axis("activation", flags->activation.name, types::activation(),
           "a name (scalecalc list activations), or an expression in x");
  flags->activation.add_to(command);
  flags->input.add_to(command);
  add.text("--methods", flags->methods, list_of({"METHOD", method_names}),
           "closed_form, quadrature, montecarlo, or all (default: the first two)");
  add.axis(
      "--samples", flags->samples, "N",
      fmt::format("of Monte Carlo, which it asks for (default {})", MonteCarloOptions().samples));
  flags->time.add_to(command, "what takes longer is left out, with the reason");
  flags->plot.add_to(command);
}

}  // namespace scalecalc::cli
