#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/error.hpp"

/// Work spread over processes that were started together with the same arguments, as `mpirun` does.
/// Results do not depend on how many there are.
namespace scalecalc {

/// The processes of one job, seen from one of them. Not thread-safe: one thread of each talks.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;        ///< 0 .. size() - 1
  virtual int size() const = 0;        ///< at least 1
  virtual int local_rank() const = 0;  ///< among those on the same machine, from 0

  /// Runs `work` on every rank, and gives all of them what each returned, by rank. Where it throws
  /// on some, all throw the same Error, that of the lowest of them, from this call or, having
  /// failed before they came to it, from the call they were at; from then on every call throws it.
  /// Every rank has to make the same calls in the same order; one may stand inside another.
  std::vector<std::string> gather(const std::function<std::string()>& work);
  /// Returns when every rank has come here. Throws as gather does.
  void wait();

 protected:
  /// What every rank gave, by rank. Throws Error(fault).
  virtual std::vector<std::string> exchange(const std::string& own) = 0;

 private:
  std::optional<Error> failure_;
};

/// A process that is alone.
class OneRank : public Ranks {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }

 private:
  std::vector<std::string> exchange(const std::string& own) override { return {own}; }
};

/// The ranks that `mpirun` has started. MPI is not linked: it comes with `scalecalc_mpi.so`, the
/// first of `paths` (absolute ones) that is there. Throws Error(fault) where there is none, it is
/// of another version, or MPI does not start. Once in a process; MPI ends with what is returned.
std::unique_ptr<Ranks> mpi_ranks(const std::vector<std::string>& paths);

/// Which rank does each of several pieces of work: the dearest first, each to the rank that has
/// least to do. `costs` at least 0; `size` at least 1.
std::vector<int> deal(const std::vector<double>& costs, int size);

/// The device of a rank: "auto", "cuda" and "cuda+tf32" take one of `cuda` ("cuda:0", ...), in turn
/// by `local_rank`. A device that is named stays, and so do all where there is no choice.
std::string device_of_rank(const std::string& device, const std::vector<std::string>& cuda,
                           int local_rank);

}  // namespace scalecalc
