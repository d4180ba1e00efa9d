#include "graphs/graph_json.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace scalecalc::graphs {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 9> unread_members = {
    "strides",    "device",   "storage_offset",    "requires_grad",
    "layout",     "torch_fn", "module_call_graph", "is_hop_single_tensor_return",
    "guards_code"};
/// Objects whose members are called as the user's code calls them.
constexpr std::array<std::string_view, 2> named_members = {"tensor_values", "sym_int_values"};

template <std::size_t Count>
bool is_one_of(const std::array<std::string_view, Count>& names, std::string_view name) {
  for (const std::string_view one : names)
    if (one == name) return true;
  return false;
}

/// Of the raw text of a stack trace the end that begins with the last frame that is not of torch's
/// own code; all of it where there is none.
std::string_view last_frames(std::string_view trace) {
  constexpr std::string_view begin = R"(File \")", torch = "/torch/";
  for (std::size_t at = trace.rfind(begin); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : trace.rfind(begin, at - 1)) {
    const std::string_view rest = trace.substr(at + begin.size());
    const std::string_view path = rest.substr(0, rest.find('\\'));
    if (path.find(torch) == std::string_view::npos) return trace.substr(at);
  }
  return trace;
}

/// The raw text between a quote and the one that ends it; npos: the text ends first.
std::size_t end_of_string(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('"', from); at != std::string_view::npos;
       at = text.find('"', at + 1)) {
    std::size_t slashes = 0;
    while (at - slashes > from && text[at - slashes - 1] == '\\') ++slashes;
    if (slashes % 2 == 0) return at;
  }
  return std::string_view::npos;
}

/// Two thirds of a graph are stack traces and stacks of modules, of which the end alone is read:
/// the text without the rest.
std::string without_long_texts(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  std::string_view key;
  std::size_t kept = 0;
  for (std::size_t at = text.find('"'); at != std::string_view::npos; at = text.find('"', kept)) {
    const std::size_t end = end_of_string(text, at + 1);
    if (end == std::string_view::npos) break;
    std::string_view string = text.substr(at + 1, end - at - 1);
    const std::size_t next = text.find_first_not_of(" \t\r\n", end + 1);
    const bool is_key = next != std::string_view::npos && text[next] == ':';
    if (!is_key && key == "stack_trace") string = last_frames(string);
    if (!is_key && key == "nn_module_stack") string.remove_prefix(string.rfind(';') + 1);
    made.append(text, kept, at + 1 - kept);
    made.append(string);
    key = is_key ? string : std::string_view();
    kept = end;
    made += text[kept++];
  }
  return made.append(text, kept);
}

/// What nlohmann's reader calls for each part of a text.
class Builder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  explicit Builder(Json& root) : root_(root) {}

  GraphJson::Fault fault() const { return fault_; }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(number_integer_t value) { return add(value); }
  bool number_unsigned(number_unsigned_t value) { return add(value); }
  bool number_float(number_float_t value, const string_t&) { return add(value); }
  bool string(string_t& value) { return add(std::move(value)); }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::value_t::object); }
  bool start_array(std::size_t) { return open(Json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(string_t& name) {
    if (skipped_ > 0) return true;
    is_next_unread_ = !open_.back().has_names && is_one_of(unread_members, name);
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    if (fault_ == GraphJson::Fault::none) fault_ = GraphJson::Fault::syntax;
    return false;
  }

 private:
  struct Open {
    Json* json = nullptr;
    bool has_names = false;
  };

  /// Where the next value belongs; its members then have names of the user's, where its own says
  /// so.
  template <class Value>
  Json* place(Value&& value) {
    if (open_.empty()) {
      root_ = std::forward<Value>(value);
      return &root_;
    }
    Json& parent = *open_.back().json;
    if (parent.is_array()) {
      parent.push_back(std::forward<Value>(value));
      return &parent.back();
    }
    Json& member = parent[key_];
    member = std::forward<Value>(value);
    return &member;
  }

  template <class Value>
  bool add(Value&& value) {
    if (skipped_ > 0) return true;
    if (!std::exchange(is_next_unread_, false)) place(std::forward<Value>(value));
    return true;
  }

  bool open(Json::value_t type) {
    if (static_cast<int>(open_.size()) + skipped_ >= GraphJson::deepest) {
      fault_ = GraphJson::Fault::depth;
      return false;
    }
    if (skipped_ > 0 || std::exchange(is_next_unread_, false)) {
      ++skipped_;
      return true;
    }
    const bool is_member = !open_.empty() && open_.back().json->is_object();
    const bool has_names = is_member && is_one_of(named_members, key_);
    open_.push_back({place(Json(type)), has_names});
    return true;
  }

  bool close() {
    if (skipped_ > 0)
      --skipped_;
    else
      open_.pop_back();
    return true;
  }

  Json& root_;
  std::vector<Open> open_;
  int skipped_ = 0;  ///< how deep in what is not read
  bool is_next_unread_ = false;
  std::string key_;
  GraphJson::Fault fault_ = GraphJson::Fault::none;
};

}  // namespace

GraphJson::Fault parse_graph(const std::string& text, Json& graph) {
  Builder builder(graph);
  return Json::sax_parse(without_long_texts(text), &builder) ? GraphJson::Fault::none
         : builder.fault() == GraphJson::Fault::none         ? GraphJson::Fault::syntax
                                                             : builder.fault();
}

}  // namespace scalecalc::graphs
