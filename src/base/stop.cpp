#include "base/stop.hpp"

#include <atomic>

namespace scalecalc::base {
namespace {

std::atomic<bool> requested = false;

}  // namespace

void request_stop() noexcept {
  requested = true;
}

void allow_work() noexcept {
  requested = false;
}

bool is_stop_requested() noexcept {
  return requested.load(std::memory_order_relaxed);
}

}  // namespace scalecalc::base
