#include "graphs/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/text.hpp"
#include "graphs/graph_json.hpp"

namespace scalecalc::graphs {
namespace {

using Json = nlohmann::json;

constexpr char kGraphHint[] = "give a .pt2 file as torch.export.save writes it";
constexpr std::int64_t most_elements = std::int64_t{1} << 48;

/// torch._export.serde.schema.ScalarType: half, float, double, bfloat16.
bool is_float_type(int type) {
  return type == 6 || type == 7 || type == 8 || type == 13;
}

/// The last line of a stack trace that is not of torch's own code: "net.py:12 `x = f(x)`".
std::string user_line(std::string_view trace) {
  std::string_view file_name, number, code;
  for (std::size_t at = 0; at < trace.size();) {
    const std::size_t file = trace.find("File \"", at);
    if (file == std::string_view::npos) break;
    const std::size_t quote = trace.find('"', file + 6), line = trace.find("line ", file);
    if (quote == std::string_view::npos || line == std::string_view::npos) break;
    const std::string_view path = trace.substr(file + 6, quote - file - 6);
    const std::size_t end = trace.find_first_not_of("0123456789", line + 5);
    const std::size_t below = trace.find('\n', line);
    at = std::min(below, trace.size() - 1) + 1;
    if (path.find("/torch/") != std::string_view::npos && !number.empty()) continue;
    file_name = path.substr(path.rfind('/') + 1);
    number = trace.substr(line + 5, std::min(end, trace.size()) - line - 5);
    code = {};
    const std::size_t first = trace.find_first_not_of(" \n", std::min(below, trace.size()));
    if (first != std::string_view::npos)
      code = trace.substr(first, trace.find('\n', first) - first);
  }
  if (file_name.empty() && number.empty()) return {};
  std::string found = std::string(file_name) + ":" + std::string(number);
  if (!code.empty()) found += " `" + base::shortened(code, 60) + "`";
  return base::printable(found);
}

/// "b.0.n1" of "L__self__,,Net;L__self___b_0_n1,b.0.n1,torch.nn.LayerNorm".
std::string module_of(std::string_view stack) {
  const std::string_view last = stack.substr(stack.rfind(';') + 1);
  const std::size_t first = last.find(',');
  if (first == std::string_view::npos) return {};
  return base::printable(last.substr(first + 1, last.find(',', first + 1) - first - 1));
}

/// "linear" of "aten.linear.default"; of operations in place, x.add_(y), too, since a graph has no
/// aliases.
std::string operation_of(const std::string& target) {
  const std::size_t first = target.find('.') + 1;
  std::string name = target.substr(first, target.find('.', first) - first);
  const bool is_in_place = name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
  if (is_in_place) name.pop_back();
  return name;
}

/// One JSON graph.
class GraphText {
 public:
  explicit GraphText(Program& program) : program_(program) {}

  void read(const std::string& text) {
    const Json json = parse(text);
    const Json& module = member(json, "graph_module", "the file");
    const Json& graph = member(module, "graph", "graph_module");
    const auto version = json.find("torch_version");
    if (version != json.end() && version->is_string()) {
      program_.torch_version = base::shortened(version->get<std::string>(), 40);
      program_.torch_version.resize(
          std::min(program_.torch_version.find('+'), program_.torch_version.size()));
    }
    read_tensors(graph);
    read_symbols(graph);
    read_inputs(graph, member(module, "signature", "graph_module"));
    read_nodes(graph);
    read_outputs(member(module, "signature", "graph_module"));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw wrong_graph(program_, what); }

  Json parse(const std::string& text) const {
    Json json;
    const GraphJson::Fault fault = parse_graph(text, json);
    if (fault == GraphJson::Fault::depth)
      fail(fmt::format("the graph is nested deeper than {}", GraphJson::deepest));
    if (fault == GraphJson::Fault::syntax || !json.is_object())
      fail("the graph is not JSON in UTF-8");
    return json;
  }

  const Json& member(const Json& json, const char* key, const std::string& of) const {
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (found == json.end()) fail(of + " has no " + key);
    return *found;
  }

