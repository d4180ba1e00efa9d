#include "base/threads.hpp"

#include <atomic>
#include <system_error>
#include <utility>

namespace scalecalc::base {
namespace {

std::atomic<bool> refused = false;

}  // namespace

bool start_thread(std::vector<std::thread>& threads, std::function<void()> work) {
  try {
    threads.emplace_back(std::move(work));
    return true;
  } catch (const std::system_error&) {
    refused = true;
    return false;
  }
}

bool were_threads_refused() {
  return refused;
}

}  // namespace scalecalc::base
