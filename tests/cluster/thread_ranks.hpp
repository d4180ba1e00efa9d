#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "scalecalc/cluster.hpp"

namespace scalecalc {

/// Where ranks that are threads of one process meet.
class Meeting {
 public:
  explicit Meeting(int size) : given_(static_cast<std::size_t>(size)) {}

  std::vector<std::string> exchange(int rank, const std::string& own) {
    std::unique_lock lock(mutex_);
    given_[static_cast<std::size_t>(rank)] = own;
    const int round = round_;
    if (++here_ == static_cast<int>(given_.size())) {
      all_ = given_;
      here_ = 0;
      ++round_;
      met_.notify_all();
    } else {
      met_.wait(lock, [&] { return round_ != round; });
    }
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable met_;
  std::vector<std::string> given_, all_;
  int here_ = 0, round_ = 0;
};

class ThreadRank : public Ranks {
 public:
  ThreadRank(Meeting& meeting, int rank, int size) : meeting_(meeting), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return rank_; }

 private:
  std::vector<std::string> exchange(const std::string& own) override {
    return meeting_.exchange(rank_, own);
  }
  Meeting& meeting_;
  int rank_, size_;
};

/// Runs `work(ranks)` as each of `size` ranks, and says what each threw ("" where it did not).
template <class Work>
std::vector<std::string> on_ranks(int size, Work work) {
  Meeting meeting(size);
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRank own(meeting, rank, size);
      try {
        work(static_cast<Ranks&>(own));
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace scalecalc
