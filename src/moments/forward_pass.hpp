#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "moments/activation_chain.hpp"
#include "moments/attention_residual.hpp"
#include "moments/calculus.hpp"
#include "moments/first_values.hpp"
#include "moments/ledger.hpp"
#include "moments/slope_correlation.hpp"
#include "moments/weightless.hpp"
#include "network/read_ahead.hpp"

namespace scalecalc::moments {

/// Sends a signal through layers, writing sites, parameters and the tape. What a kind of layer does
/// is its `forward_step(ForwardPass<C, X>&, const Kind&, Signal<X>)` in layers/; a kind without one
/// does not compile.
template <class C, class X>
class ForwardPass {
 public:
  using N = typename C::Number;
  /// `memory`: what cross-attention attends to.
  ForwardPass(C& calculus, const Network& network, bool backward, std::optional<Signal<X>> memory,
              Ledger<C, X>& ledger)
      : calculus_(calculus),
        network_(network),
        backward_(backward),
        averages_tokens_(std::any_of(network.layers.begin(), network.layers.end(), averages)),
        makes_memory_(std::any_of(network.layers.begin(), network.layers.end(), makes)),
        memory_(std::move(memory)),
        ledger_(ledger) {}

  Signal<X> run(const std::vector<Layer>& layers, Signal<X> x) {
    bool above_keeps = false;
    for (auto layer = layers.begin(); layer != layers.end(); ++layer) {
      read_ahead(layer, layers.end());
      const auto step = [&](const auto& op) { return forward_step(*this, op, std::move(x)); };
      if (is_identity(*layer)) {
        x = std::visit(step, layer->op);
        continue;
      }
      wants_slope_correlation_ = above_keeps;
      const auto next = std::find_if_not(std::next(layer), layers.end(), is_identity);
      chain_follows_ = next != layers.end() && continues_chain(*next);
      x = std::visit(step, layer->op);
      if (draws_weights(*layer)) x.with_inputs.reset();
      if (!keeps_dropped(*layer)) x.dropped.reset();
      if (!keeps_profile(*layer)) x.profile.reset();
      if (!keeps_apart(*layer)) {
        x.error.forget_apart();
        x.truncation.forget_apart();
      }
      if (!std::holds_alternative<Concat>(layer->op)) x.populations.reset();
      if (!std::holds_alternative<Residual>(layer->op)) {
        x.law.reset();
        x.summed.reset();
      }
      above_keeps = keeps_slope_correlation(*layer);
    }
    return x;
  }

  /// The scores that residual attention before these layers has added up.
  void add_scores(ScoreSum<X> scores) { scores_ = std::move(scores); }

  /// Completes x and notes it down. Returns the index of its record.
  std::size_t site(const std::string& path, const char* kind, Signal<X>& x,
                   const char* suffix = "") {
    calculus_.complete(path, x);
    SiteRecord<N>& made = ledger_.sites.add();
    made.path = &path;
    made.suffix = suffix;
    made.kind = kind;
    made.width = x.width;
    made.tokens = x.tokens;
    made.x = average(x.x);
    made.spread = shown(x.spread);
    ledger_.last_spread = x.spread;
    made.error = x.error;
    made.truncation = x.truncation;
    return ledger_.sites.size() - 1;
  }
  /// Notes a parameter of that E w^2 down. Returns the index of its record.
  std::size_t parameter(const std::string& path, const char* suffix, std::int64_t rows,
                        std::int64_t columns, double second) {
    ParameterRecord<N>& made = ledger_.parameters.add();
    made.path = &path;
    made.suffix = suffix;
    made.rows = rows;
    made.columns = columns;
    made.second = calculus_.real(second);
    return ledger_.parameters.size() - 1;
  }
  /// Where the next records go.
  RecordPlace place() const { return {ledger_.sites.size(), ledger_.parameters.size()}; }
  /// The same records once more, of layers that are alike but for their paths: `paths` has those
  /// noted and what stands for each.
  void repeat(const RecordRange& of, const SamePaths& paths) {
    const auto again = [&](auto& records, std::size_t from, std::size_t to) {
      for (std::size_t at = from; at < to; ++at) {
        auto record = records[at];
        record.path = paths.of(record.path);
        records.push(std::move(record));
      }
    };
    again(ledger_.sites, of.from.site, of.to.site);
    again(ledger_.parameters, of.from.parameter, of.to.parameter);
  }
  template <class Op>
  void keep(Kept<Op, C, X>&& entry) {
    if (backward_) ledger_.tape.template push<Op>(std::move(entry));
  }

  C& calculus() const { return calculus_; }
  const Network& network() const { return network_; }
  bool backward() const { return backward_; }
  /// Whether a mean over tokens is among the outermost layers.
  bool averages_tokens() const { return averages_tokens_; }
  /// Whether an encoder is.
  bool makes_memory() const { return makes_memory_; }
  /// The layer that comes before in the list, after on the way back, uses or hands on the
  /// correlation of slopes.
  bool wants_slope_correlation() const { return wants_slope_correlation_; }
  /// The layer that comes next in the list asks what an activation right before it was given.
  bool chain_follows() const { return chain_follows_; }
  /// Of a layer that has run others in between.
  void set_chain_follows(bool follows) { chain_follows_ = follows; }
  /// Left by an activation for the one that follows it.
  void set_chain(ActivationChain<X> chain) { chain_ = std::move(chain); }
  std::optional<ActivationChain<X>> take_chain() { return std::exchange(chain_, std::nullopt); }
  const Signal<X>* memory() const { return memory_ ? &*memory_ : nullptr; }
  void set_memory(Signal<X> made) {
    settle(made);
    memory_ = std::move(made);
  }
  /// The vector of each sample that modulations read; null: none.
  const Signal<X>* condition() const { return condition_ ? &*condition_ : nullptr; }
  void set_condition(Signal<X> made) {
    settle(made);
    condition_ = std::move(made);
  }
  std::optional<ScoreSum<X>>& scores() { return scores_; }
  /// Of the last attention that gives its values to those behind it.
  std::optional<FirstValues<X>>& first_values() { return first_values_; }
  /// Of the deviation of the stream's overlaps, so much is what it was before.
  void keep_overlaps(double share) {
    if (first_values_) first_values_->follows *= share;
  }
  /// The record of the last table of scores' biases.
  std::size_t bias_table() const { return bias_table_; }
  void set_bias_table(std::size_t parameter) { bias_table_ = parameter; }
  Counts counts(const Signal<X>& x) const {
    return {static_cast<double>(x.tokens), static_cast<double>(network_.batch)};
  }

 private:
  C& calculus_;
  const Network& network_;
  static bool averages(const Layer& layer) {
    const auto* pool = std::get_if<Pool>(&layer.op);
    return pool != nullptr && pool->of != Pool::Of::first && pool->of != Pool::Of::last;
  }

  static bool makes(const Layer& layer) { return std::holds_alternative<Encoder>(layer.op); }

  bool backward_, averages_tokens_, makes_memory_;
  bool wants_slope_correlation_ = false, chain_follows_ = false;
  std::optional<ActivationChain<X>> chain_;
  std::optional<Signal<X>> memory_, condition_;
  std::optional<ScoreSum<X>> scores_;  ///< of residual attention
  std::optional<FirstValues<X>> first_values_;
  std::size_t bias_table_ = 0;
  Ledger<C, X>& ledger_;
};

}  // namespace scalecalc::moments
