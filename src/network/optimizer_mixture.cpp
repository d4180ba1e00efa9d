#include "scalecalc/optimizer_mixture.hpp"

#include <algorithm>
#include <cctype>

#include "scalecalc/error.hpp"
#include "scalecalc/named_parameters.hpp"

namespace scalecalc {
namespace {

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// In a mixture theta begins a rule too.
bool is_mixed_name(std::string_view text) {
  return text != "theta" && is_optimizer_name(text);
}

/// The words between the commas, without spaces.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char letter : text) {
    if (letter == ',')
      words.emplace_back();
    else if (letter != ' ')
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return words;
}

/// The group that a role belongs to; empty: none.
std::string_view group_of(std::string_view role) {
  if (role == "q" || role == "k" || role == "v" || role == "o") return "attention";
  return role.starts_with("ffn_") ? "ffn" : "";
}

}  // namespace

const std::vector<std::string>& mixture_roles() {
  static const std::vector<std::string> roles = {
      "attention",  "ffn",       "q",       "k",      "v",     "o",
      "ffn_gate",   "ffn_in",    "ffn_out", "linear", "patch", "condition",
      "modulation", "embedding", "head",    "bias",   "norm",  "scale"};
  return roles;
}

bool is_optimizer_name(std::string_view text) {
  return text != "g" && std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '-';
         });
}

std::optional<OptimizerMixture> read_mixture(std::string_view text, const std::string& where) {
  const std::size_t open = std::min(text.find_first_of("(+"), text.size());
  if (open == text.size() || !is_mixed_name(text.substr(0, open))) return std::nullopt;
  OptimizerMixture mixture{std::string(text.substr(0, open)), {}, {}};
  std::size_t plus = open;
  if (text[open] == '(') {
    const std::size_t close = text.find(')');
    if (close == std::string_view::npos) return std::nullopt;
    mixture.roles = words_of(text.substr(open + 1, close - open - 1));
    plus = close + 1;
    // sign(g): a function of a rule.
    if (!std::ranges::all_of(mixture.roles, is_mixed_name)) return std::nullopt;
    if (plus >= text.size() || text[plus] != '+')
      throw Error(ErrorKind::input, "the roles of " + mixture.first + " have no second optimizer",
                  where + " " + std::string(text), "for example muon(ffn)+adamw");
  }
  mixture.second = text.substr(plus + 1);
  if (mixture.second.find('+') != std::string::npos)
    throw Error(ErrorKind::input, "a mixture is of two optimizers, not of more",
                where + " " + std::string(text), "for example muon+adamw");
  for (const std::string& role : mixture.roles)
    if (!holds(mixture_roles(), role)) throw unknown_name("role", role, mixture_roles(), where);
  return mixture;
}

std::string to_string(const OptimizerMixture& mixture) {
  std::string roles;
  for (const std::string& role : mixture.roles) roles += (roles.empty() ? "(" : ",") + role;
  return mixture.first + roles + (roles.empty() ? "+" : ")+") + mixture.second;
}

bool steps_first(const std::vector<std::string>& roles, std::string_view role, bool is_matrix) {
  if (roles.empty()) return is_matrix && role != "embedding" && role != "head";
  const bool is_vector = role == "norm" || role == "scale";
  if (!is_matrix && !is_vector) return holds(roles, "bias");
  return holds(roles, role) || holds(roles, group_of(role));
}

bool steps_first(const std::vector<std::string>& roles, const ParameterInfo& parameter) {
  return steps_first(roles, parameter.role, parameter.is_matrix);
}

}  // namespace scalecalc
