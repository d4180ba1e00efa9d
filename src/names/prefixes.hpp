#pragma once

#include <string>
#include <vector>

#include "scalecalc/names.hpp"

namespace scalecalc::names {

/// What modules around a model put in front of its names (torch.compile, DistributedDataParallel,
/// PyTorch Lightning): "module.", "_orig_mod.", "model.".
const std::vector<std::string>& wrappers();
/// The name, then what is left of it without prefixes of the naming and of wrappers, of up to
/// three: what a tensor of a file or a parameter of a module may be called.
std::vector<std::string> bare_names(const std::string& name, const Naming& naming);

}  // namespace scalecalc::names
