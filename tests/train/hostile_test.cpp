#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "scalecalc/error.hpp"
#include "scalecalc/train.hpp"
#include "temporary_folder.hpp"
#include "train/checkpoint_file.hpp"
#include "train/hash.hpp"
#include "train/line_sums.hpp"

/// What the fuzzers checkpoint and train_log have found, and its like: files that no run writes.
namespace scalecalc {
namespace {

constexpr std::uint64_t kRun = 7;
const std::vector<StateTensor>& tensors() {
  static const std::vector<StateTensor> all = {{"head.weight", 1, 2}};
  return all;
}

/// What reading a checkpoint of that header says, its values and its hash right.
std::string checkpoint_error(const std::string& header) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "pre-1-seed0.checkpoint";
  const std::string line = header + "\n", values(2 * sizeof(float), '\0');
  const std::uint64_t sum =
      train_room::hash(values.data(), values.size(), train_room::hash(line.data(), line.size()));
  std::string bytes = line + values;
  bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    train_room::read_checkpoint(path, kRun, tensors());
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

/// What reading a folder with one log of these lines says, their checksums right.
std::string log_error(const std::vector<std::string>& lines) {
  const testing::TemporaryFolder folder;
  train_room::LineSums sums;
  std::string text;
  for (const std::string& line : lines) text += sums.add(line) + "\n";
  std::ofstream(folder / "pre-1-seed0.jsonl", std::ios::binary) << text;
  try {
    read_train(folder.path.string());
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

const std::string kTensors = R"("tensors":[["head.weight",1,2]])";
const std::string kSteps = R"("step":3,"loss_sum":1.5,"loss_count":2)";

}  // namespace

TEST_CASE("a checkpoint whose header has values of other types is no checkpoint") {
  const std::string mark = R"({"scalecalc checkpoint":)";
  CHECK(checkpoint_error(mark + R"(1,"run":7,)" + kTensors + "," + kSteps + "}") == "");
  for (const char* version : {"\"1\"", "[1]", "null", "2", "{}"})
    CHECK(checkpoint_error(mark + version + "}") == "this is no checkpoint");
  for (const char* run : {"\"7\"", "null", "[7]"})
    CHECK(checkpoint_error(mark + R"(1,"run":)" + run + "," + kTensors + "," + kSteps + "}") ==
          "the checkpoint is damaged");
}

TEST_CASE("brackets in brackets are refused before anything calls itself for each") {
  constexpr std::size_t kDeep = 1'000'000;
  CHECK(checkpoint_error(R"({"scalecalc checkpoint":1,"run":7,"tensors":)" + nested(kDeep) + "}") ==
        "this is no checkpoint");
  CHECK(log_error({R"({"configuration":{"group":"pre","layers":1,"seed":0,"tuning":)" +
                   nested(kDeep) + "}}"}) == "the log is damaged");
}

TEST_CASE("a run of a grid that says nothing of the grid is damaged") {
  CHECK(log_error({R"({"configuration":{"group":"pre","layers":1,"seed":0,)"
                   R"("grid":{"width":8,"values":{}}}})"}) == "the log is damaged");
}

}  // namespace scalecalc
