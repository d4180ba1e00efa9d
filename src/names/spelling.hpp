#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Our own paths in the spelling of a framework.
namespace scalecalc::names {

enum class Spelling {
  scalecalc,  ///< block[0].attn.q.weight
  torch,      ///< block.0.attn.q.weight
  flax,       ///< block_0/attn/q/kernel
  keras,      ///< block_0/attn/q/kernel, norms with gamma and beta
};
/// Of the namings that are spellings.
std::optional<Spelling> spelling_of(std::string_view naming);

std::string spell(std::string_view path, Spelling spelling);

}  // namespace scalecalc::names
