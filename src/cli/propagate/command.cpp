#include <fmt/format.h>

#include <memory>

#include "cli/app.hpp"
#include "cli/figures.hpp"
#include "cli/heap.hpp"
#include "cli/model_options.hpp"
#include "cli/optimizer_option.hpp"
#include "cli/options.hpp"
#include "cli/plot_option.hpp"
#include "cli/propagate/document.hpp"
#include "cli/propagate/rates.hpp"
#include "cli/time_limit.hpp"
#include "cli/work_note.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::cli {
namespace {

const std::vector<std::string> kEngines = {"quadrature", "symbolic", "montecarlo", "passes"};
constexpr int kSeeds = 16;
constexpr std::int64_t kMostSteps = 1000;
constexpr std::int64_t kRunSteps = 1000, kMostRunSteps = 1'000'000'000;  ///< of --forecast
/// Of the engine.
constexpr std::int64_t kLeastSamples = 64, kMostSamples = 1LL << 32;

struct PropagateFlags {
  ModelArgument model;
  std::string engine = "quadrature", seeds, samples, step, forecast, lr, steps, warmup;
  std::vector<std::string> lr_of, eps_of;
  PlotOption plot;
  TimeLimit time{""};
  bool approximate = false, all_positions = false;

  void add_to(CLI::App* app) {
    model.add_to(app);
    const Options add{app};
    add.axis("--engine", engine, {"ENGINE", kEngines}, alternatives(kEngines));
    add.axis("--seeds", seeds, "S", fmt::format("draws of the passes (default {})", kSeeds));
    add.axis("--after-step", step, {"OPTIMIZER", optimizer_names()},
             "how far its first step moves every site, parameter and the loss");
    add.axis("--forecast", forecast, {"OPTIMIZER", optimizer_names()},
             "the probability that a run trains, from its first step");
    add.axis("--lr", lr, "X", "learning rate of that step, or run");
    add.repeated("--lr-of", lr_of, "P=V",
                 "of one parameter, [*] for any number: 'block[*].ffn.in.weight=1e-3'");
    add.repeated("--eps-of", eps_of, "P=V", "likewise its eps");
    add.axis("--steps", steps, "N",
             fmt::format("so many steps instead, on the same samples (default 1); of the run "
                         "(default {})",
                         kRunSteps));
    add.axis("--warmup", warmup, "N", "steps of the run over which the rate grows (default 0)");
    plot.add_to(app);
    add.axis("--samples", samples, "N",
             fmt::format("of each expectation of montecarlo (default {})",
                         MonteCarloPropagation().samples));
    add.flag("--approx", approximate, "softmax by its lognormal form for many tokens");
    add.flag("--all-positions", all_positions,
             "every position under a causal mask, not a grid past 64");
    time.add_to(app, "an answer that takes longer is refused");
  }
};

/// An option that another engine would read.
void refuse(bool given, const char* option, const char* belongs_to, const std::string& engine) {
  if (!given) return;
  throw Error(ErrorKind::usage,
              std::string(option) + " belongs to --engine " + belongs_to + ", not to " + engine,
              option, std::string("leave it out, or use --engine ") + belongs_to);
}

/// A trace of so many blocks takes some megabytes; under a mask it has each position.
constexpr std::int64_t kDeep = 100, kDeepUnderMask = 8;

class Propagation {
 public:
  Propagation(const PropagateFlags& flags, Context& context) : flags_(flags), context_(context) {
    answer_.engine = parse_choice("--engine", flags.engine, kEngines);
    refuse(!is("passes") && !flags.seeds.empty(), "--seeds", "passes", answer_.engine);
    refuse(!is("montecarlo") && !flags.samples.empty(), "--samples", "montecarlo", answer_.engine);
    refuse(!is("quadrature") && flags.approximate, "--approx", "quadrature", answer_.engine);
    refuse(!is("quadrature") && flags.all_positions, "--all-positions", "quadrature",
           answer_.engine);
    if (is("symbolic") && flags.plot.is_given()) {
      throw Error(ErrorKind::usage, "formulas are not drawn", "--plot",
                  "leave it out, or use another --engine");
    }
    read_step();
    read_forecast();
    answer_.model = flags.model.model;
    answer_.spec = flags.model.spec("propagate");
    answer_.seed = context.seed();
  }

