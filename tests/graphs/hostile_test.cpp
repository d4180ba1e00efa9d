#include <doctest/doctest.h>

#include <random>

#include "graphs/fixture.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/graphs.hpp"
#include "temporary_folder.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

/// The message of the error; empty where the file is read.
std::string refusal(const TemporaryFolder& folder, const std::string& bytes) {
  const std::string path = folder / "model.pt2";
  write_bytes(path, bytes);
  try {
    read_graph(path);
  } catch (const Error& error) {
    CHECK(error.exit_code() == 2);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("archives that are none, damaged or larger than they are, get one line") {
  const TemporaryFolder folder;
  const std::vector<ArchiveEntry> entries = entries_of(fixture("mlp"), plain);
  CHECK(refusal(folder, zip(entries)).empty());
  CHECK(has(refusal(folder, ""), "no zip archive"));
  CHECK(has(refusal(folder, std::string(1000, 'x')), "no zip archive"));
  CHECK(has(refusal(folder, zip({})), "no graph"));

  const auto changed = [&](auto change) {
    std::vector<ArchiveEntry> others = entries;
    change(others);
    return refusal(folder, zip(others));
  };
  using Entries = std::vector<ArchiveEntry>&;
  CHECK(has(changed([](Entries e) { e[0].method = 8; }), "compressed"));
  CHECK(has(changed([](Entries e) { e[0].flags = 1; }), "encrypted"));
  // What a bomb says of itself: more than it holds.
  CHECK(has(changed([](Entries e) { e[0].claimed_size = 4'000'000'000U; }), "compressed"));
  CHECK(has(changed([](Entries e) { e[0].moved = 1'000'000; }), "outside"));
  CHECK(has(changed([](Entries e) { e[1].moved = 1; }), "not where"));
  CHECK(has(changed([](Entries e) { e.push_back(e[0]); }), "twice"));
  CHECK(has(changed([](Entries e) { e[1].name = "model/../../etc/passwd"; }), "no plain name"));
  CHECK(has(changed([](Entries e) { e[1].name = "/etc/passwd"; }), "no plain name"));
  CHECK(has(changed([](Entries e) { e[0].name = "model/graph.json"; }), "no graph"));
  CHECK(has(changed([](Entries e) { e[0].bytes = "{"; }), "not JSON"));
  CHECK(has(changed([](Entries e) { e[0].bytes = std::string(100000, '['); }), "nested deeper"));
  CHECK(has(changed([](Entries e) { e.back().bytes.pop_back(); }), "bytes"));
  CHECK(has(changed([](Entries e) { e.pop_back(); }), "does not have"));
}

TEST_CASE("entries on the same bytes are refused") {
  const TemporaryFolder folder;
  std::string bytes = zip({{"m/a", std::string(100, 'a')}, {"m/b", std::string(100, 'b')}});
  // The second entry's place in the directory becomes that of the first, under its own name.
  const std::size_t second = bytes.rfind("m/b") - 4;
  bytes.replace(second, 4, std::string(4, '\0'));
  CHECK(has(refusal(folder, bytes), "lies on"));
}

TEST_CASE("a file that is cut off anywhere is refused") {
  const TemporaryFolder folder;
  const std::string bytes = zip(entries_of(fixture("unknown"), plain));
  for (std::size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 200)
    CHECK(!refusal(folder, bytes.substr(0, size)).empty());
}

TEST_CASE("pickled weights are not read, and the graph is") {
  const TemporaryFolder folder;
  Json json = fixture("mlp");
  for (auto& [name, about] :
       json["lists"]["data/weights/model_weights_config.json"]["config"].items())
    about["use_pickle"] = true;
  const std::string path = folder / "model.pt2";
  write_bytes(path, zip(entries_of(json, plain)));
  const GraphModel model = read_graph(path);
  CHECK(has(model.remarks.front() + model.remarks.back(), "pickled"));
  CHECK(model.spec.init.scheme == "lecun");
}

TEST_CASE("contradictions are named") {
  const TemporaryFolder folder;
  const auto changed = [&](auto change) {
    Json json = fixture("mlp");
    Json& graph = json["models/model.json"]["graph_module"]["graph"];
    change(graph);
    std::vector<ArchiveEntry> entries = entries_of(json, plain);
    return refusal(folder, zip(entries));
  };
  CHECK(
      has(changed([](Json& g) { std::swap(g["nodes"][0], g["nodes"][1]); }), "before it is made"));
  CHECK(has(changed([](Json& g) { g["nodes"].push_back(g["nodes"][0]); }), "made twice"));
  CHECK(has(changed([](Json& g) { g["tensor_values"].erase("relu"); }), "no tensor"));
  CHECK(has(changed([](Json& g) { g["tensor_values"]["relu"]["sizes"][1]["as_int"] = 7; }),
            "contradicts itself"));
  CHECK(has(changed([](Json& g) { g["tensor_values"]["relu"]["sizes"][1]["as_int"] = -7; }),
            "no number"));
  CHECK(has(changed([](Json& g) {
              for (int i = 0; i < 6; ++i)
                g["tensor_values"]["relu"]["sizes"].push_back({{"as_int", 1 << 30}});
            }),
            "too large"));
  CHECK(has(changed([](Json& g) { g["nodes"] = Json::array(); }), "before it is made"));
}

TEST_CASE("any bytes of a file are read or refused") {
  const TemporaryFolder folder;
  std::mt19937 engine(11);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine);
  };
  for (const char* name : {"mlp", "einsum", "blocks"}) {
    const std::string whole = zip(entries_of(fixture(name), plain));
    for (int round = 0; round < 100; ++round) {
      std::string bytes = whole;
      for (std::size_t changes = 1 + below(8); changes > 0; --changes) {
        // The directory is the last part of the file.
        const std::size_t at =
            below(2) == 0 ? below(bytes.size()) : bytes.size() - 1 - below(bytes.size() / 20);
        bytes[at] = static_cast<char>(below(256));
      }
      refusal(folder, bytes);
    }
  }
}

TEST_CASE("any text in a graph is read or refused") {
  const TemporaryFolder folder;
  std::mt19937 engine(7);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine);
  };
  for (const char* name : {"gpt", "written-out", "convnet", "residual-mlp", "llama", "t5", "gemma2",
                           "translator", "blocks", "convnext"}) {
    const Json whole = fixture(name);
    std::vector<ArchiveEntry> entries = entries_of(whole, plain);
    for (int round = 0; round < 60; ++round) {
      Json json = whole["models/model.json"];
      // One to four values anywhere become others, or go.
      for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
        Json flat = json["graph_module"]["graph"].flatten();
        auto item = flat.begin();
        std::advance(item, below(flat.size()));
        Json* at = &json["graph_module"]["graph"][Json::json_pointer(item.key())];
        static const std::vector<Json> values = {nullptr,
                                                 -1,
                                                 0,
                                                 1,
                                                 2,
                                                 3,
                                                 16,
                                                 1e300,
                                                 "x",
                                                 "aten.add.Tensor",
                                                 "relu",
                                                 Json::array(),
                                                 Json::object(),
                                                 true,
                                                 "torch.ops.aten.view.default",
                                                 "torch.ops.aten.cat.default",
                                                 "torch.ops.aten.mul.Tensor",
                                                 9223372036854775807};
        *at = values[below(values.size())];
      }
      entries[0].bytes = json.dump();
      refusal(folder, zip(entries));
    }
  }
}
