#pragma once

#include <system_error>
#include <thread>
#include <vector>

namespace scalecalc::tensor {

/// Calls `work` on this thread and on `workers` - 1 others, and waits for all; on fewer where the
/// system has no more threads. `work` shares out what there is to do, and must not throw.
template <class Work>
void run_workers(int workers, const Work& work) {
  std::vector<std::thread> others;
  try {
    for (int i = 1; i < workers; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {
    // What there is to do goes on with those there are.
  }
  work();
  for (std::thread& thread : others) thread.join();
}

}  // namespace scalecalc::tensor
