#include "graphs/graph_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "graphs/fixture.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/graphs.hpp"
#include "temporary_folder.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;
using graphs::GraphJson;

namespace {

Json parsed(const std::string& text) {
  Json json;
  REQUIRE(graphs::parse_graph(text, json) == GraphJson::Fault::none);
  return json;
}

GraphJson::Fault fault_of(const std::string& text) {
  Json json;
  return graphs::parse_graph(text, json);
}

/// What is said of the operation that is not known, with that stack trace.
std::string refusal_at(const std::string& trace) {
  Json graph = fixture("unknown");
  for (Json& node : graph["models/model.json"]["graph_module"]["graph"]["nodes"])
    node["metadata"]["stack_trace"] = trace;
  const TemporaryFolder folder;
  write_bytes(folder / "model.pt2", zip(entries_of(graph, plain)));
  try {
    read_graph(folder / "model.pt2");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a graph's text is kept but for members that nothing reads") {
  CHECK(parsed(R"({"a": [1, {"strides": [{"as_int": 3}], "sizes": [2.5]}, null], "layout": 7})") ==
        Json::parse(R"({"a": [1, {"sizes": [2.5]}, null]})"));
  CHECK(
      parsed(R"({"device": {"type": "cpu", "x": [[]]}, "b": "\u00e4\"}{", "a": true, "a": -1})") ==
      Json::parse(R"({"b": "ä\"}{", "a": -1})"));
  CHECK(parsed("[]") == Json::array());
}

TEST_CASE("tensors are kept whatever their names are") {
  const std::string text = R"({"tensor_values": {"device": {"device": 1, "dtype": 7},
    "strides": {"sizes": []}, "stack_trace": "a", "layout": {}}, "sym_int_values": {"layout": 3}})";
  Json expected = Json::parse(text);
  expected["tensor_values"]["device"].erase("device");
  CHECK(parsed(text) == expected);
}

TEST_CASE("of stacks the end is kept, whatever they hold") {
  CHECK(parsed(R"({"nn_module_stack": "L,,Net;L_a,\"a\",Norm"})")["nn_module_stack"] ==
        "L_a,\"a\",Norm");
  CHECK(parsed(R"({"nn_module_stack": ""})")["nn_module_stack"] == "");
  const std::string trace =
      R"(File \"/u/a.py\", line 1, in f\n x\nFile \"/u/b.py\", line 2, in g\n)"
      R"( y(\"File \\\"\")\nFile \"/p/torch/nn/c.py\", line 3, in h\n z)";
  const std::string kept = parsed("{\"stack_trace\": \"" + trace + "\"}")["stack_trace"];
  CHECK(kept.starts_with("File \"/u/b.py\""));
  CHECK(kept.ends_with(" z"));
}

TEST_CASE("what is no JSON is refused in what is not read too") {
  for (const char* text : {"", "{", "{\"strides\": [}", "{\"strides\": [1,]}", "{\"a\": 1} {}",
                           "{\"device\": nul}", "{\"stack_trace\": \"", "{\"a\": \"\xff\"}",
                           "{\"layout\": 01}", "{\"a\": \"\\\"}", "{\"a\" \"b\"}"})
    CHECK_MESSAGE(fault_of(text) == GraphJson::Fault::syntax, text);
  const auto nested = [](const std::string& begin, int depth) {
    return begin + std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']') + "}";
  };
  for (const std::string begin : {"{\"a\": ", "{\"strides\": "}) {
    CHECK(fault_of(nested(begin, GraphJson::deepest - 1)) == GraphJson::Fault::none);
    CHECK(fault_of(nested(begin, GraphJson::deepest)) == GraphJson::Fault::depth);
  }
}

TEST_CASE("an operation is named at the last line of the user's code") {
  const auto at = [](const std::string& trace, const std::string& line) {
    const std::string said = refusal_at(trace);
    return said.find(" at " + line + ")") != std::string::npos;
  };
  const std::string user = "File \"/home/u/net.py\", line 12, in forward\n    y = f(\"x\")\n",
                    torch = "File \"/site/torch/nn/module.py\", line 3, in call\n    return g(x)\n";
  CHECK(at(user, "net.py:12 `y = f(\"x\")`"));
  CHECK(at(torch + user + torch + torch, "net.py:12 `y = f(\"x\")`"));
  CHECK(at(user + "File \"/home/u/block.py\", line 7, in forward", "block.py:7"));
  CHECK(at(torch + torch, "module.py:3 `return g(x)`"));
  CHECK(refusal_at("no frame at all").find(" at ") == std::string::npos);
}
