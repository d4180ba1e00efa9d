#include "transfer/starts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "transfer/definitions.hpp"
#include "transfer/update_size.hpp"

namespace scalecalc {
namespace {

/// What a file gives of one tensor, on one axis.
struct Given {
  std::optional<Rational> multiplier, std, lr, decay, eps;
};

class Starts {
 public:
  Starts(const TransferProblem& problem, GrowthAxis axis, TransferSolution& solution)
      : problem_(problem), tensors_(problem.model.tensors), axis_(axis), solution_(solution) {}

  std::vector<Start> run() {
    for (const TransferTensor& tensor : tensors_) given_.push_back(given(tensor));
    tie_given();
    for (std::size_t i = 0; i < tensors_.size(); ++i) starts_.push_back(started(i));
    tie_stds();
    for (std::size_t i = 0; i < tensors_.size(); ++i) check(i);
    return std::move(starts_);
  }

 private:
  std::optional<Rational> on_axis(const std::optional<Exponents>& numbers) const {
    if (!numbers) return {};
    return (*numbers)[axis_];
  }

  Given given(const TransferTensor& tensor) const {
    const Parametrization& all = problem_.parametrization;
    for (const auto& [name, numbers] : all.tensors)
      if (name == tensor.name) return on_axis(numbers);
    for (const auto& [key, numbers] : all.kinds)
      if (key == to_string(tensor.kind)) return on_axis(numbers);
    return {};
  }
  Given on_axis(const GivenNumbers& numbers) const {
    return {on_axis(numbers.multiplier), on_axis(numbers.std), on_axis(numbers.lr),
            on_axis(numbers.decay), on_axis(numbers.eps)};
  }

  /// What is given of one use of a tensor holds for both.
  void tie_given() {
    const auto [table, head] = tied_pair(problem_.model);
    if (table == tensors_.size()) return;
    for (const auto& [name, member] : {std::pair{"std", &Given::std},
                                       {"lr", &Given::lr},
                                       {"decay", &Given::decay},
                                       {"eps", &Given::eps}}) {
      auto &of_table = given_[table].*member, &of_head = given_[head].*member;
      if (of_table && of_head && !(*of_table == *of_head))
        throw Error(ErrorKind::input,
                    fmt::format("the embedding and the head are one tensor, and [embedding] and "
                                "[output] give it two numbers {}: {} and {}",
                                name, power_text(axis_, *of_table), power_text(axis_, *of_head)),
                    problem_.parametrization.name, "give it in one of them");
      if (!of_table) of_table = of_head;
      if (!of_head) of_head = of_table;
    }
  }

  Start started(std::size_t i) const {
    const TransferTensor& tensor = tensors_[i];
    Start start;
    start.fan_in = tensor.fan_in[axis_];
    start.fan_out = tensor.fan_out[axis_];
    if (tensor.kind == TensorKind::router && axis_ == GrowthAxis::experts)
      std::swap(start.columns, start.fan_out);
    const Growth growth{start.fan_in, start.fan_out, tensor.is_matrix,
                        tensor.kind == TensorKind::output || tensor.kind == TensorKind::router};
    const Given& numbers = given_[i];
    const DefinedStart defined =
        defined_start(problem_.parametrization.base, growth, {numbers.multiplier, numbers.std});
    start.multiplier = defined.multiplier;
    start.std = defined.std;
    start.lr = numbers.lr;
    start.decay = numbers.decay;
    start.eps = numbers.eps;
    return start;
  }

  /// A tensor of two uses starts with the smaller std, at which both are stable.
  void tie_stds() {
    const auto [table, head] = tied_pair(problem_.model);
    if (table == tensors_.size()) return;
    Rational &of_table = starts_[table].std, &of_head = starts_[head].std;
    if (!(of_table == of_head)) {
      const bool by_head = of_head < of_table;
      solution_.warnings.push_back(fmt::format(
          "the tied tensor starts with std {}, as the {} asks; the {} alone would have "
          "{}",
          power_text(axis_, smaller(of_table, of_head)), by_head ? "head" : "embedding",
          by_head ? "embedding" : "head", power_text(axis_, larger(of_table, of_head))));
    }
    of_table = of_head = smaller(of_table, of_head);
  }

  /// Sizes at init: features at most 1, logits and scores too. What starts at 0 has none.
  void check(std::size_t i) {
    const TransferTensor& tensor = tensors_[i];
    const Given& numbers = given_[i];
    const bool at_zero = !tensor.is_matrix && tensor.kind != TensorKind::norm_gain;
    if (tensor.closes_branch || (at_zero && !numbers.std)) return;
    const Start& start = starts_[i];
    const Rational size = start.multiplier + start.std + start.fan_in * half;
    const bool is_head = tensor.kind == TensorKind::output;
    if (Rational(0) < size) {
      solution_.bindings.push_back({tensor.name, "std", axis_,
                                    is_head ? "logits_at_init" : "features_at_init",
                                    fmt::format("{} + {} + {}/2 <= 0", start.multiplier.to_string(),
                                                start.std.to_string(), start.fan_in.to_string()),
                                    false});
      solution_.warnings.push_back(
          is_head ? fmt::format("logits grow as {} at init: no learning rate mends that",
                                power_text(axis_, size))
                  : fmt::format("what {} puts out grows as {} at init, by its multiplier {} and "
                                "std {}: no learning rate mends that",
                                to_string(tensor.kind), power_text(axis_, size),
                                power_text(axis_, start.multiplier), power_text(axis_, start.std)));
      return;
    }
    const bool is_given = numbers.multiplier || numbers.std;
    const bool may_vanish =
        is_head || at_zero || tensor.kind == TensorKind::router || tensor.is_tied || !is_given;
    if (size.sign() < 0 && !may_vanish)
      solution_.warnings.push_back(fmt::format(
          "what {} puts out falls as {} at init, by its multiplier {} and std {}: the numbers are "
          "those of features of size 1",
          to_string(tensor.kind), power_text(axis_, size), power_text(axis_, start.multiplier),
          power_text(axis_, start.std)));
  }

  const TransferProblem& problem_;
  const std::vector<TransferTensor>& tensors_;
  GrowthAxis axis_;
  TransferSolution& solution_;
  std::vector<Given> given_;
  std::vector<Start> starts_;
};

}  // namespace

std::vector<Start> starts_on(const TransferProblem& problem, GrowthAxis axis,
                             TransferSolution& solution) {
  return Starts(problem, axis, solution).run();
}

std::pair<std::size_t, std::size_t> tied_pair(const TransferModel& model) {
  const std::size_t none = model.tensors.size();
  std::size_t table = none, head = none;
  for (std::size_t i = 0; i < none; ++i) {
    if (!model.tensors[i].is_tied) continue;
    (model.tensors[i].kind == TensorKind::output ? head : table) = i;
  }
  return head == none || table == none ? std::pair(none, none) : std::pair(table, head);
}

std::string power_text(GrowthAxis axis, const Rational& exponent) {
  Exponents one;
  one[axis] = exponent;
  return one.formula();
}

}  // namespace scalecalc
