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
#include "train/vocabulary_file.hpp"
#include "train/whole_number.hpp"

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

/// What reading a vocabulary of two words says, its hash right.
std::string vocabulary_error(const std::string& sequences, const std::string& validation) {
  const testing::TemporaryFolder folder;
  const std::string body = R"({"format":1,"name":"t","fingerprint":7,"task":"next","level":"word",)"
                           R"("sequences":)" +
                           sequences + R"(,"words":["a","b"],"validation":[)" + validation + "]}";
  const std::uint64_t sum = train_room::hash(body.data(), body.size());
  std::ofstream(folder / "vocabulary.json", std::ios::binary)
      << body.substr(0, body.size() - 1) << ",\"sum\":" << sum << "}\n";
  try {
    train_room::load_vocabulary(folder.path.string(), 7);
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

TEST_CASE("a vocabulary's numbers are whole and fit") {
  CHECK(vocabulary_error("1", "0,1,1") == "");
  for (const char* id : {"1e+87", "0.5", "-1", "2", "4294967296", "18446744073709551615", "null"}) {
    CAPTURE(id);
    CHECK(vocabulary_error("1", "0," + std::string(id)) == "the vocabulary is damaged");
  }
  for (const char* sequences : {"1e+87", "0.5", "0", "-1", "18446744073709551615", "\"1\""}) {
    CAPTURE(sequences);
    CHECK(vocabulary_error(sequences, "0,1") == "the vocabulary is damaged");
  }
}

TEST_CASE("whole numbers of a file are taken in range alone") {
  using Json = nlohmann::ordered_json;
  CHECK(train_room::whole<std::int32_t>(Json(-3)) == -3);
  CHECK(train_room::whole<std::uint64_t>(Json(18446744073709551615u)) == 18446744073709551615u);
  CHECK(train_room::whole<std::int64_t>(Json(5u)) == 5);
  CHECK_THROWS_AS(train_room::whole<std::int32_t>(Json(1e87)), Json::exception);
  CHECK_THROWS_AS(train_room::whole<std::int64_t>(Json(1.0)), Json::exception);
  CHECK_THROWS_AS(train_room::whole<std::int64_t>(Json(9223372036854775808u)), Json::exception);
  CHECK_THROWS_AS(train_room::whole<std::uint64_t>(Json(-1)), Json::exception);
  CHECK_THROWS_AS(train_room::whole<std::int32_t>(Json(std::int64_t{1} << 31)), Json::exception);
  CHECK_THROWS_AS(train_room::whole<std::int32_t>(Json("1")), Json::exception);
}

}  // namespace scalecalc
