#include <algorithm>
#include <map>
#include <memory>

#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/model_options.hpp"
#include "cli/options.hpp"
#include "cli/transfer/document.hpp"
#include "cli/transfer/sizes.hpp"
#include "scalecalc/names.hpp"

namespace scalecalc::cli {
namespace {

constexpr double most = 1e6;  ///< of lr, decay and eps

struct TransferFlags {
  /// Empty: not given.
  std::string optimizer = "adamw", parametrization, alignment, axes, from, to, lr, decay, eps,
              matrices, muon_scale, depth_alpha, decay_law;
  std::vector<std::string> same;
  bool explain = false, all = false;
  ModelArgument model;

  void add_to(CLI::App* app);
};

void TransferFlags::add_to(CLI::App* app) {
  const Options add{app};
  add.text("--optimizer", optimizer, types::optimizer(),
           "what steps (scalecalc list families), muon+adamw, shampoo(1/4,1/4), or a rule in g, "
           "theta, fan_in and fan_out");
  add.text("--muon-scale", muon_scale, {"SCALE", muon_scale_names()},
           "in front of muon's step: none, shape, spectral or match_rms (default: none)");
  add.text("--parametrization", parametrization, types::parametrization(),
           "of multipliers and inits: " + alternatives(parametrization_names()) +
               "; or a file of one (default: mup)");
  add.text(
      "--alignment", alignment, {"ALIGNMENT", std::vector<std::string>{"full", "none"}},
      "of changes with what they meet: full, none, or exponents A,O,U of fan_in (default: full)");
  add.text("--axes", axes, list_of({"AXIS", growth_axis_names()}),
           "what grows (default: width,depth, what a file names, or what --to names)");
  add.text("--from", from, "SIZES", "of the base: width=256,layers=4 (default: the model's)");
  add.text("--to", to, "SIZES", "of the target: width, layers, batch, tokens, heads, experts");
  add.text("--lr,--learning-rate", lr, "E", "learning rate at the base");
  add.text("--decay,--weight-decay", decay, "W", "decoupled weight decay at the base");
  add.text("--eps", eps, "E", "eps at the base");
  add.text("--depth-alpha", depth_alpha, "A",
           "the branch multiplier is r_L^-A (default: what the parametrisation says)");
  add.text("--decay-law", decay_law, {"LAW", decay_law_names()},
           "rate (lr * decay stays), root-width, constant, or update-share (default: rate)");
  add.text("--matrices", matrices, "K",
           "without a model: matrices in series in a branch (default 2)");
  add.texts("--same", same, types::parametrization(),
            "two parametrisations: whether they are one up to the symmetry of multiplier and std");
  add.flag("--explain", explain, "the inequality that binds each number");
  add.flag("--all", all, "every parameter of the model by itself");
  model.add_to(app, "model", {"layers", "decoder_layers", "placement", "alpha", "lambda"});
}

std::optional<double> base_number(const char* option, const std::string& text,
                                  const char* example) {
  if (text.empty()) return {};
  return parse_number(option, text, 0, most, example);
}

std::string otherwise(const std::string& given, const char* left_out) {
  return given.empty() ? left_out : given;
}

bool contains(const std::vector<GrowthAxis>& axes, GrowthAxis axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

/// Axes that the numbers of a file name.
void add_named_axes(const Parametrization& parametrization, std::vector<GrowthAxis>& axes) {
  std::vector<Exponents> given;
  for (const auto& [kind, numbers] : parametrization.kinds)
    for (const auto& number :
         {numbers.multiplier, numbers.std, numbers.lr, numbers.decay, numbers.eps})
      if (number) given.push_back(*number);
  for (const auto& number : {parametrization.branch, parametrization.attention})
    if (number) given.push_back(*number);
  for (std::size_t i = 0; i < growth_axes; ++i) {
    const auto axis = static_cast<GrowthAxis>(i);
    const auto names = [&](const Exponents& number) { return !number[axis].is_zero(); };
    if (!contains(axes, axis) && std::ranges::any_of(given, names)) axes.push_back(axis);
  }
  std::ranges::sort(axes);
}

Rational read_depth_alpha(const std::string& text) {
  constexpr int most_alpha = 2;
  const Error refusal(ErrorKind::input, "--depth-alpha must be a number from 0 to 2",
                      "got '" + base::shortened(text) + "'", "for example --depth-alpha 1/2");
  try {
    Rational alpha = Rational::parse(text);
    if (alpha < Rational(0) || Rational(most_alpha) < alpha) throw refusal;
    return alpha;
  } catch (const Error&) {
    throw refusal;
  }
}

class Transfer {
 public:
  explicit Transfer(const TransferFlags& flags) : flags_(flags) {}

  int run(Context& context) {
    read_model();
    read_sizes();
    read_problem();
    if (!flags_.same.empty()) return compare(context);
    answer_.solution = solve_transfer(answer_.problem);
    if (spec_ && (answer_.sizes || flags_.all)) read_network();
    context.emit(transfer_document(answer_));
    return 0;
  }

 private:
  void read_model() {
    if (flags_.model.model.empty() && !flags_.model.options.any()) {
      if (flags_.all)
        throw Error(ErrorKind::usage, "--all lists the parameters of a model", "--all",
                    "give a MODEL, for example scalecalc transfer gpt2 --all");
      return;
    }
    if (!flags_.matrices.empty())
      throw Error(ErrorKind::usage, "the model says how many matrices a branch has", "--matrices",
                  "leave it out, or leave the model out");
    if (flags_.model.model.empty()) {
      spec_ = flags_.model.options.spec();
      answer_.model = flags_.model.options.given();
    } else {
      spec_ = flags_.model.spec("transfer");
      answer_.model = flags_.model.model;
    }
  }

  void read_sizes() {
    if (flags_.to.empty() && flags_.from.empty()) return;
    if (flags_.to.empty())
      throw Error(ErrorKind::usage, "--from without --to", "--from",
                  "give the sizes of the target, for example --to width=4096");
    const SizeList from = flags_.from.empty() ? SizeList() : parse_sizes("--from", flags_.from);
    answer_.sizes = sizes_between(from, parse_sizes("--to", flags_.to), spec_);
  }

  void read_problem() {
    TransferProblem& problem = answer_.problem;
    answer_.muon_scale = otherwise(flags_.muon_scale, "none");
    problem.optimizer = transfer_optimizer(flags_.optimizer, answer_.muon_scale);
    read_parametrizations();
    problem.alignment = alignment_from(otherwise(flags_.alignment, "full"));
    answer_.decay_law = otherwise(flags_.decay_law, "rate");
    problem.decay = decay_law_from(answer_.decay_law);
    read_axes();
    if (!flags_.depth_alpha.empty()) problem.depth_alpha = read_depth_alpha(flags_.depth_alpha);
    constexpr int most_matrices = 100;
    problem.model =
        spec_ ? transfer_model(*spec_, problem.axes)
              : generic_transfer_model(static_cast<int>(
                    flags_.matrices.empty()
                        ? 2
                        : parse_integer("--matrices", flags_.matrices, 1, most_matrices, "2")));
    answer_.lr = base_number("--lr", flags_.lr, "3e-3");
    answer_.decay = base_number("--decay", flags_.decay, "0.1");
    answer_.eps = base_number("--eps", flags_.eps, "1e-8");
    answer_.explain = flags_.explain;
    refuse_idle();
  }

  void read_parametrizations() {
    if (flags_.same.empty()) {
      answer_.problem.parametrization =
          parametrization_from(otherwise(flags_.parametrization, "mup"));
      return;
    }
    if (flags_.same.size() != 2)
      throw Error(ErrorKind::usage, "--same takes two parametrisations", "--same",
                  "for example --same mup spectral");
    answer_.problem.parametrization = parametrization_from(flags_.same[0], "--same");
    second_ = parametrization_from(flags_.same[1], "--same");
  }

  /// Options that would change nothing.
  void refuse_idle() const {
    const TransferProblem& problem = answer_.problem;
    const auto idle = [](const char* option, bool is_given, bool has_effect, const char* why,
                         const char* hint) {
      if (is_given && !has_effect) throw Error(ErrorKind::usage, why, option, hint);
    };
    const bool same = !flags_.same.empty();
    for (const auto& [option, is_given] :
         {std::pair{"--parametrization", !flags_.parametrization.empty()},
          {"--from", !flags_.from.empty()},
          {"--to", !flags_.to.empty()},
          {"--lr", !flags_.lr.empty()},
          {"--decay", !flags_.decay.empty()},
          {"--eps", !flags_.eps.empty()},
          {"--explain", flags_.explain},
          {"--all", flags_.all}})
      idle(option, is_given, !same, "--same compares two parametrisations, and numbers of none",
           "leave it out");
    for (const auto& [option, text] :
         {std::pair{"--lr", &flags_.lr}, {"--decay", &flags_.decay}, {"--eps", &flags_.eps}})
      idle(option, !text->empty(), answer_.sizes.has_value(),
           "a number of the base needs the sizes that it goes between",
           "give --to, for example --from width=256 --to width=4096");
    const TransferOptimizer& optimizer = problem.optimizer;
    const auto any_rule = [&](const auto& has) {
      return has(optimizer.rule) || (optimizer.rest && has(*optimizer.rest));
    };
    idle("--muon-scale", !flags_.muon_scale.empty(),
         any_rule([](const TransferRule& rule) { return rule.name == "muon"; }),
         "the optimizer is not muon", "leave it out, or take --optimizer muon");
    idle("--eps", !flags_.eps.empty(),
         any_rule([](const TransferRule& rule) { return rule.eps != EpsPlace::none; }),
         "the optimizer has no eps", "leave it out");
    const bool deep = contains(problem.axes, GrowthAxis::depth);
    const bool has_shapes = std::ranges::any_of(problem.axes, [](GrowthAxis axis) {
      return axis != GrowthAxis::batch && axis != GrowthAxis::tokens;
    });
    const char* no_depth = "the depth is none of the axes";
    const char* no_shapes = "batch and tokens know nothing of it";
    const char* add_depth = "leave it out, or add depth to --axes";
    idle("--matrices", !flags_.matrices.empty(), deep, no_depth, add_depth);
    idle("--depth-alpha", problem.depth_alpha.has_value(), deep, no_depth, add_depth);
    idle("--depth-alpha", problem.depth_alpha.has_value(), problem.model.has_branches,
         "the model has no branches", "leave it out");
    idle("--depth-alpha", problem.depth_alpha.has_value(),
         !problem.parametrization.branch && !(second_ && second_->branch),
         "the file gives the branch a multiplier itself", "leave it out, or [branch]");
    idle("--alignment", !flags_.alignment.empty(), has_shapes, no_shapes,
         "leave it out, or add an axis of the model");
    idle("--muon-scale", !flags_.muon_scale.empty(), has_shapes, no_shapes,
         "leave it out, or add an axis of the model");
  }

  void read_axes() {
    std::vector<GrowthAxis>& axes = answer_.problem.axes;
    if (!flags_.axes.empty()) {
      axes = growth_axes_from(flags_.axes);
    } else if (answer_.sizes) {
      axes = axes_of(*answer_.sizes);
    } else {
      add_named_axes(answer_.problem.parametrization, axes);
      if (second_) add_named_axes(*second_, axes);
    }
    for (const GrowthAxis axis : {GrowthAxis::heads, GrowthAxis::experts})
      if (!spec_ && contains(axes, axis))
        throw Error(ErrorKind::usage, to_string(axis) + " are of a model",
                    "--axes " + to_string(axis), "give a MODEL, or leave them out");
    if (!answer_.sizes) return;
    for (const auto& [axis, size] : answer_.sizes->to)
      if (!contains(axes, axis))
        throw Error(ErrorKind::input, "--to names the " + to_string(axis) + ", and --axes does not",
                    "--axes " + flags_.axes, "add it to --axes, or leave --axes out");
  }

  int compare(Context& context) {
    SameAnswer same{answer_.model, flags_.same[0], flags_.same[1], answer_.problem, {}};
    same.result = same_parametrization(answer_.problem, *second_);
    context.emit(same_document(same));
    return same.result.same ? 0 : 1;
  }

  /// Inits of the base, and of --all every path.
  void read_network() {
    const auto& tensors = answer_.solution.tensors;
    std::map<std::string, std::size_t> index;
    for (std::size_t i = 0; i < tensors.size(); ++i) index.emplace(tensors[i].tensor.name, i);
    const auto each = [&](const ModelSpec& spec, const auto& found) {
      for (const ParameterInfo& info : scalecalc::parameters(build_network(spec))) {
        const auto at = find_path(index, info.path);
        if (at != index.end()) found(info, at->second);
      }
    };
    if (answer_.sizes)
      each(*answer_.sizes->base, [&](const ParameterInfo& info, std::size_t at) {
        if (!(info.std > 0)) return;
        answer_.base_stds.try_emplace(info.path, info.std);
        answer_.base_stds.try_emplace(tensors[at].tensor.name, info.std);
      });
    const auto tied = std::ranges::find_if(tensors, [](const TensorTransfer& tensor) {
      return tensor.tensor.is_tied && tensor.tensor.kind == TensorKind::output;
    });
    // The head's use of the table is no parameter of the network's.
    if (tied != tensors.end())
      if (const auto std = answer_.base_stds.find("embedding.weight");
          std != answer_.base_stds.end())
        answer_.base_stds.try_emplace(tied->tensor.name, std->second);
    if (!flags_.all) return;
    each(*spec_, [&](const ParameterInfo& info, std::size_t at) {
      answer_.all.emplace_back(info.path, at);
    });
    if (tied != tensors.end())
      answer_.all.emplace_back(tied->tensor.name, static_cast<std::size_t>(tied - tensors.begin()));
  }

  const TransferFlags& flags_;
  std::optional<ModelSpec> spec_;
  std::optional<Parametrization> second_;  ///< of --same
  TransferAnswer answer_;
};

}  // namespace

void register_transfer(CLI::App& app, Context& context) {
  auto flags = std::make_shared<TransferFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "transfer",
       .summary = "learning rate, init, decay and eps when width, depth, batch or tokens change",
       .examples = {"scalecalc transfer --optimizer adamw --parametrization mup --from "
                    "width=256 --to width=4096 --lr 3e-3",
                    "scalecalc transfer gpt2 --parametrization complete-p --explain"},
       .form = transfer_form,
       .uses = kNumbers},
      [&context, flags] { return Transfer(*flags).run(context); });
  flags->add_to(command);
}

}  // namespace scalecalc::cli
