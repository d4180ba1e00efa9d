#include "base/plugin.hpp"
#include "cluster/mpi/functions.hpp"
#include "scalecalc/cluster.hpp"

namespace scalecalc {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& hint) {
  throw Error(ErrorKind::fault, what, "MPI", hint);
}

const ScalecalcMpi& functions_of(const std::vector<std::string>& paths) {
  // Open MPI opens parts of itself that look for its symbols.
  const base::Plugin plugin = base::open_plugin(paths, base::PluginScope::process);
  if (plugin.path.empty()) {
    fail("this program was built without MPI",
         "start it without mpirun, or build it with -DSCALECALC_MPI=ON");
  }
  if (plugin.table == nullptr) {
    fail(plugin.why_none,
         "install it with the program, and the MPI that it was built with (openmpi-bin)");
  }
  return *static_cast<const ScalecalcMpi*>(plugin.table);
}

class MpiRanks : public Ranks {
 public:
  explicit MpiRanks(const ScalecalcMpi& mpi) : mpi_(mpi) {
    if (const char* why = mpi_.start()) fail(why, "start it as mpirun -n RANKS scalecalc ...");
  }
  ~MpiRanks() override { mpi_.finish(); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return mpi_.rank(); }
  int size() const override { return mpi_.size(); }
  int local_rank() const override { return mpi_.local_rank(); }

 private:
  std::vector<std::string> exchange(const std::string& own) override {
    std::vector<std::string> all;
    const auto take = [](void* context, const char* bytes, std::size_t count) {
      static_cast<std::vector<std::string>*>(context)->emplace_back(bytes, count);
    };
    if (const char* why = mpi_.exchange(own.data(), own.size(), &all, take)) {
      fail(why, "the same command goes on with what is finished");
    }
    return all;
  }

  const ScalecalcMpi& mpi_;
};

}  // namespace

std::unique_ptr<Ranks> mpi_ranks(const std::vector<std::string>& paths) {
  return std::make_unique<MpiRanks>(functions_of(paths));
}

}  // namespace scalecalc
