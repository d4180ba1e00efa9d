#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/transfer/document.hpp"

namespace scalecalc::cli {

using SizeList = std::vector<std::pair<GrowthAxis, double>>;

/// "width=256,layers=4": positive sizes, each axis once, integers but for tokens. Throws
/// Error(input).
SizeList parse_sizes(const std::string& option, const std::string& text);

/// The ratios of the axes that both name. With a model, what only --to names starts from the
/// model's own size; a list of layers has the one width, and the one number of heads, of its
/// layers, or of several the one that --from names (--to, where the model is the target). Throws
/// Error(input) for an axis of one alone, and where the model cannot have such
/// sizes, or has no one size of that name; `option` gave the sizes.
TransferSizes sizes_between(const SizeList& from, const SizeList& to,
                            const std::optional<ModelSpec>& spec,
                            const std::string& option = "--from, --to",
                            bool model_is_target = false);

/// Those that the sizes name, in the order of the enumeration.
std::vector<GrowthAxis> axes_of(const TransferSizes& sizes);

/// From the sizes of a base to the model's own, of the same axes; of a list's several widths or
/// heads the least is meant. Throws Error(input) likewise, and for tokens, of which a model has no
/// number.
TransferSizes sizes_from(const std::string& option, const SizeList& from, const ModelSpec& spec);

}  // namespace scalecalc::cli
