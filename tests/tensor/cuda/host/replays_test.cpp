#include "tensor/cuda/replays.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace scalecalc::tensor::cuda {
namespace {

const int kernel = 0;

/// A device on which kernel i writes its argument to out[i], and that tells what it was sent.
struct Fake final : Sender {
  struct Kept final : Graph {
    Kept(Fake& of, const Calls& calls) : fake(of) {
      for (std::size_t i = 0; i < calls.size(); ++i) values.push_back(value(calls, i));
    }
    void update(const Calls& calls, std::size_t index) override {
      if (fake.update_fails) throw std::runtime_error("update");
      ++fake.updates;
      values[index] = value(calls, index);
    }
    void launch() override {
      ++fake.launches;
      fake.out = values;
    }
    Fake& fake;
    std::vector<double> values;
  };

  static double value(const Calls& calls, std::size_t index) {
    return *static_cast<const double*>(calls.argument(calls[index], 0));
  }
  void send(const Calls& calls) override {
    ++sent;
    out.clear();
    for (std::size_t i = 0; i < calls.size(); ++i) out.push_back(value(calls, i));
  }
  std::unique_ptr<Graph> keep(const Calls& calls, std::string& why_not) override {
    why_not = keep_fails ? "it will not" : "";
    if (keep_fails) return nullptr;
    ++kept;
    return std::make_unique<Kept>(*this, calls);
  }

  bool keep_fails = false, update_fails = false;
  int sent = 0, kept = 0, launches = 0, updates = 0;
  std::vector<double> out;
};

/// Kernels with these arguments, over grids of `blocks`.
Calls of(const std::vector<double>& values, unsigned blocks = 1) {
  Calls calls;
  for (const double value : values) {
    calls.add_kernel("k", &kernel, {blocks}, {}, std::tuple(value));
  }
  return calls;
}

struct Runs {
  Fake fake;
  Replays replays{fake};
  void operator()(const std::vector<double>& values, unsigned blocks = 1) {
    replays.run(of(values, blocks));
    CHECK(fake.out == values);
  }
};

const std::vector<double> first(Replays::kLeastCalls, 1.0);

}  // namespace

TEST_CASE("cuda: what comes a second time becomes a graph, and then runs as one") {
  Runs run;
  run(first);
  CHECK(run.fake.sent == 1);
  run(first);
  run(first);
  CHECK(std::pair(run.fake.sent, run.fake.kept) == std::pair(1, 1));
  CHECK(std::pair(run.fake.launches, run.fake.updates) == std::pair(2, 0));
  CHECK(run.replays.why_none().empty());
}

TEST_CASE("cuda: kernels whose arguments differ are updated, and only they") {
  Runs run;
  for (int i = 0; i < 2; ++i) run(first);
  std::vector<double> values = first;
  values[2] = 5.0;
  run(values);
  CHECK(run.fake.updates == 1);
  values[4] = 6.0;
  run(values);
  CHECK(run.fake.updates == 2);
  run(values);
  CHECK(run.fake.updates == 2);
  run(first);
  CHECK(run.fake.updates == 4);
  CHECK(run.fake.kept == 1);
}

TEST_CASE("cuda: each shape has its own graph") {
  Runs run;
  std::vector<double> longer = first;
  longer.push_back(2.0);
  for (int i = 0; i < 4; ++i) {
    run(first);
    run(first, 2);
    run(longer);
  }
  CHECK(std::pair(run.fake.sent, run.fake.kept) == std::pair(3, 3));
  CHECK(run.fake.launches == 9);
}

TEST_CASE("cuda: few calls are sent one by one") {
  Runs run;
  const std::vector<double> few(Replays::kLeastCalls - 1, 1.0);
  for (int i = 0; i < 3; ++i) run(few);
  CHECK(std::pair(run.fake.sent, run.fake.kept) == std::pair(3, 0));
  run.replays.run(Calls());
  CHECK(run.fake.sent == 3);
}

TEST_CASE("cuda: where no graph can be made everything is sent one by one, and the reason kept") {
  Runs run;
  run.fake.keep_fails = true;
  for (int i = 0; i < 2; ++i) run(first);
  CHECK(run.replays.why_none() == "it will not");
  run.fake.keep_fails = false;
  for (int i = 0; i < 3; ++i) run(first);
  CHECK(std::pair(run.fake.sent, run.fake.kept) == std::pair(5, 0));
}

TEST_CASE("cuda: a graph whose update fails is made anew") {
  Runs run;
  for (int i = 0; i < 2; ++i) run(first);
  std::vector<double> values = first;
  values[1] = values[2] = 7.0;
  run.fake.update_fails = true;
  CHECK_THROWS_AS(run.replays.run(of(values)), std::runtime_error);
  run.fake.update_fails = false;
  run(first);
  run(values);
  CHECK(run.fake.kept == 2);
}

TEST_CASE("cuda: the shape that was not used for longest is forgotten") {
  Runs run;
  constexpr auto most = static_cast<unsigned>(Replays::kMostShapes);
  for (unsigned i = 0; i < most; ++i) run(first, 1 + i);
  run(first, 1);         // kept: used again
  run(first, most + 1);  // in the place of the second
  const int sent = run.fake.sent;
  run(first, 1);
  run(first, 3);
  CHECK(run.fake.sent == sent);
  run(first, 2);
  CHECK(run.fake.sent == sent + 1);
}

}  // namespace scalecalc::tensor::cuda
