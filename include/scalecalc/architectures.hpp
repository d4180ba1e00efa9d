#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/network.hpp"

/// Models as other libraries describe them: a config.json says which tensors the library makes of
/// it, under which names, in which shapes, and how it draws them.
namespace scalecalc {

/// What fills the entries of a tensor. By its kind, `numbers` are
///   constant: the value; normal: mean, std; uniform: low, high;
///   truncated_normal: the std of a normal of mean 0 before it is cut, low, high;
///   time_step: low, high, least: t + log(1 - e^-t), t = max(least, e^u), u uniform between
///   log(low)
///     and log(high);
/// and, where entries are listed by their row r and column c,
///   log_range: none: log(c + 1);
///   sinusoids: steps: sin(r w) of all w = 10000^(-i/steps), i < columns/2, then cos(r w);
///   sinusoid_pairs: steps: sin(r w), cos(r w), i after i.
struct LibraryDraw {
  std::string kind;
  std::vector<double> numbers;
};

/// A tensor of a model as its library makes it.
struct LibraryTensor {
  std::string name;                 ///< as named_parameters() has it
  std::vector<std::int64_t> shape;  ///< as stored; empty: one number
  std::string distribution;         ///< normal, truncated_normal, uniform, constant, values
  double mean = 0, std = 0;         ///< of the entries, after truncation; std 0 of a constant
  std::string rule;                 ///< as the library's data say it: "normal(initializer_range)"
  std::vector<std::string> tied;    ///< other names of the same tensor
  LibraryDraw draw;                 ///< of entries outside the zero row
  std::optional<std::int64_t> zero_row;  ///< that of a padding index, which mean and std count
  /// A value that stands in about one place of 2^24, beside the distribution: torch's trunc_normal_
  /// puts its lower cut where the uniform numbers that it starts from are exactly 0. 0: none.
  double rare = 0;
  /// Along `axis`, where the whole is not drawn by one rule: each with its role as its name. They
  /// lie side by side in as many rounds as their shapes go into the whole. Empty: one rule.
  std::vector<LibraryTensor> parts = {};
  int axis = 0;

  /// Whether all entries are drawn from one distribution that is neither cut nor listed.
  bool is_plain() const {
    return !zero_row && (distribution == "normal" || distribution == "uniform");
  }
};

/// The same for all layers: numbers between the dots of a name become `index`
/// ("h.{i}.mlp.c_fc.weight").
std::string name_pattern(const std::string& name, const std::string& index = "{i}");

/// Other rules for the same tensors: of the code of those who published the model.
struct LibraryVariant {
  std::string name, title;  ///< "openai", "OpenAI's code"
  std::vector<LibraryTensor> tensors;
};

/// What a config describes.
struct LibraryModel {
  std::string source;                  ///< the file
  std::string architecture;            ///< model_type: "llama"
  std::string class_name;              ///< "LlamaForCausalLM"
  std::string library;                 ///< whose rules these are: "transformers 5.23"
  std::string config;                  ///< JSON, as it was given
  std::vector<LibraryTensor> tensors;  ///< in the order in which the library makes them
  std::vector<LibraryVariant> variants;
  /// The model in this program's words; none where it has none, and why.
  std::optional<ModelSpec> spec;
  std::string why_no_spec;
  /// Models inside it that can be described each by itself ("text", "vision"): PATH#text.
  std::vector<std::string> towers;
  std::vector<std::string> remarks;  ///< what the spec leaves out, and what that may change
  /// Of one that was recognised by its tensors: what they do not tell and draws hang on, as the
  /// library takes it ("initializer_range = 0.02"); other architectures with the same tensors and
  /// rules.
  std::vector<std::string> taken, alike;
  std::string unlike;  ///< the first tensor of the file that differs, and how; empty: none
};

/// A family of models that configs describe.
struct KnownArchitecture {
  std::string model_type;            ///< "llama"
  std::string title;                 ///< of its data file
  std::vector<std::string> classes;  ///< the first is taken where a config names none
};
/// In the order of their names; the data are in tables/architectures.
const std::vector<KnownArchitecture>& known_architectures();

/// Whether the path is a config ("....json"), a folder that holds one ("config.json"), or a file of
/// weights ("....safetensors") beside one; "PATH#TOWER" where it is.
bool is_config(const std::string& path);
/// Throws Error(input): unreadable, not JSON, above 1 MiB, an architecture or a class that is not
/// known, a value of the wrong type or out of range, sizes that contradict each other. Nothing of
/// the file is executed. "PATH#TOWER" is one of several models that it holds.
LibraryModel read_config(const std::string& path);
/// `name` is for messages; a tower where one is named.
LibraryModel parse_config(std::string_view json, const std::string& name,
                          const std::string& tower = {});

/// Of one that recognise() found, one of the models that it holds, by its name among `towers`.
/// Throws Error(input).
LibraryModel tower_of(const LibraryModel& library, const std::string& tower);

/// "PATH#TOWER", where no file is called so; else the tower is empty.
struct TowerPath {
  std::string path, tower;
};
TowerPath tower_path(const std::string& path);

/// The model of the same config with other values of those of its keys that are a field of the
/// description by themselves, and differ in `changed`: num_hidden_layers of layers. None
/// where the library refuses them, a list of as many layers as there were for one.
std::optional<LibraryModel> resized(const LibraryModel& library, const ModelSpec& changed);

/// A tensor of a file.
struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Models whose tensors have these names and shapes, found without a config: of the architectures
/// whose tensors fit best, one for each set of rules that they are drawn by, the one first that is
/// least unlike its library's defaults. Sizes follow from the shapes. Throws Error(input) where
/// less than half of the tensors fit any; `name` is for messages.
std::vector<LibraryModel> recognise(const std::vector<NamedShape>& tensors,
                                    const std::string& name);

}  // namespace scalecalc
