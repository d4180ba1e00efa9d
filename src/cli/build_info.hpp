#pragma once

#include <string>

namespace scalecalc::cli {

/// What --version prints: the version, the commit and the compiler it was built from and with, and
/// whether CUDA and MPI can be used here.
std::string version_text();

}  // namespace scalecalc::cli