  std::string text_of(const Json& json, const std::string& what) const {
    if (!json.is_string()) fail(what + " is no text");
    return json.get<std::string>();
  }

  const Json& list(const Json& json, const char* key, const std::string& of) const {
    const Json& found = member(json, key, of);
    if (!found.is_array()) fail(std::string(key) + " is no list");
    return found;
  }

  /// {"as_int": 3}, or of a graph with open sizes {"as_expr": {..., "hint": {"as_int": 3}}}: the
  /// size that it was exported with.
  std::int64_t size_of(const Json& json, const std::string& what) const {
    const Json* at = &json;
    if (at->is_object() && at->contains("as_expr")) {
      at = &(*at)["as_expr"];
      if (at->is_object() && at->contains("hint")) at = &(*at)["hint"];
    }
    const auto found = at->is_object() ? at->find("as_int") : at->end();
    if (found == at->end() || !found->is_number_integer() || *found < 0 || *found > most_elements)
      fail(what + " has a size that is no number from 0 on");
    return found->get<std::int64_t>();
  }

  void read_tensors(const Json& graph) {
    const Json& values = member(graph, "tensor_values", "the graph");
    if (!values.is_object()) fail("tensor_values is no list of tensors");
    for (const auto& [name, meta] : values.items()) {
      TensorInfo tensor;
      tensor.name = name;
      const Json& type = member(meta, "dtype", "'" + base::shortened(name) + "'");
      tensor.is_float = type.is_number_integer() && is_float_type(type.get<int>());
      std::int64_t elements = 1;
      for (const Json& size : list(meta, "sizes", "'" + base::shortened(name) + "'")) {
        tensor.sizes.push_back(size_of(size, "'" + base::shortened(name) + "'"));
        if (tensor.sizes.back() > 0 && elements > most_elements / tensor.sizes.back())
          fail("'" + base::shortened(name) + "' is too large");
        elements *= tensor.sizes.back();
      }
      if (tensor.sizes.size() > ProgramLimits::dimensions)
        fail("'" + base::shortened(name) + "' has too many dimensions");
      index_.emplace(name, program_.tensors.size());
      program_.tensors.push_back(std::move(tensor));
    }
    is_made_.assign(program_.tensors.size(), false);
  }

  /// Sizes that are computed, as they were when the graph was exported.
  void read_symbols(const Json& graph) {
    const auto values = graph.find("sym_int_values");
    if (values == graph.end() || !values->is_object()) return;
    for (const auto& [name, value] : values->items())
      symbols_[name] = size_of(value, "'" + base::shortened(name) + "'");
  }

  std::size_t tensor(const Json& reference, const std::string& of) const {
    const std::string name =
        text_of(member(reference, "name", of), "the name of a tensor of " + of);
    const auto found = index_.find(name);
    if (found == index_.end())
      fail("'" + base::shortened(name) + "' of " + of + " is no tensor of the graph");
    return found->second;
  }

  /// One that an input or a node before has made.
  std::size_t made(const Json& reference, const std::string& of) const {
    const std::size_t index = tensor(reference, of);
    if (!is_made_[index])
      fail("'" + base::shortened(program_.tensors[index].name) + "' is used by " + of +
           " before it is made");
    return index;
  }

  void make(std::size_t index, const std::string& by) {
    if (is_made_[index])
      fail("'" + base::shortened(program_.tensors[index].name) + "' is made twice, again by " + by);
    is_made_[index] = true;
  }

  void read_inputs(const Json& graph, const Json& signature) {
    static const std::pair<const char*, Input::Kind> kinds[] = {
        {"parameter", Input::Kind::parameter},
        {"buffer", Input::Kind::buffer},
        {"tensor_constant", Input::Kind::constant},
        {"user_input", Input::Kind::user}};
    (void)graph;
    for (const Json& spec : list(signature, "input_specs", "the signature")) {
      for (const auto& [key, kind] : kinds) {
        const auto found = spec.is_object() ? spec.find(key) : spec.end();
        if (found == spec.end()) continue;
        read_input(*found, key, kind);
      }
    }
  }

