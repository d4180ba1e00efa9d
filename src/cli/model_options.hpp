#pragma once

#include <map>
#include <string>
#include <vector>

#include "scalecalc/model_fields.hpp"

namespace CLI {
class App;
}

namespace scalecalc::cli {

/// Options that set fields of a model (model_fields()): each of a name once, whatever kinds of
/// model have it. What is not given is not changed.
class ModelOptions {
 public:
  /// What describes a block, with its details; without the fields that the command has options of
  /// its own for.
  /// The help tells the values of `defaults`, of a model that nothing is given for.
  void add_to(CLI::App* app, const std::vector<std::string>& without = {},
              const ModelSpec* defaults = nullptr);
  /// Those that stand beside a command's own, of these names; empty: all.
  void add_command_options(CLI::App* app, const std::vector<std::string>& names = {});
  bool has(const std::string& field) const { return !text(field).empty(); }
  bool any() const;
  /// What is given for it, as it was written; empty: nothing.
  const std::string& text(const std::string& field) const;
  /// Whether the placement is deepnorm: post with a pair that is solved for.
  bool solves_pair() const;
  /// Of the option, which is given. Throws Error(input).
  Placement placement() const;
  /// A transformer of the defaults with what is given. Throws Error(input).
  ModelSpec spec() const;
  /// Overrides what is given. Without --ffn, its ratio to the width is kept; placement deepnorm is
  /// post with the alpha and lambda that are not given left open, as by auto. Throws Error, also
  /// for what this kind of model has not.
  void apply_to(ModelSpec& spec) const;
  /// What is given, as it was written: "--width 65 --heads 4".
  std::string given() const;

 private:
  void add(CLI::App* app, const std::string& group, const ModelField& field,
           const ModelSpec* defaults);

  struct Given {
    const ModelField* field;  ///< of that name, of some kind of model
    std::string text;         ///< of a flag "true"
  };
  std::map<std::string, Given> given_;  ///< by the field's name
};

/// MODEL with the options that override it.
struct ModelArgument {
  std::string model;
  ModelOptions options;

  /// `name`: "model" where it stands alone, "--model" where something else does; the command's own
  /// options of the model, those of a list where it has others itself.
  void add_to(CLI::App* app, const char* name = "model",
              const std::vector<std::string>& command_options = {});
  /// A preset or a file, overridden; alpha and lambda that are "auto" are solved for the optimizer.
  /// Throws Error; `command` names who needs a model.
  ModelSpec spec(const std::string& command) const;
  /// What is given, as it was written: "gpt2 --layers 24 --width 65".
  std::string given() const;
};

}  // namespace scalecalc::cli
