#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"

namespace scalecalc {

/// What is wrong with a spec, and in which fields ("heads", "init.bias_variance"), the likeliest
/// first.
struct SpecProblem {
  std::vector<std::string> fields;
  std::string message, hint;
  std::string where = {};  ///< "file:line:column" where a layer of a list knows it
};
std::optional<SpecProblem> find_problem(const ModelSpec& spec);

/// The parts of it, each in a file of its own.
std::optional<SpecProblem> find_size_problem(const ModelSpec& spec);
std::optional<SpecProblem> find_depth_problem(const ModelSpec& spec);
std::optional<SpecProblem> find_scale_problem(const ModelSpec& spec);
std::optional<SpecProblem> find_layer_problem(const ModelSpec& spec);
std::optional<SpecProblem> find_head_problem(const ModelSpec& spec);
std::optional<SpecProblem> find_modulation_problem(const ModelSpec& spec);
std::optional<SpecProblem> find_sinusoids_problem(const ModelSpec& spec);

SpecProblem problem_from(const std::string& field, const Error& error);
/// Numbers of a model: squares of these, times what networks multiply them by, are numbers still.
inline constexpr double largest_number = 1e60, least_number = 1e-60;
/// Of a cap c other than 0: 1/c is a number in single precision too.
inline constexpr double least_cap = 1e-30;
/// A value that must be at least 0, or above it, and at most largest_number.
std::optional<SpecProblem> finite_problem(const std::string& field, double value, bool may_be_zero);
/// A size that must be from least_number to largest_number.
std::optional<SpecProblem> positive_problem(const std::string& field, double value);
/// A cap must be 0 or at least least_cap.
std::optional<SpecProblem> least_cap_problem(const std::string& field, double cap);

/// Of an attention; 0 stands for what follows from the others.
struct HeadSizes {
  std::int64_t width, heads, kv_heads, head_width;
};
/// Why these do not fit together, with what would.
std::optional<SpecProblem> heads_problem(const HeadSizes& of);

/// What ALiBi stands beside.
struct ScoreBiases {
  double alibi;
  bool causal, rotary, residual_attention;
};
std::optional<SpecProblem> alibi_problem(const ScoreBiases& of);

/// Of T5's biases of scores.
std::optional<SpecProblem> relative_problem(const ModelSpec& spec);

struct WindowUse {
  std::int64_t window;
  bool causal, residual_attention;
};
std::optional<SpecProblem> window_problem(const WindowUse& of);

/// What a cap of scores stands beside.
struct CappedScores {
  double softcap = 0;
  bool residual_attention = false;
  bool key_biases = false;
  bool keys_differ = false;  ///< by a window or ALiBi
};
/// `field` is the cap's name.
std::optional<SpecProblem> softcap_problem(const std::string& field, const CappedScores& scores);

/// A name, or an expression in x. Throws Error(input) for neither.
void check_activation(const std::string& text);

/// A formula's value; `name` is the field in messages.
double formula_value(const Expr& formula, const Bindings& values, const std::string& name);
/// norm_scale of block[index].
double norm_scale(const ModelSpec& spec, std::int64_t index);
/// The sizes that formulas may name, with N.
Bindings size_bindings(const ModelSpec& spec);

}  // namespace scalecalc
