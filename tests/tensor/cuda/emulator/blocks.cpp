#include "blocks.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "sanitizer.hpp"

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {
namespace {

constexpr std::size_t kStackBytes = (kIsWatched ? 512 : 128) * 1024, kWarp = 32;
enum class State { ready, at_warp, at_block, done };

/// Its stack is entered once; from then on it and the scheduler jump to where the other stopped,
/// which takes no system call.
struct Fiber {
  ucontext_t first;
  jmp_buf resume;
  Stack watched;
  bool entered = false;
  std::unique_ptr<char[]> stack;
  State state = State::done;
  dim3 index;
  char slot[8];
};

std::vector<std::unique_ptr<Fiber>> fibers;
std::size_t current = 0, count = 0;
jmp_buf scheduler;
Stack scheduler_stack;
const std::function<void()>* body = nullptr;

/// Back to the scheduler, until it picks this thread again.
void wait(State state) {
  Fiber& fiber = *fibers[current];
  fiber.state = state;
  if (_setjmp(fiber.resume) == 0) {
    leave(fiber.watched, scheduler_stack);
    _longjmp(scheduler, 1);
  }
  arrive(fibers[current]->watched, scheduler_stack);
}

void enter() {
  arrive(fibers[current]->watched, scheduler_stack);
  while (true) {
    (*body)();
    wait(State::done);
  }
}

void resume() {
  Fiber& fiber = *fibers[current];
  threadIdx = fiber.index;
  if (_setjmp(scheduler) != 0) return arrive(scheduler_stack, fibers[current]->watched);
  leave(scheduler_stack, fiber.watched);
  if (fiber.entered) _longjmp(fiber.resume, 1);
  fiber.entered = true;
  getcontext(&fiber.first);
  fiber.first.uc_stack.ss_sp = fiber.stack.get();
  fiber.first.uc_stack.ss_size = kStackBytes;
  fiber.first.uc_link = nullptr;
  makecontext(&fiber.first, enter, 0);
  setcontext(&fiber.first);
}

/// Lets the threads first .. last go on when all of them wait for this.
bool release(std::size_t first, std::size_t last, State state) {
  for (std::size_t i = first; i < last; ++i) {
    if (fibers[i]->state != state) return false;
  }
  for (std::size_t i = first; i < last; ++i) fibers[i]->state = State::ready;
  return true;
}

void run_block(dim3 threads) {
  count = std::size_t{threads.x} * threads.y * threads.z;
  while (fibers.size() < count) {
    fibers.push_back(std::make_unique<Fiber>());
    fibers.back()->stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    fibers.back()->watched = {fibers.back()->stack.get(), kStackBytes};
  }
  for (std::size_t i = 0; i < count; ++i) {
    Fiber& fiber = *fibers[i];
    const auto linear = static_cast<unsigned>(i);
    fiber.index =
        dim3(linear % threads.x, linear / threads.x % threads.y, linear / threads.x / threads.y);
    fiber.state = State::ready;
  }
  while (true) {
    bool moved = false;
    for (current = 0; current < count; ++current) {
      if (fibers[current]->state != State::ready) continue;
      resume();
      moved = true;
    }
    for (std::size_t i = 0; i < count; i += kWarp) {
      moved |= release(i, std::min(i + kWarp, count), State::at_warp);
    }
    moved |= release(0, count, State::at_block);
    if (moved) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if (fibers[i]->state == State::done) continue;
      std::fprintf(stderr, "a barrier is not reached by every thread of its block or warp\n");
      std::abort();
    }
    return;
  }
}

}  // namespace

void run(dim3 blocks, dim3 threads, const std::function<void()>& kernel) {
  body = &kernel;
  gridDim = blocks;
  blockDim = threads;
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) {
        blockIdx = dim3(x, y, z);
        run_block(threads);
      }
    }
  }
}

void meet_warp() {
  wait(State::at_warp);
}
void meet_block() {
  wait(State::at_block);
}
void* slot(int mask) {
  return fibers[current ^ static_cast<std::size_t>(mask)]->slot;
}

}  // namespace emulator
