#include <doctest/doctest.h>

#include "graphs/archive.hpp"
#include "scalecalc/error.hpp"
#include "temporary_folder.hpp"
#include "weights/safetensors.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

std::string about(const std::string& path, const std::string& strides = "1",
                  const std::string& more = "") {
  return R"({"path_name": ")" + path +
         R"(", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7,
             "sizes": [{"as_int": 2}], "strides": [{"as_int": )" +
         strides + R"(}], "storage_offset": {"as_int": 0})" + more + "}}";
}

std::string file(const TemporaryFolder& folder, const std::string& config) {
  std::string values, others;
  for (const float x : {1.5F, -2.0F}) put(values, x);
  for (const float x : {3.0F, 4.0F}) put(others, x);
  const std::string path = folder / "model.pt2";
  write_bytes(path,
              zip({{"m/data/weights/w0", values},
                   {"m/data/weights/w1", others},
                   {"m/data/weights/model_weights_config.json", R"({"config": )" + config + "}"}}));
  return path;
}

}  // namespace

TEST_CASE("weights beside a graph are read where they lie, a tied one once") {
  const TemporaryFolder folder;
  const weights::Reader reader(file(folder, R"({"b": )" + about("w1") + R"(, "a": )" + about("w0") +
                                                R"(, "tied": )" + about("w0") + "}"));
  REQUIRE(reader.tensors().size() == 2);
  CHECK(reader.tensors()[0].name == "a");
  double values[2] = {};
  reader.read(reader.tensors()[0], 0, 2, values);
  CHECK(values[0] == 1.5);
  CHECK(values[1] == -2);
  reader.read(reader.tensors()[1], 1, 1, values);
  CHECK(values[0] == 4);
}

TEST_CASE("values that do not lie in order, and pickles, are not read") {
  const TemporaryFolder folder;
  const weights::Reader turned(file(folder, R"({"a": )" + about("w0", "3") + "}"));
  CHECK(turned.tensors()[0].dtype == weights::Dtype::other);
  std::string pickled = about("w0");
  pickled.replace(pickled.find("false"), 5, "true");
  CHECK_THROWS_WITH_AS(weights::Reader(file(folder, R"({"a": )" + pickled + "}")),
                       doctest::Contains("pickled"), Error);
  CHECK_THROWS_WITH_AS(weights::Reader(file(folder, R"({"a": )" + about("w9") + "}")),
                       doctest::Contains("does not have"), Error);
  CHECK_THROWS_WITH_AS(weights::Reader(file(folder, R"({"a": 1})")), doctest::Contains("nothing"),
                       Error);
}
