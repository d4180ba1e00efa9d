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
  std::string optimizer = "adamw", parametrization = "mup", alignment = "full", axes, from, to;
  std::string lr, decay, eps, matrices, muon_scale = "none", depth_alpha, decay_law = "rate";
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
           "in front of muon's step: none, shape, spectral or match_rms");
  add.text(
      "--parametrization", parametrization, {"NAME", parametrization_names, ValueType::Path::file},
      "of multipliers and inits: " + alternatives(parametrization_names()) + "; or a file of one");
  add.text("--alignment", alignment, {"ALIGNMENT", std::vector<std::string>{"full", "none"}},
           "of changes with what they meet: full, none, or exponents A,O,U of fan_in");
  add.text("--axes", axes, list_of({"AXIS", growth_axis_names()}),
           "what grows (default: width,depth, or what --to names)");
  add.text("--from", from, "SIZES", "of the base: width=256,layers=4 (default: the model's)");
  add.text("--to", to, "SIZES", "of the target: width, layers, batch, tokens, heads, experts");
  add.text("--lr,--learning-rate", lr, "E", "learning rate at the base");
  add.text("--decay,--weight-decay", decay, "W", "decoupled weight decay at the base");
  add.text("--eps", eps, "E", "eps at the base");
  add.text("--depth-alpha", depth_alpha, "A",
           "the branch multiplier is r_L^-A (default: what the parametrisation says)");
  add.text("--decay-law", decay_law, {"LAW", decay_law_names()},
           "rate (lr * decay stays), root-width, constant, or update-share");
  add.text("--matrices", matrices, "K",
           "without a model: matrices in series in a branch (default 2)");
  add.texts("--same", same, {"NAME", parametrization_names, ValueType::Path::file},
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
    problem.optimizer = transfer_optimizer(flags_.optimizer, flags_.muon_scale);
    answer_.muon_scale = flags_.muon_scale;
    if (flags_.same.empty()) {
      problem.parametrization = parametrization_from(flags_.parametrization);
    } else if (flags_.same.size() != 2) {
      throw Error(ErrorKind::usage, "--same takes two parametrisations", "--same",
                  "for example --same mup spectral");
    } else {
      problem.parametrization = parametrization_from(flags_.same[0], "--same");
    }
    problem.alignment = alignment_from(flags_.alignment);
    problem.decay = decay_law_from(flags_.decay_law);
    answer_.decay_law = flags_.decay_law;
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
  }

  void read_axes() {
    std::vector<GrowthAxis>& axes = answer_.problem.axes;
    if (!flags_.axes.empty()) {
      axes = growth_axes_from(flags_.axes);
    } else if (answer_.sizes) {
      axes.clear();
      for (const auto& [axis, size] : answer_.sizes->to) axes.push_back(axis);
      std::ranges::sort(axes);
    }
    if (!answer_.sizes) return;
    for (const auto& [axis, size] : answer_.sizes->to)
      if (std::ranges::find(axes, axis) == axes.end())
        throw Error(ErrorKind::input, "--to names the " + to_string(axis) + ", and --axes does not",
                    "--axes " + flags_.axes, "add it to --axes, or leave --axes out");
  }

  int compare(Context& context) {
    SameAnswer same{answer_.model, flags_.same[0], flags_.same[1], answer_.problem, {}};
    same.result =
        same_parametrization(answer_.problem, parametrization_from(flags_.same[1], "--same"));
    context.emit(same_document(same));
    return same.result.same ? 0 : 1;
  }

  /// Inits of the base, and of --all every path.
  void read_network() {
    const std::vector<ParameterInfo> parameters = scalecalc::parameters(build_network(*spec_));
    const auto& tensors = answer_.solution.tensors;
    std::map<std::string, std::size_t> index;
    for (std::size_t i = 0; i < tensors.size(); ++i) index.emplace(tensors[i].tensor.name, i);
    for (const ParameterInfo& info : parameters) {
      auto found = index.find(info.path);
      if (found == index.end()) found = index.find(path_pattern(info.path));
      if (found == index.end()) continue;
      if (info.std > 0) answer_.base_stds.try_emplace(found->first, info.std);
      if (flags_.all) answer_.all.emplace_back(info.path, found->second);
    }
  }

  const TransferFlags& flags_;
  std::optional<ModelSpec> spec_;
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
