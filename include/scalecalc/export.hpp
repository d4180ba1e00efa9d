#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/architectures.hpp"
#include "scalecalc/init.hpp"
#include "scalecalc/named_parameters.hpp"
#include "scalecalc/transfer.hpp"

/// Init plans as code and settings of other frameworks, and as weights.
/// Every name and string is checked and escaped, so that no model file can put code into the text.
namespace scalecalc {

enum class Target { pytorch, flax, keras, megatron, hf, c };
/// "pytorch", ... as --target takes them.
const std::vector<std::string>& target_names();
/// Throws Error(input) with the nearest name.
Target target_from(std::string_view name, const std::string& where = "--target");
/// The naming a target uses when a model has none: torch, flax, keras; others scalecalc.
std::string default_naming(Target target);

/// What steps a parameter: factors of the base's learning rate, decay and eps.
struct StepFactors {
  double lr = 1, decay = 1;
  std::optional<double> eps;  ///< none: the rule has none that is added to |g|
  std::string rule = {};      ///< its name; a mixture has two
  bool operator==(const StepFactors&) const = default;
};

/// A plan under the names of a naming.
struct NamedPlan {
  ModelSpec spec;
  std::string model;  ///< as the user called it; shown in comments
  InitPlan plan;
  Naming naming;
  NamedParameters named;
  std::vector<StepFactors> steps = {};  ///< by parameter of the plan, of a transferred() one
  std::string transfer = {};            ///< in words, for comments: "from width 256 to 768 ..."
};
/// The naming is `names`, or the spec's own, or the target's (scalecalc without a target; Flax and
/// Keras never take the names of PyTorch modules from the spec). Throws Error(input).
NamedPlan named_plan(const ModelSpec& spec, const std::string& model,
                     const std::optional<Target>& target, const std::string& names = {});

/// From which model a plan's numbers are taken.
struct PlanTransfer {
  ModelSpec base;
  TransferProblem problem;                                      ///< of the plan's model
  std::array<double, growth_axes> ratios = {1, 1, 1, 1, 1, 1};  ///< of its sizes over the base's
  std::string words;                                            ///< for comments
};
/// The plan with the inits of the base and what solve_transfer() makes of them: stds, constants,
/// the branch multiplier and attention's scale, and factors for each parameter's steps. Multipliers
/// of parameters are taken into their inits and steps; of a tied pair, the head's over the table's
/// is a factor of the forward pass. Throws Error(input) as solve_transfer() does, and where the
/// base starts blocks differently which are of one kind.
NamedPlan transferred(NamedPlan plan, const PlanTransfer& transfer);

/// A library's own model, tensor by tensor as the library draws it, or as options of the model
/// change that.
struct LibraryPlan {
  LibraryModel library;
  std::string model;  ///< as the user called it
  /// Of the library's spec as it is, and with the options; none: without options.
  std::optional<NamedPlan> planned, changed;
};
/// `changed`: the library's spec with options; null: without. Keys of the config that are fields of
/// the spec follow it (resized()). Nothing where the two have other parameters even so: the
/// library's model cannot be told by them. Throws Error(input) as named_plan does.
std::optional<LibraryPlan> library_plan(const LibraryModel& library, const std::string& model,
                                        const ModelSpec* changed = nullptr);

/// The library's model with what the options change in its draws.
LibraryModel library_model(const LibraryPlan& plan);

struct ExportOptions {
  /// Of the generated code's own draws; without one its caller's generator is used.
  std::optional<std::uint64_t> seed;
  /// What made the text, for its comments; empty: "scalecalc init MODEL --target TARGET".
  std::string command;
};
/// The text of one target:
/// pytorch: a module with initialize_(model, generator=None, strict=False), which fills every
///   parameter it knows and returns what it set, what it did not match and what it missed;
/// flax: initialize(params, key, strict=False) over a tree of parameters, and initializer(name);
/// keras: initialize(model, seed=None, strict=False), and initializer(name);
/// megatron: flags, and what they cannot say;
/// hf: a configuration as JSON, and what it cannot say;
/// c: a header with one table.
/// Throws Error(usage) for a model that the target has no words for.
std::string export_text(const NamedPlan& plan, Target target, const ExportOptions& options = {});
/// As for pytorch: the module fills every parameter of the library's own class, by its own name.
std::string export_text(const LibraryPlan& plan, const ExportOptions& options = {});

struct WeightOptions {
  std::uint64_t seed = 0;
  int threads = 1;
  std::string dtype = "f32";  ///< f32, f16 or bf16
};
/// Draws the plan into a .safetensors file, tensor by tensor: the weights that Passes of this seed
/// start from, under the names and in the layout of the naming. Throws Error(input) for a dtype
/// that is none, or when parameters have no name; Error(fault) when the write fails.
void write_weights(const NamedPlan& plan, const std::string& path,
                   const WeightOptions& options = {});
/// Likewise the tensors of a library's own model, tied ones once. The draws are this program's, of
/// the library's distributions.
void write_weights(const LibraryPlan& plan, const std::string& path,
                   const WeightOptions& options = {});

}  // namespace scalecalc
