#include <map>
#include <optional>
#include <utility>

#include "scalecalc/error.hpp"
#include "scalecalc/named_parameters.hpp"
#include "scalecalc/names.hpp"
#include "scalecalc/transfer.hpp"
#include "transfer/numbers.hpp"

namespace scalecalc {
namespace {

class Builder {
 public:
  Builder(const ModelSpec& base, const ModelSpec& spec, const TransferSolution& solution,
          const std::array<double, growth_axes>& ratios)
      : spec_(spec),
        base_(build_network(base)),
        made_{build_network(spec), {}},
        solution_(solution),
        ratios_(ratios) {
    for (const TensorTransfer& tensor : solution.tensors) {
      if (tensor.tensor.is_tied && tensor.tensor.kind == TensorKind::output)
        tied_head_ = &tensor;
      else
        tensors_.try_emplace(tensor.tensor.name, &tensor);
    }
  }

  TransferredNetwork run() {
    for_each_number(base_,
                    [this](const std::string& key, Follows, double& value) { add(key, value); });
    for (const ParameterInfo& info : parameters(made_.network)) add_factors(info);
    for_each_number(made_.network, [this](const std::string& key, Follows follows, double& value) {
      value = start_of(key) * factor(key, follows);
    });
    return std::move(made_);
  }

 private:
  /// Where blocks of one pattern have different numbers, the pattern has none. A tensor that goes
  /// by its own path is none of its pattern: the first of a stack, which maps the input.
  void add(const std::string& key, double value) {
    numbers_[key] = value;
    const std::string pattern = path_pattern(key);
    if (pattern == key || tensors_.contains(key.substr(0, key.find(' ')))) return;
    const auto [found, is_new] = numbers_.try_emplace(pattern, value);
    if (!is_new && found->second != value) found->second.reset();
  }

  double start_of(const std::string& key) const {
    const auto found = find_path(numbers_, key);
    if (found == numbers_.end())
      throw Error(ErrorKind::input, key + " has no counterpart in the base", "transfer",
                  "choose a base that has all kinds of parameters");
    if (!found->second)
      throw Error(ErrorKind::input,
                  path_pattern(key) +
                      " differs between the base's blocks: the other blocks of the model have none "
                      "to start from",
                  "transfer", "choose a base of the same depth");
    return *found->second;
  }

  /// The shift of a norm that a model's library has without one goes by its gain.
  void add_factors(const ParameterInfo& info) {
    std::string path = info.path;
    if (is_ours_alone(spec_, path)) path.replace(path.rfind(".shift"), std::string::npos, ".gain");
    const auto tensor = find_path(tensors_, path);
    if (tensor == tensors_.end())
      throw Error(ErrorKind::input, info.path + " has no counterpart in the base", "transfer",
                  "choose a base that has all kinds of parameters");
    const TensorFactors factors = factors_at(*tensor->second, ratios_);
    if (info.role == "norm" && info.constant != 0 && factors.std != 1)
      throw Error(ErrorKind::input, "the gains of norms start at 1 in passes", info.path,
                  "leave multiplier and std of norm_gain out");
    made_.factors.emplace(info.path, factors);
  }

  double factor(const std::string& key, Follows follows) const {
    switch (follows) {
      case Follows::parameter: {
        // The table of positions has a std where there is none.
        const auto found = made_.factors.find(key);
        return found == made_.factors.end() ? 1 : found->second.std;
      }
      case Follows::branch: return solution_.branch.at(ratios_);
      case Follows::scores: return solution_.scores ? solution_.scores->at(ratios_) : 1;
      case Follows::tied_head: {
        // The table's own multiplier is in its init, which the head reads too.
        const auto table = tensors_.find("embedding.weight");
        if (!tied_head_ || table == tensors_.end()) return 1;
        return (tied_head_->multiplier / table->second->multiplier).at(ratios_);
      }
      case Follows::table: {
        const auto table = made_.factors.find("embedding.weight");
        return table == made_.factors.end() ? 1 : table->second.std;
      }
      case Follows::multiplier:
      case Follows::skip: break;
    }
    return 1;
  }

  const ModelSpec& spec_;
  Network base_;
  TransferredNetwork made_;
  const TransferSolution& solution_;
  const std::array<double, growth_axes>& ratios_;
  std::map<std::string, std::optional<double>> numbers_;  ///< of the base, by key and by pattern
  std::map<std::string, const TensorTransfer*> tensors_;
  const TensorTransfer* tied_head_ = nullptr;
};

}  // namespace

TransferredNetwork transferred_network(const ModelSpec& base, const ModelSpec& spec,
                                       const TransferSolution& solution,
                                       const std::array<double, growth_axes>& ratios) {
  return Builder(base, spec, solution, ratios).run();
}

}  // namespace scalecalc
