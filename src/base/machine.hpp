#pragma once

namespace scalecalc::base {

/// Memory of this machine, in bytes.
double machine_bytes();

}  // namespace scalecalc::base