  PropagateAnswer run() {
    if (is("symbolic")) {
      answer_.symbolic = propagate_symbolic(answer_.spec);
    } else {
      if (answer_.spec.layers >= (answer_.spec.causal ? kDeepUnderMask : kDeep))
        expect_large_heap();
      const Network network = build_network(answer_.spec);
      answer_.trace = trace(network);
      if (!flags_.step.empty()) {
        answer_.lr_of = set_rates(network, answer_.lr, flags_.lr_of, flags_.eps_of, optimizer_);
        answer_.step = step(network);
      }
      judge_depth(network, answer_);
      if (!flags_.forecast.empty()) forecast(network);
    }
    return std::move(answer_);
  }

 private:
  bool is(const char* engine) const { return answer_.engine == engine; }

  void read_step() {
    const bool of_none = flags_.step.empty() && flags_.forecast.empty();
    if (of_none && !flags_.lr.empty())
      throw Error(ErrorKind::usage, "--lr is of what --after-step or --forecast asks for", "--lr",
                  "for example --after-step adamw --lr 1e-3");
    if (flags_.step.empty() && !(flags_.lr_of.empty() && flags_.eps_of.empty()))
      throw Error(ErrorKind::usage,
                  "numbers of parameters are of the step that --after-step asks for",
                  flags_.lr_of.empty() ? "--eps-of" : "--lr-of",
                  "for example --after-step adamw --lr 1e-3");
    if (of_none && !flags_.steps.empty())
      throw Error(ErrorKind::usage, "--steps counts those that --after-step or --forecast asks for",
                  "--steps", "for example --after-step adamw --lr 1e-3");
    if (flags_.step.empty()) return;
    if (is("symbolic") || is("montecarlo"))
      throw Error(ErrorKind::usage,
                  "a step is taken by quadrature or passes, not by " + answer_.engine,
                  "--after-step", "use --engine quadrature or passes");
    read_optimizer_of("--after-step", flags_.step);
    if (!flags_.steps.empty())
      answer_.steps = static_cast<int>(parse_integer("--steps", flags_.steps, 1, kMostSteps, "4"));
    optimizer_.weight_decay = 0;
    for (OptimizerOptions& rest : optimizer_.rest) rest.weight_decay = 0;
  }

  void read_optimizer_of(const std::string& option, const std::string& name) {
    if (flags_.lr.empty())
      throw Error(ErrorKind::usage, option + " needs a learning rate", "--lr",
                  "for example --lr 1e-3");
    optimizer_ = read_optimizer(option, name);
    constexpr double most_lr = 1e6;
    answer_.lr = parse_number("--lr", flags_.lr, 0, most_lr, "1e-3");
    answer_.optimizer = optimizer_text(optimizer_);
  }

  void read_forecast() {
    if (flags_.forecast.empty()) {
      if (!flags_.warmup.empty())
        throw Error(ErrorKind::usage, "--warmup is of the run that --forecast asks for", "--warmup",
                    "for example --forecast adamw --lr 1e-3 --warmup 100");
      return;
    }
    if (!flags_.step.empty())
      throw Error(ErrorKind::usage, "--forecast and --after-step each have their own --steps",
                  "--forecast", "ask for one at a time");
    if (!is("quadrature"))
      throw Error(ErrorKind::usage,
                  "a forecast is made by the moment rules, not by " + answer_.engine, "--forecast",
                  "use --engine quadrature");
    read_optimizer_of("--forecast", flags_.forecast);
    if (!(answer_.lr > 0))
      throw Error(ErrorKind::usage, "a run at learning rate 0 stays where it is", "--lr",
                  "for example --lr 1e-3");
    std::int64_t steps = kRunSteps;
    if (!flags_.steps.empty())
      steps = parse_integer("--steps", flags_.steps, 1, kMostRunSteps, "1000");
    if (!flags_.warmup.empty())
      optimizer_.schedule.warmup =
          parse_integer("--warmup", flags_.warmup, 0, kMostRunSteps, "100");
    answer_.length = run_length(optimizer_.schedule, steps);
  }

