#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "scalecalc/names.hpp"
#include "scalecalc/transfer.hpp"
#include "transfer/numbers.hpp"

namespace scalecalc {
namespace {

/// The numbers of a network, by their keys and by the patterns of these. A tensor that goes by its
/// own path is none of its pattern: the first of a stack, which maps the input.
std::map<std::string, double> numbers_of(const ModelSpec& spec, const TransferModel& model) {
  std::set<std::string> names;
  for (const TransferTensor& tensor : model.tensors) names.insert(tensor.name);
  Network network = build_network(spec);
  std::map<std::string, double> numbers;
  for_each_number(network, [&](const std::string& key, Follows, double& value) {
    numbers.emplace(key, value);
    if (!names.contains(key.substr(0, key.find(' ')))) numbers.emplace(path_pattern(key), value);
  });
  return numbers;
}

class OwnNumbers {
 public:
  OwnNumbers(const ModelSpec& small, const ModelSpec& large, double ratio, GrowthAxis axis,
             const TransferModel& model)
      : small_(numbers_of(small, model)),
        large_(numbers_of(large, model)),
        ratio_(ratio),
        axis_(axis),
        model_(model) {}

  Parametrization run() const {
    Parametrization made{"own", "standard", {}, {}};
    for (const TransferTensor& tensor : model_.tensors) made.tensors.emplace_back(given(tensor));
    made.branch = power_of_first("branch", "skip");
    if (model_.head_width) made.attention = power_of_first("scores", nullptr);
    return made;
  }

 private:
  std::pair<std::string, GivenNumbers> given(const TransferTensor& tensor) const {
    GivenNumbers numbers;
    numbers.lr = numbers.decay = numbers.eps = Exponents();
    const bool tied = tensor.is_tied && tensor.kind == TensorKind::output;
    const std::string key = tied ? "embedding.weight" : tensor.name;
    const auto power_of = [&](const std::string& of) {
      return power(value(small_, of), value(large_, of));
    };
    numbers.multiplier = power_of(tensor.name + " multiplier");
    if (tensor.is_matrix) numbers.std = power_of(key);
    return {tensor.name, numbers};
  }

  /// 1 where there is none: positions have no multiplier.
  static double value(const std::map<std::string, double>& numbers, const std::string& key) {
    const auto found = find_path(numbers, key);
    return found == numbers.end() ? 1 : found->second;
  }

  /// Of what starts at 0 there is none.
  Exponents power(double small, double large) const {
    constexpr int parts = 12;
    Exponents made;
    if (small > 0 && large > 0)
      made[axis_] =
          Rational(std::llround(std::log(large / small) / std::log(ratio_) * parts), parts);
    return made;
  }

  /// Of the first number of that name, over the one of the other name beside it.
  std::optional<Exponents> power_of_first(const std::string& name, const char* over) const {
    for (const auto& [key, small] : small_) {
      const std::size_t blank = key.find(' ');
      if (blank == std::string::npos || key.substr(blank + 1) != name) continue;
      const auto ratio = [&](const std::map<std::string, double>& numbers) {
        return value(numbers, key) / (over ? value(numbers, key.substr(0, blank + 1) + over) : 1);
      };
      return power(ratio(small_), ratio(large_));
    }
    return {};
  }

  std::map<std::string, double> small_, large_;
  double ratio_;
  GrowthAxis axis_;
  const TransferModel& model_;
};

}  // namespace

Parametrization own_parametrization(const ModelSpec& small, const ModelSpec& large, double ratio,
                                    GrowthAxis axis, const TransferModel& model) {
  return OwnNumbers(small, large, ratio, axis, model).run();
}

}  // namespace scalecalc
