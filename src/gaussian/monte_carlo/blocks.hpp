#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gaussian/monte_carlo/tally.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc::gaussian::monte_carlo {

/// Throws Error(input) for options that cannot be run.
void check_options(const MonteCarloOptions& options);

/// One thread's share of the work: the tallies of one block, one per quantity. What it returns
/// depends on the block's number alone.
using Worker = std::function<std::vector<Tally>(std::int64_t block)>;

/// Runs blocks 0 .. blocks - 1 on several threads, each with a worker of its own, and joins their
/// tallies in an order that does not depend on the threads.
std::vector<Tally> run_blocks(std::int64_t blocks, int threads, std::size_t quantities,
                              const std::function<Worker()>& make_worker);

}  // namespace scalecalc::gaussian::monte_carlo