  void forecast(const Network& network) {
    OptimizerOptions optimizer = optimizer_;
    optimizer.learning_rate = optimizer.adamw_learning_rate = answer_.lr;
    for (OptimizerOptions& rest : optimizer.rest)
      rest.learning_rate = rest.adamw_learning_rate = answer_.lr;
    PropagateOptions options;
    options.threads = context_.threads();
    answer_.signs = forecast_signs(network, optimizer, options);
  }

  FirstStep step(const Network& network) {
    if (!is("passes")) return predict_steps(network, answer_.trace, optimizer_, answer_.steps);
    PassOptions options;
    context_.set_passes(options);
    return steps_of(
        sample_steps(network, options, optimizer_, answer_.steps, answer_.seeds, false, {}, true),
        static_cast<std::size_t>(answer_.steps));
  }

  Trace trace(const Network& network) {
    if (is("passes")) return passes(network);
    if (is("montecarlo")) return montecarlo(network);
    PropagateOptions options;
    options.all_positions = flags_.all_positions;
    options.lognormal_softmax = flags_.approximate;
    options.threads = context_.threads();
    return propagate(network, options);
  }

  Trace montecarlo(const Network& network) {
    MonteCarloPropagation options;
    if (!flags_.samples.empty())
      options.samples =
          parse_integer("--samples", flags_.samples, kLeastSamples, kMostSamples, "65536");
    options.seed = context_.seed();
    options.threads = context_.threads();
    answer_.samples = options.samples;
    if (context_.takes_notes()) options.expect = [this](double seconds) { announce(seconds); };
    if (const Progress progress = context_.progress())
      options.progress = [progress](double done) { progress(done, "propagations"); };
    return propagate_montecarlo(network, options);
  }

  void announce(double seconds) {
    constexpr double kLong = 3;
    if (seconds < kLong) return;
    context_.note(
        fmt::format("this will take about {}; fewer --samples take less", duration_text(seconds)));
  }

  Trace passes(const Network& network) {
    answer_.seeds = kSeeds;
    if (!flags_.seeds.empty())
      answer_.seeds = static_cast<int>(parse_integer("--seeds", flags_.seeds, 1, 10000, "16"));
    PassOptions options;
    context_.set_passes(options);
    std::function<bool(double)> report;
    if (const Progress progress = context_.progress())
      report = [progress](double done) { return progress(done, "passes"); };
    return trace_of(sample_passes(network, options, answer_.seeds, false, report));
  }

  const PropagateFlags& flags_;
  Context& context_;
  PropagateAnswer answer_;
  OptimizerOptions optimizer_;  ///< of --after-step, or --forecast
};

}  // namespace

void register_propagate(CLI::App& app, Context& context) {
  auto flags = std::make_shared<PropagateFlags>();
  CLI::App* command =
      add_command(app, context,
                  {.name = "propagate",
                   .summary = "moments of every site and parameter of a model",
                   .examples = {"scalecalc propagate mlp-relu --layers 50",
                                "scalecalc presets pre-ln-12 | scalecalc propagate - --layers 2"},
                   .form = propagate_form,
                   .uses = kPassesAlongPaths,
                   .lists = Lists{.parts = {{"sites", {"second", "cosine", "grad_second"}},
                                            {"parameters", {"second", "grad_second"}},
                                            {"stacks", {"identity_weight", "effective_depth"}}}}},
                  [&context, flags] {
                    flags->plot.check();
                    flags->time.begin();
                    PropagateAnswer answer =
                        flags->time.within([&] { return Propagation(*flags, context).run(); });
                    report::Figure figure;
                    if (flags->plot.is_given()) figure = propagate_figure(answer);
                    context.emit(propagate_document(std::move(answer), context.made_format()));
                    context.draw(flags->plot, figure);
                    return 0;
                  });
  flags->add_to(command);
}

}  // namespace scalecalc::cli