  void read_input(const Json& spec, const std::string& key, Input::Kind kind) {
    const Json* argument = &member(spec, "arg", key);
    if (argument->is_object() && argument->contains("as_tensor"))
      argument = &(*argument)["as_tensor"];
    else if (kind == Input::Kind::user)
      return;  // a number or nothing
    Input input;
    input.kind = kind;
    input.tensor = tensor(*argument, key);
    for (const char* name : {"parameter_name", "buffer_name", "tensor_constant_name"})
      if (spec.contains(name)) input.target = text_of(spec[name], name);
    make(input.tensor, "an input");
    program_.inputs.push_back(std::move(input));
  }

  void read_nodes(const Json& graph) {
    const Json& nodes = list(graph, "nodes", "the graph");
    if (nodes.size() > ProgramLimits::nodes)
      fail(fmt::format("the graph has {} nodes; at most {} are read", nodes.size(),
                       ProgramLimits::nodes));
    for (const Json& json : nodes) read_node(json);
  }

  void read_node(const Json& json) {
    Node node;
    node.target = base::printable(text_of(member(json, "target", "a node"), "target"));
    for (const char* prefix : {"torch.ops.", "_operator."})
      if (node.target.starts_with(prefix)) node.target.erase(0, std::string(prefix).size());
    node.operation = operation_of(node.target);
    const auto metadata = json.find("metadata");
    if (metadata != json.end() && metadata->is_object()) {
      if (metadata->contains("stack_trace") && (*metadata)["stack_trace"].is_string())
        node.line = user_line((*metadata)["stack_trace"].get_ref<const std::string&>());
      if (metadata->contains("nn_module_stack") && (*metadata)["nn_module_stack"].is_string())
        node.module = module_of((*metadata)["nn_module_stack"].get_ref<const std::string&>());
    }
    for (const Json& input : list(json, "inputs", node.target)) {
      Argument argument = argument_of(member(input, "arg", node.target), node.target);
      const auto name = input.find("name");
      if (name != input.end() && name->is_string()) argument.name = name->get<std::string>();
      node.arguments.push_back(std::move(argument));
    }
    for (const Json& output : list(json, "outputs", node.target)) read_output(output, node);
    program_.nodes.push_back(std::move(node));
  }

  void read_output(const Json& output, Node& node) {
    if (!output.is_object()) fail(node.target + " has an output that is none");
    if (output.contains("as_tensor")) add_output(output["as_tensor"], node);
    if (output.contains("as_tensors"))
      for (const Json& one : list(output, "as_tensors", node.target)) add_output(one, node);
  }

  void add_output(const Json& reference, Node& node) {
    const std::size_t index = tensor(reference, node.target);
    make(index, node.target);
    node.outputs.push_back(index);
  }

  Argument argument_of(const Json& json, const std::string& of) const {
    Argument argument;
    if (!json.is_object()) fail("an argument of " + of + " is none");
    for (const auto& [kind, value] : json.items()) {
      if (kind == "as_none")
        argument.is_none = true;
      else if (kind == "as_tensor")
        argument.tensors.push_back(made(value, of));
      else if (kind == "as_tensors" || kind == "as_optional_tensors")
        read_list(value, of, argument);
      else if (kind == "as_optional_tensor" && value.is_object() && value.contains("as_tensor"))
        argument.tensors.push_back(made(value["as_tensor"], of));
      else if (kind == "as_bool" && value.is_boolean())
        argument.flag = value.get<bool>();
      else if (kind == "as_string" && value.is_string())
        argument.text = value.get<std::string>();
      else if (kind.starts_with("as_"))
        read_numbers(value, argument);
    }
    return argument;
  }

  void read_list(const Json& values, const std::string& of, Argument& argument) const {
    if (!values.is_array()) fail("a list of tensors of " + of + " is none");
    argument.is_tensor_list = true;
    for (const Json& value : values) {
      if (value.is_object() && value.contains("as_none")) {
        argument.tensors.emplace_back();
        continue;
      }
      const bool is_wrapped = value.is_object() && value.contains("as_tensor");
      argument.tensors.push_back(made(is_wrapped ? value["as_tensor"] : value, of));
    }
  }

