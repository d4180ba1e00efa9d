#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace scalecalc::base {

/// Adds a thread that does `work`, or says false: the system has no more (a limit on processes, or
/// on memory), and what there is to do goes on with those there are.
bool start_thread(std::vector<std::thread>& threads, std::function<void()> work);

/// Whether start_thread has ever said false.
bool were_threads_refused();

}  // namespace scalecalc::base
