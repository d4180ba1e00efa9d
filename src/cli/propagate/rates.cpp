#include "cli/propagate/rates.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "scalecalc/optimizer_mixture.hpp"

namespace scalecalc::cli {
namespace {

constexpr double kMost = 1e6;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool matches(std::string_view pattern, std::string_view path) {
  constexpr std::string_view any = "[*]";
  while (!pattern.empty() && !path.empty()) {
    if (pattern.starts_with(any) && path.front() == '[') {
      path.remove_prefix(1);
      while (!path.empty() && is_digit(path.front())) path.remove_prefix(1);
      if (!path.starts_with("]")) return false;
      path.remove_prefix(1);
      pattern.remove_prefix(any.size());
      continue;
    }
    if (pattern.front() != path.front()) return false;
    pattern.remove_prefix(1);
    path.remove_prefix(1);
  }
  return pattern.empty() && path.empty();
}

/// "block[3].attn.q.weight" as "block[*].attn.q.weight".
std::string pattern_of(const std::string& path) {
  std::string made;
  for (const char letter : path) {
    if (is_digit(letter) && (made.ends_with('[') || made.ends_with("[*"))) {
      if (made.ends_with('[')) made += '*';
    } else {
      made += letter;
    }
  }
  return made;
}

/// By path, of those that are named.
std::map<std::string, double> read(const std::string& option, const std::vector<std::string>& texts,
                                   const std::vector<ParameterInfo>& parameters, double least) {
  std::map<std::string, double> values;
  for (const std::string& text : texts) {
    const std::size_t mark = text.rfind('=');
    if (mark == std::string::npos || mark == 0) {
      throw Error(ErrorKind::input, option + " must be PATH=NUMBER",
                  "got '" + base::shortened(text) + "'",
                  "for example " + option + " 'block[*].ffn.in.weight=1e-3'");
    }
    const std::string path = text.substr(0, mark);
    const double value = parse_number(option, text.substr(mark + 1), least, kMost, path + "=1e-3");
    bool is_known = false;
    for (const ParameterInfo& info : parameters) {
      if (!matches(path, info.path)) continue;
      values[info.path] = value;
      is_known = true;
    }
    if (is_known) continue;
    std::vector<std::string> known;
    for (const ParameterInfo& info : parameters) {
      const std::string one = pattern_of(info.path);
      if (std::find(known.begin(), known.end(), one) == known.end()) known.push_back(one);
    }
    throw unknown_name("parameter", path, known, option);
  }
  return values;
}

double eps_factor(double eps, const OptimizerOptions& mixture, const ParameterInfo& parameter) {
  const bool takes = mixture.rest.empty() || steps_first(mixture.first_roles, parameter);
  const OptimizerOptions& own = takes ? mixture : mixture.rest.front();
  for (const char* without : {"sgd", "momentum", "nesterov", "ngd", "lars", "lion", "adafactor"}) {
    if (own.name != without) continue;
    throw Error(ErrorKind::input, own.name + " has no eps of one parameter", "--eps-of",
                "leave out " + parameter.path);
  }
  return eps / own.eps;
}

}  // namespace

std::map<std::string, double> set_rates(const Network& network, double lr,
                                        const std::vector<std::string>& lr_of,
                                        const std::vector<std::string>& eps_of,
                                        OptimizerOptions& options) {
  const std::vector<ParameterInfo> all = parameters(network);
  constexpr double least_eps = 1e-300;
  const std::map<std::string, double> rates = read("--lr-of", lr_of, all, 0);
  const std::map<std::string, double> eps = read("--eps-of", eps_of, all, least_eps);
  // Factors are of a rate that is not 0.
  const double unit = lr > 0 || rates.empty() ? lr : 1;
  options.learning_rate = options.adamw_learning_rate = unit;
  for (OptimizerOptions& rest : options.rest) rest.learning_rate = rest.adamw_learning_rate = unit;
  std::map<std::string, double> found;
  for (const ParameterInfo& info : all) {
    const auto own = rates.find(info.path);
    const double rate = own == rates.end() ? lr : own->second;
    found[info.path] = rate;
    if (rate != unit) options.factors[info.path].learning_rate = rate / unit;
    if (const auto of = eps.find(info.path); of != eps.end())
      options.factors[info.path].eps = eps_factor(of->second, options, info);
  }
  return found;
}

}  // namespace scalecalc::cli
