#pragma once

#include <string>

namespace scalecalc::base {

/// Memory of this machine, in bytes.
double machine_bytes();

/// What this process may take, in bytes: the machine's memory, or less by its limits (ulimit -v and
/// -d) and by those of its control group, as containers have them.
double allowed_bytes();

inline constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

/// "WHAT needs about 5.2 GiB of memory, and 4 GiB are allowed (WHERE); HINT" as Error(input) where
/// `needed` bytes are more than allowed_bytes().
void check_memory(const std::string& what, double needed, const std::string& where,
                  const std::string& hint);

}  // namespace scalecalc::base
