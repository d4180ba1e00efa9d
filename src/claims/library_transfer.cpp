#include <algorithm>

#include "claims/library.hpp"
#include "claims/networks.hpp"
#include "scalecalc/transfer.hpp"

namespace scalecalc::claims {
namespace {

/// A named one: files of others are the command's matter.
Parametrization named_parametrization(Arguments& arguments, const std::string& argument) {
  const std::string name = arguments.text(argument);
  const std::vector<std::string>& names = parametrization_names();
  if (std::ranges::find(names, name) == names.end())
    throw unknown_name("parametrization", name, names,
                       arguments.place().at(arguments.column(argument)));
  return parametrization_from(name);
}

/// Of a preset or a model file of the call, or of the kinds alone.
TransferProblem problem_of(Arguments& arguments, const std::string& parametrization) {
  TransferProblem problem;
  problem.axes = growth_axes_from(arguments.text_or("axes", "width,depth"), "axes");
  problem.optimizer = transfer_optimizer(arguments.text_or("optimizer", "adamw"),
                                         arguments.text_or("muon_scale", "none"), "optimizer");
  problem.parametrization = named_parametrization(arguments, parametrization);
  problem.alignment = alignment_from(arguments.text_or("alignment", "full"), "alignment");
  if (arguments.has("depth_alpha")) problem.depth_alpha = arguments.rational("depth_alpha");
  if (arguments.has("preset")) {
    problem.model = transfer_model(find_model(arguments.text("preset")), problem.axes);
  } else if (arguments.has("model")) {
    problem.model =
        transfer_model(arguments.engine().networks().model(arguments.text("model")), problem.axes);
  } else {
    constexpr int matrices = 2;
    problem.model = generic_transfer_model(
        arguments.has("matrices") ? static_cast<int>(arguments.integer("matrices")) : matrices);
  }
  return problem;
}

const TensorTransfer& found(Arguments& arguments, const TransferSolution& solution) {
  const std::string kind = arguments.text_or("kind", "hidden");
  std::vector<std::string> known;
  for (const TensorTransfer& tensor : solution.tensors) {
    if (tensor.tensor.name == kind || to_string(tensor.tensor.kind) == kind) return tensor;
    known.push_back(to_string(tensor.tensor.kind));
  }
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  throw unknown_name("kind", kind, known, arguments.place().at(arguments.column("kind")));
}

Expr formula(const Exponents& exponents) {
  return parse(exponents.formula());
}
Expr formula(const std::optional<Exponents>& exponents, const std::string& member) {
  if (!exponents) throw NotApplicable{"the rule has no " + member};
  return formula(*exponents);
}

Expr transfer(Arguments& arguments, const std::string& member) {
  const TransferSolution solution = solve_transfer(problem_of(arguments, "parametrization"));
  if (member == "branch") return formula(solution.branch);
  if (member == "attention") return formula(solution.attention, "attention");
  const TensorTransfer& tensor = found(arguments, solution);
  if (member == "lr") return formula(tensor.lr);
  if (member == "multiplier") return formula(tensor.multiplier);
  if (member == "std") return formula(tensor.std);
  if (member == "gradient") return formula(tensor.gradient);
  if (member == "decay") return formula(tensor.decay, member);
  if (member == "eps") return formula(tensor.eps, member);
  return formula(tensor.one_minus_beta, member);
}

/// 1, or 0 where no factor for each kind maps one to the other.
Expr same(Arguments& arguments, const std::string&) {
  const TransferProblem problem = problem_of(arguments, "first");
  return same_parametrization(problem, named_parametrization(arguments, "second")).same ? Expr(1)
                                                                                        : Expr(0);
}

const std::vector<std::string> settings = {"optimizer", "kind",        "alignment",
                                           "axes",      "matrices",    "preset",
                                           "model",     "depth_alpha", "muon_scale"};

std::vector<std::string> with(std::vector<std::string> first) {
  first.insert(first.end(), settings.begin(), settings.end());
  return first;
}

}  // namespace

std::vector<LibraryFunction> transfer_functions() {
  return {{"transfer",
           with({"parametrization"}),
           {"lr", "multiplier", "std", "decay", "eps", "one_minus_beta", "gradient", "branch",
            "attention"},
           false,
           false,
           false,
           transfer},
          {"same", with({"first", "second"}), {"value"}, false, false, false, same}};
}

}  // namespace scalecalc::claims