  void read_number(const Json& value, Argument& argument) const {
    if (value.is_number_integer()) argument.integers.push_back(value.get<std::int64_t>());
    if (value.is_number()) argument.numbers.push_back(value.get<double>());
    if (value == "-Infinity") argument.numbers.push_back(-HUGE_VAL);
    if (value == "Infinity") argument.numbers.push_back(HUGE_VAL);
    if (!value.is_object()) return;
    if (value.contains("as_int")) read_number(value["as_int"], argument);
    if (value.contains("as_float")) read_number(value["as_float"], argument);
    if (!value.contains("as_name") || !value["as_name"].is_string()) return;
    const auto symbol = symbols_.find(value["as_name"].get<std::string>());
    if (symbol == symbols_.end()) return;
    argument.integers.push_back(symbol->second);
    argument.numbers.push_back(static_cast<double>(symbol->second));
  }

  void read_numbers(const Json& value, Argument& argument) const {
    if (!value.is_array()) return read_number(value, argument);
    for (const Json& one : value) read_number(one, argument);
  }

  void read_outputs(const Json& signature) {
    for (const Json& spec : list(signature, "output_specs", "the signature")) {
      const auto found = spec.is_object() ? spec.find("user_output") : spec.end();
      if (found == spec.end()) continue;
      const Json& argument = member(*found, "arg", "user_output");
      if (argument.is_object() && argument.contains("as_tensor"))
        program_.outputs.push_back(made(argument["as_tensor"], "the output"));
    }
  }

  Program& program_;
  std::unordered_map<std::string, std::size_t> index_;
  std::unordered_map<std::string, std::int64_t> symbols_;
  std::vector<bool> is_made_;
};

/// The entry of the graph: that of the archive format, or of torch before 2.8.
std::string graph_entry(const weights::ZipArchive& archive) {
  const std::string root = weights::root_folder(archive);
  std::vector<std::string> found;
  for (const auto& [name, entry] : archive.entries())
    if (name.starts_with(root + "models/") && name.ends_with(".json")) found.push_back(name);
  if (found.size() == 1) return found.front();
  for (const std::string& folder : {root, std::string()})
    if (archive.find(folder + "serialized_exported_program.json") != nullptr)
      return folder + "serialized_exported_program.json";
  throw Error(ErrorKind::input,
              found.empty() ? "the archive holds no graph of torch.export"
                            : fmt::format("the archive holds {} graphs", found.size()),
              base::shortened(archive.path()), kGraphHint);
}

}  // namespace

const Argument* Node::find(std::string_view name) const {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& one) { return one.name == name; });
  return found == arguments.end() || found->is_none ? nullptr : &*found;
}

Program read_program(const weights::ZipArchive& archive) {
  Program program;
  program.path = base::shortened(archive.path());
  const std::string name = graph_entry(archive);
  GraphText(program).read(archive.text(*archive.find(name), name, ProgramLimits::json_bytes));
  program.weights = weights::exported_tensors(archive);
  program.has_weights = !program.weights.weights.empty();
  return program;
}

std::string to_string(const Sizes& sizes) {
  return fmt::format("({})", fmt::join(sizes, ", "));
}

std::string place_of(const Node& node) {
  if (!node.line.empty()) return node.line;
  return node.module.empty() ? node.target : node.target + " of " + node.module;
}

Error wrong_graph(const Program& program, const std::string& what, const std::string& hint) {
  return {ErrorKind::input, what, program.path, hint.empty() ? kGraphHint : hint};
}

Error wrong_node(const Program& program, const Node& node, const std::string& what,
                 const std::string& hint) {
  std::string where = program.path + ": " + node.target;
  if (!node.line.empty()) where += " at " + node.line;
  return {ErrorKind::input, what, where, hint};
}

}  // namespace scalecalc::graphs
