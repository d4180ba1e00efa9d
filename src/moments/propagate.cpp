#include "moments/propagate.hpp"

#include <string>
#include <utility>

#include "moments/head_lengths.hpp"
#include "moments/head_softmax.hpp"
#include "moments/pair_sheets.hpp"
#include "moments/positions.hpp"
#include "moments/trace_of.hpp"
#include "network/memory.hpp"
#include "scalecalc/moments.hpp"

namespace scalecalc {
namespace moments {
namespace {

template <class X>
Trace trace_of(Propagation<Numbers, X> made, const Numbers& calculus, bool backward) {
  Trace trace;
  trace.sites.reserve(made.ledger.sites.size());
  // The paths are the network's, which has been left behind.
  const auto far = [](const auto& record) { base::prefetch(record.path, sizeof(std::string)); };
  const auto near = [](const auto& record) { base::prefetch(record.path->data(), 1); };
  made.ledger.sites.drain(
      far, near, [&](const auto& site) { fill(trace.sites.emplace_back(), site, backward); });
  trace.parameters.reserve(made.ledger.parameters.size());
  made.ledger.parameters.drain(far, near, [&](const auto& parameter) {
    fill(trace.parameters.emplace_back(), parameter, backward);
  });
  trace.loss = {made.loss, 0, 0};
  trace.assumptions = calculus.assumptions();
  return trace;
}

template <class X, class State>
Trace trace_in(Numbers& calculus, const Network& network, const Contents& contents,
               const State& state) {
  try {
    // A jump's E phi'^2 is infinite.
    std::string jump;
    if (calculus.options().backward)
      for (const std::string& name : contents.activations)
        if (jump.empty() && calculus.function(name)->activation().has_jump()) jump = name;
    const bool backward = calculus.options().backward && jump.empty();
    auto made = propagate_through<X>(calculus, network, backward, state);
    if (!jump.empty())
      calculus.assume("activation",
                      "no gradient is predicted: " + jump + " jumps, so that E phi'^2 is infinite");
    return trace_of(std::move(made), calculus, backward);
  } catch (const Error& error) {
    if (error.where() == calculus.site()) throw;
    throw Error(error.kind(), error.message(), calculus.site(), error.hint());
  }
}

}  // namespace

Trace trace_by(Numbers& calculus, const Network& network) {
  if (network.layers.empty())
    throw Error(ErrorKind::input, "a network without layers has nothing to propagate", "layers",
                "give it at least a head");
  const Contents contents = contents_of(network.layers);
  calculus.cache<AttentionLayers>().count = contents.attentions;
  calculus.cache<SoftmaxRowSheets>().expect(contents.attentions);
  calculus.cache<PairSheets>().expect(contents.attentions);
  if (contents.class_tokens) {
    if (contents.causal)
      throw Error(ErrorKind::input, "class tokens are for all tokens, and a mask hides some",
                  "network", "leave out one of the two");
    return trace_in<PerPosition>(calculus, network, contents,
                                 [&](const Alike<double>& x, std::int64_t tokens) {
                                   return spread_over(x, make_kinds(0, tokens), network.batch);
                                 });
  }
  if (network.sequence > 1 && contents.causal) {
    const bool falls = contents.alibi || contents.window || contents.relative;
    const double spacing = falls             ? Spacing::narrow
                           : contents.rotary ? Spacing::turned
                                             : Spacing::wide;
    return trace_in<PerPosition>(
        calculus, network, contents, [&](const Alike<double>& x, std::int64_t tokens) {
          return spread_over(x,
                             make_positions(tokens, calculus.options().all_positions,
                                            contents.reads_last, spacing),
                             network.batch);
        });
  }
  if (network.sequence > 1 && contents.reads_last) {
    // One token beside all others, which start alike: the gradient tells it from them.
    return trace_in<PerPosition>(calculus, network, contents,
                                 [&](const Alike<double>& x, std::int64_t tokens) {
                                   return spread_over(x, make_last_apart(tokens), network.batch);
                                 });
  }
  return trace_in<Alike<double>>(calculus, network, contents,
                                 [](const Alike<double>& x, std::int64_t) { return x; });
}

}  // namespace moments

Trace propagate(const Network& network, const PropagateOptions& options) {
  check_trace_memory(network, kPredictedBytes);
  moments::Numbers numbers(options);
  Trace trace = moments::trace_by(numbers, network);
  trace.engine = "quadrature";
  return trace;
}

}  // namespace scalecalc
