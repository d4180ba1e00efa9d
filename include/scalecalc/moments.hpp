#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"
#include "scalecalc/trace.hpp"

/// The moment rules: second moments, crosses between tokens and gradients of a whole network, by
/// the rules of docs/theory/layers.md and docs/theory/attention.md. Rules exist once; what differs
/// is the number type.
namespace scalecalc {

struct PropagateOptions {
  bool backward = true;
  /// Every position under a causal mask; false: a geometric grid of positions past 64.
  bool all_positions = false;
  bool lognormal_softmax = false;  ///< the large-T form instead of the integrals (--approx)
  int threads = 1;
};
/// By quadrature and Hermite series, closed forms for pairs of kinked activations. Throws
/// Error(input) for a network that no rule covers, or whose moments overflow, naming the site.
Trace propagate(const Network& network, const PropagateOptions& options = {});

struct MonteCarloPropagation {
  std::int64_t samples = 1 << 16;  ///< of each expectation
  std::uint64_t seed = 0;
  int threads = 1;
  /// Told before the work how many seconds it will take, by a small part of the samples.
  std::function<void(double seconds)> expect;
  /// Told the share that is done, from any thread, one at a time.
  std::function<void(double done)> progress = {};
};
/// The same rules with every expectation sampled; errors are standard errors, over independent
/// propagations that share `samples` between them, so that errors of one expectation in another
/// count as they hang together. Throws Error(input) for options that cannot be run.
Trace propagate_montecarlo(const Network& network, const MonteCarloPropagation& options = {});

/// Formulas by site, at leading order in 1/width. In a stack of alike blocks l counts them from 0
/// (as their paths do); recursions over l are solved where they are linear, and proved by putting
/// the solution back. Where not, m, r (mu) are the moments of the stream before the layer and g, k
/// the gradient behind it. A formula nobody would read is empty, and the note says so.
struct SymbolicSite {
  std::string path;  ///< "block[l].attn"
  std::string kind;
  std::string second, cross, grad_second, grad_cross;  ///< in the formula language
  std::string second_latex, grad_second_latex;
  std::string note;  ///< "solved", "recursion; r: cross of the stream before this layer", ...
};
/// What l alike residual branches, each of second moment `branch`, make of a stream that starts at
/// 1: "stream_second" 1 + l*branch (Pre-Norm), "identity_weight" (1 + branch/alpha^2)^(-l/2)
/// (DeepNorm; 2^(-l/2) with alpha = branch = 1).
struct SymbolicLaw {
  std::string name, meaning;
  std::string formula, formula_latex;
};
struct SymbolicTrace {
  std::vector<SymbolicSite> sites;
  std::vector<SymbolicLaw> laws;  ///< none without residual branches
  std::vector<Premise> assumptions;
};
SymbolicTrace propagate_symbolic(const ModelSpec& spec);

/// Which of the sites, given their kinds, are the stream that depth acts on: sums of residuals
/// where there are several, else activations, else all.
std::vector<std::size_t> stream_sites(const std::vector<std::string>& kinds);

}  // namespace scalecalc
