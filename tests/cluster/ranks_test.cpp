#include <doctest/doctest.h>

#include <atomic>
#include <new>

#include "cluster/bytes.hpp"
#include "cluster/thread_ranks.hpp"

namespace scalecalc {
namespace {

using Texts = std::vector<std::string>;

std::string name_of(const Ranks& ranks) {
  return "rank " + std::to_string(ranks.rank());
}

}  // namespace

TEST_CASE("ranks: all get what each has, by rank") {
  const Texts errors = on_ranks(3, [](Ranks& ranks) {
    for (int round = 0; round < 50; ++round) {
      const Texts all = ranks.gather([&] { return name_of(ranks) + std::string(1, '\0'); });
      if (all.size() != 3 || all[2] != std::string("rank 2\0", 7)) throw std::bad_alloc();
    }
    ranks.wait();
  });
  CHECK(errors == Texts{"", "", ""});
  OneRank one;
  CHECK(one.gather([] { return std::string("own"); }) == Texts{"own"});
}

TEST_CASE("ranks: an error of some is thrown by all, the lowest one's") {
  const Texts errors = on_ranks(3, [](Ranks& ranks) {
    ranks.gather([&]() -> std::string {
      if (ranks.rank() > 0) throw Error(ErrorKind::input, name_of(ranks), "here", "another");
      return "";
    });
  });
  CHECK(errors == Texts(3, "rank 1 (here); another"));
  std::atomic<int> codes = 0;
  on_ranks(2, [&](Ranks& ranks) {
    try {
      ranks.gather([&]() -> std::string {
        if (ranks.rank() == 1) throw Error(ErrorKind::unsolvable, "none");
        return "";
      });
    } catch (const Error& error) {
      codes += error.exit_code();
    }
  });
  CHECK(codes == 2);
  OneRank one;
  CHECK_THROWS_AS(one.gather([]() -> std::string { throw std::bad_alloc(); }), std::bad_alloc);
  const Texts lost = on_ranks(
      2, [](Ranks& ranks) { ranks.gather([&]() -> std::string { throw std::bad_alloc(); }); });
  CHECK(lost == Texts(2, "out of memory; ask for a smaller network, or fewer threads or ranks"));
}

TEST_CASE("ranks: one may fail before the call that the others are at") {
  // Each stage is where rank 1 fails: before, within and after the inner calls.
  for (int stage = 0; stage < 4; ++stage) {
    CAPTURE(stage);
    const Texts errors = on_ranks(3, [stage](Ranks& ranks) {
      const auto reach = [&](int here) {
        if (here == stage && ranks.rank() == 1) throw Error(ErrorKind::fault, "lost");
      };
      ranks.gather([&] {
        reach(0);
        ranks.wait();
        reach(1);
        ranks.gather([&] {
          reach(2);
          return std::string();
        });
        reach(3);
        return std::string();
      });
    });
    CHECK(errors == Texts(3, "lost"));
  }
}

TEST_CASE("ranks: after an error every call throws it") {
  const Texts errors = on_ranks(2, [](Ranks& ranks) {
    try {
      ranks.gather([&]() -> std::string { throw Error(ErrorKind::fault, name_of(ranks)); });
    } catch (const Error&) {
    }
    ranks.wait();
  });
  CHECK(errors == Texts(2, "rank 0"));
  // Even where the work around it takes no notice.
  const Texts hidden = on_ranks(2, [](Ranks& ranks) {
    ranks.gather([&] {
      try {
        ranks.gather([&]() -> std::string { throw Error(ErrorKind::fault, name_of(ranks)); });
      } catch (const Error&) {
      }
      return std::string();
    });
  });
  CHECK(hidden == Texts(2, "rank 0"));
}

TEST_CASE("ranks: work is dealt by cost, all of it, the same everywhere") {
  CHECK(deal({1, 8, 4, 2, 2}, 2) == std::vector<int>{0, 0, 1, 1, 1});
  CHECK(deal({3, 3, 3, 3}, 2) == std::vector<int>{0, 1, 0, 1});
  CHECK(deal({1, 2}, 4) == std::vector<int>{1, 0});
  CHECK(deal({}, 3).empty());
  CHECK(deal({5, 1}, 1) == std::vector<int>{0, 0});
}

TEST_CASE("ranks: each takes its device") {
  const Texts two = {"cuda:0", "cuda:2"};
  CHECK(device_of_rank("auto", two, 0) == "cuda:0");
  CHECK(device_of_rank("auto", two, 1) == "cuda:2");
  CHECK(device_of_rank("cuda", two, 3) == "cuda:2");
  CHECK(device_of_rank("cuda+tf32", two, 1) == "cuda:2+tf32");
  CHECK(device_of_rank("cuda:2", two, 0) == "cuda:2");
  CHECK(device_of_rank("cpu", two, 1) == "cpu");
  CHECK(device_of_rank("auto", {}, 1) == "auto");
  CHECK(device_of_rank("cuda", {}, 1) == "cuda");
}

TEST_CASE("ranks: a program without MPI says so") {
  CHECK_THROWS_WITH_AS(
      mpi_ranks({"none.so", "none/none.so"}),
      "this program was built without MPI (MPI); start it without mpirun, or build "
      "it with -DSCALECALC_MPI=ON",
      Error);
}

TEST_CASE("ranks: messages come back as they were put, and torn ones are errors") {
  cluster::Writer writer;
  writer.put(std::string("a\0b", 3));
  writer.put(std::vector<double>{1.5, -0.0});
  writer.put(std::vector<double>{});
  writer.put(7);
  const std::string bytes = writer.take();
  cluster::Reader reader(bytes);
  CHECK(reader.text() == std::string("a\0b", 3));
  CHECK(reader.numbers() == std::vector<double>{1.5, -0.0});
  CHECK(reader.numbers().empty());
  CHECK(reader.get<int>() == 7);
  CHECK(reader.empty());
  cluster::Reader torn(std::string_view(bytes).substr(0, 10));
  CHECK_THROWS_AS(torn.text(), Error);
}

}  // namespace scalecalc
