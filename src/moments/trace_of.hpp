#pragma once

#include <string>
#include <vector>

#include "moments/ledger.hpp"
#include "moments/numbers.hpp"

/// From the records of a propagation in double to a Trace.
namespace scalecalc::moments {

/// What stands in the layers and inside them.
struct Contents {
  bool alibi = false, window = false, relative = false, rotary = false;
  int attentions = 0;
  bool causal = false;                   ///< some attention has a causal mask: tokens differ
  bool class_tokens = false;             ///< stand in front of the others
  bool reads_last = false;               ///< the head reads the last token alone
  std::vector<std::string> activations;  ///< each once, in the order of the forward pass
};
Contents contents_of(const std::vector<Layer>& layers);

void fill(Site& site, const SiteRecord<double>& from, bool backward);
void fill(ParameterMoments& parameter, const ParameterRecord<double>& from, bool backward);

/// By positions under a causal mask, by kinds with class tokens or where one token is read, else
/// for tokens that are alike.
Trace trace_by(Numbers& calculus, const Network& network);

}  // namespace scalecalc::moments
